"""From the tokens of the last block to one vector per image, and where the final norm stands."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn

from headgrid.axes import Logits, Tokens


@dataclass(frozen=True)
class ClassTokenPooling:
    """The first class token stands for the image."""

    def pool(self, tokens: Tokens, num_class_tokens: int) -> Float[Tensor, "b c"]:
        return tokens[:, 0]


@dataclass(frozen=True)
class MeanOfPatches:
    """The mean over the patches; class tokens are left out."""

    def pool(self, tokens: Tokens, num_class_tokens: int) -> Float[Tensor, "b c"]:
        return tokens[:, num_class_tokens:].mean(dim=1)


@dataclass(frozen=True)
class MeanOfTokens:
    """The mean over all tokens, class tokens included."""

    def pool(self, tokens: Tokens, num_class_tokens: int) -> Float[Tensor, "b c"]:
        return tokens.mean(dim=1)


TokenPooling = ClassTokenPooling | MeanOfPatches | MeanOfTokens


@dataclass(frozen=True)
class NormBeforePooling:
    """A layer norm of every token, then the pooling."""

    epsilon: float = 1e-6
    """Epsilon of the norm."""

    def build(self, dim: int) -> tuple[nn.Module, nn.Module]:
        return nn.LayerNorm(dim, eps=self.epsilon), nn.Identity()


@dataclass(frozen=True)
class NormAfterPooling:
    """The pooling, then a layer norm of the one vector."""

    epsilon: float = 1e-6
    """Epsilon of the norm."""

    def build(self, dim: int) -> tuple[nn.Module, nn.Module]:
        return nn.Identity(), nn.LayerNorm(dim, eps=self.epsilon)


@dataclass(frozen=True)
class NoFinalNorm:
    """The pooling alone."""

    def build(self, dim: int) -> tuple[nn.Module, nn.Module]:
        return nn.Identity(), nn.Identity()


FinalNorm = NormBeforePooling | NormAfterPooling | NoFinalNorm


class TokenClassifier(nn.Module):
    """Norm, pooling, Linear to the classes; or pooling, norm, Linear."""

    def __init__(
        self, pooling: TokenPooling, norm: FinalNorm, num_class_tokens: int, dim: int, num_classes: int
    ) -> None:
        super().__init__()
        self.pooling, self.num_class_tokens = pooling, num_class_tokens
        self.token_norm, self.pooled_norm = norm.build(dim)
        self.linear = nn.Linear(dim, num_classes)

    def forward(self, tokens: Tokens) -> Logits:
        pooled = self.pooling.pool(self.token_norm(tokens), self.num_class_tokens)
        return self.linear(self.pooled_norm(pooled))
