"""What the original's config says about the network.

Most of its entries concern training. Two sound as if they changed the network and do not:
`add_positional_encoding_to_input` belongs to a part that the network never uses, and `share_position_encoding` ties
tables in training (those of the first and the last layer), while a state dict lists every layer's table.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import NoneType, UnionType
from typing import Any, get_args

TRANSFORMER = "bert"
"""The original's name for its attention-only network."""


@dataclass(frozen=True)
class Options:
    """The entries that decide what the network computes, under the names of the original.

    Sizes that are not listed (None) are read off the weights; the other defaults are those of the paper's runs.
    """

    model: str = TRANSFORMER
    hidden_size: int | None = None
    num_hidden_layers: int | None = None
    num_attention_heads: int | None = None
    intermediate_size: int | None = None
    max_position_embeddings: int | None = None
    position_encoding_size: int | None = None
    pooling_concatenate_size: int | None = None
    attention_isotropic_gaussian: bool | None = None
    use_gaussian_attention: bool = True
    use_learned_2d_encoding: bool = False
    use_attention_data: bool = False
    query_positional_score: bool = False
    hidden_act: str = "gelu"
    layer_norm_eps: float = 1e-12
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    gaussian_init_mu_std: float = 2.0
    gaussian_init_sigma_std: float = 0.01
    attention_gaussian_blur_trick: bool = False
    pooling_use_resnet: bool = False

    def __post_init__(self) -> None:
        if self.pooling_use_resnet:
            raise ValueError(
                "the config says pooling_use_resnet = True: networks on the features of a pretrained ResNet "
                "cannot be translated, only those that see the pixels"
            )
        if self.use_gaussian_attention and self.attention_gaussian_blur_trick:
            raise ValueError(
                "the config says attention_gaussian_blur_trick = True: it cuts the attention off at 7 x 7 pixels, "
                "which is another function; only networks without it can be translated"
            )
        if self.model == TRANSFORMER and self.use_gaussian_attention == self.use_learned_2d_encoding:
            both = "both" if self.use_gaussian_attention else "neither"
            raise ValueError(
                f"the config chooses {both} of use_gaussian_attention and use_learned_2d_encoding "
                f"(not listed, the first is True and the second False): exactly one must be True"
            )

    def agree(self, name: str, found: int, entry: str) -> int:
        """A size that was read off an entry of the weights, unless the config lists another."""
        listed = getattr(self, name)
        if listed is not None and listed != found:
            raise ValueError(
                f"the config says {name} = {listed}, and by entry {entry} of the weights it is {found}: "
                f"give the config that belongs to these weights"
            )
        return found


def read_options(config: Mapping[str, Any]) -> Options:
    """The options among the entries of a config; entries that do not change the network are left alone."""
    known = {field.name: field.type for field in fields(Options)}
    return Options(**{name: _checked(name, config[name], kind) for name, kind in known.items() if name in config})


def _checked(name: str, value: Any, kind: Any) -> Any:
    (kind,) = set(get_args(kind)) - {NoneType} if isinstance(kind, UnionType) else (kind,)
    if kind is float and type(value) in (int, float, str):
        # YAML 1.1 reads 1e-12, without a point, as text.
        try:
            return float(value)
        except ValueError:
            pass
    elif type(value) is kind:
        return value
    expected = {int: "a whole number", float: "a number", bool: "True or False", str: "a name"}[kind]
    raise ValueError(f"the config says {name} = {value!r}: expected {expected}")
