"""The letters of tensor axes, and the tensor types built from them.

Rows always stand before columns, queries before keys:

=========  ==================================================================
letter     axis
=========  ==================================================================
``b``      images of a batch
``c``      channels
``h w``    rows and columns of the pixels, or of the *query* pixels
``y x``    rows and columns of the *key* pixels
``t s``    query and key tokens, where pixels are counted through
``n``      attention heads
``d``      channels of one head
``k``      positions of a footprint
``g``      groups of channels that share a weight
``p``      size of a position's encoding
``o``      classes
=========  ==================================================================

Images enter a model with their channels first (``b c h w``); from the first layer on the channels stand
last (``b h w c``).
"""

from jaxtyping import Float, Int, UInt8
from torch import Tensor

Images = Float[Tensor, "b c h w"]
"""Normalised images, channels first, as convolutions and data loaders have them."""

ByteImages = UInt8[Tensor, "b c h w"]
"""Images as they are stored: one byte per channel."""

Labels = Int[Tensor, "b"]
"""The class of each image."""

Logits = Float[Tensor, "b o"]
"""Unnormalised log-probabilities of the classes."""

Pixels = Float[Tensor, "b h w c"]
"""A map of pixels with channels last: what the layers of an attention model hand on."""

Tokens = Float[Tensor, "b t c"]
"""A sequence of tokens with channels last: class tokens, if there are any, and then patches row by row."""

TokenWeights = Float[Tensor, "b n t s"]
"""How much query token t of head n looks at key token s. Sums to one over s."""

AttentionWeights = Float[Tensor, "b n h w y x"]
"""How much query pixel (h, w) of head n looks at key pixel (y, x). Sums to one over (y, x)."""

SharedWeights = Float[Tensor, "n h w y x"]
"""Attention weights that do not depend on the image."""

RowScores = Float[Tensor, "n h y"]
"""The part of an attention score that depends on the query's and the key's row."""

ColumnScores = Float[Tensor, "n w x"]
"""The part of an attention score that depends on the query's and the key's column."""
