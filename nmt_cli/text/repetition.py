"""Translations that repeat themselves: the search fell into a loop."""

import re
from collections.abc import Sequence

# These patterns mean the same in JavaScript, for the page of `nmt export --web`.
# Some characters or words, four times in a row.
LOOP = re.compile(r"([^\n]{3,60}?)\1{3}")
# Some tokens, three times in a row: the first and the last time, other tokens may spell the text.
TOKEN_LOOP = re.compile(r"(.{1,60}?)\1\1", re.DOTALL)
# Further searches allow no sequence of this many tokens to occur twice. The same tokens four times
# in a row always have two equal sequences of 3; where the end of another token completes the loop
# ("initialized" and three times "ized"), only 2 helps.
NO_REPEAT = (3, 2)


def repeats(text: str, source: str) -> bool:
    """Return whether a translation repeats itself although its source does not."""
    return LOOP.search(text) is not None and LOOP.search(source) is None


def may_repeat(ids: Sequence[int]) -> bool:
    """Return whether the text of these tokens may repeat itself; a quick test."""
    return TOKEN_LOOP.search("".join(map(chr, ids))) is not None
