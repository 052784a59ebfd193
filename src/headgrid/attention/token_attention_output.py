"""What attention over a sequence of tokens hands back."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from headgrid.axes import AttentionWeights, Tokens, TokenWeights
from headgrid.geometry import TokenLayout


@dataclass(frozen=True)
class TokenAttentionOutput:
    """The result of a layer and, on request, how it came about."""

    values: Tokens
    """The layer's output."""
    weights: TokenWeights | None
    """The attention weights before dropout, if they were asked for; class tokens stand first."""
    key: Float[Tensor, "b n s d"]
    """The projected key: what a later layer needs to attend to the same keys."""
    layout: TokenLayout
    """Which tokens are class tokens, and where the others stand in the image."""

    def patches(self) -> AttentionWeights:
        """How patches look at patches, as maps like those of `AttentionOutput`.

        The weights are as the softmax gave them: with a class token, what is missing to one went to it.
        """
        between = self._recorded()[:, :, self.layout.num_class_tokens :]
        return self.layout.on_grid(between).unflatten(2, self.layout.grid)

    def class_token(self) -> Float[Tensor, "b n h w"]:
        """How the (first) class token looks at the patches; what is missing to one went to class tokens."""
        if not self.layout.num_class_tokens:
            raise ValueError(
                "this layer's sequence has no class token: look at how patches see each other, patches()"
            )
        return self.layout.on_grid(self._recorded()[:, :, 0])

    def _recorded(self) -> TokenWeights:
        if self.weights is None:
            raise ValueError("the attention weights were not recorded: run the layer with record=True")
        return self.weights
