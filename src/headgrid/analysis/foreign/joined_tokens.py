"""Tokens behind the patches: most models put a class token before them, some put theirs after."""

from collections.abc import Sequence

from torch import Tensor

SEQUENCES = 3
"""Axes of a batch of sequences: images, tokens and channels, or tokens first."""


class JoinedTokens:
    """Watches how sequences are put together, and so knows what stands behind the longest piece, the patches."""

    def __init__(self) -> None:
        self._behind: dict[int, int] = {}
        """By the length of a sequence."""

    def see(self, pieces: Sequence[Tensor], axis: int) -> None:
        """Notes a concatenation."""
        if any(piece.dim() != SEQUENCES for piece in pieces) or axis % SEQUENCES == SEQUENCES - 1:
            return
        lengths = [piece.shape[axis] for piece in pieces]
        longest = max(lengths)
        if lengths.count(longest) > 1:
            return
        behind = sum(lengths[lengths.index(longest) + 1 :])
        self._behind[sum(lengths)] = behind + self._behind.get(longest, 0)

    def behind(self, length: int, num_tokens: int) -> int:
        """How many of the ``num_tokens`` that are no patches stand last in sequences of a length."""
        behind = self._behind.get(length, 0)
        return behind if behind <= num_tokens else 0
