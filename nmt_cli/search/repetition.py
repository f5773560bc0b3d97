"""Translations that repeat themselves: the search fell into a loop."""

import re

# Some characters or words, four times in a row.
_LOOP = re.compile(r"(.{3,60}?)\1{3}")


def repeats(text: str, source: str) -> bool:
    """Whether a translation repeats itself although its source does not."""
    return _LOOP.search(text) is not None and _LOOP.search(source) is None
