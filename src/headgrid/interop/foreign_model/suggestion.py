"""What somebody who mistyped the name of a model may have meant."""

import difflib
from collections.abc import Sequence

NUM_SHOWN = 3


def suggestion(word: str, known: Sequence[str]) -> str:
    """The end of an error message; the lists of other projects are too long to be printed."""
    close = difflib.get_close_matches(word, known, n=NUM_SHOWN)
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    return f"it has {len(known)} others, none of them with a similar name"
