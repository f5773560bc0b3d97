"""Lines that are written in capitals throughout, such as signs and headings."""

import re
from collections.abc import Callable

from nmt_cli.text.mapped import MappedText

# Signs of code, markup, placeholders, addresses and paths, whose case matters.
CODE = re.compile(r"[{}<>\[\]()%$\\/_@|#=`~^*&+]|\w[.:]\w|--")
# A shorter line is as likely to be an abbreviation.
MIN_LETTERS = 5


def in_capitals(line: str) -> bool:
    """Whether all letters of a line that have case are capitals, at least five, with no code."""
    letters = sum(map(str.isalpha, line))
    return line.isupper() and letters >= MIN_LETTERS and not CODE.search(line)


def fold(line: MappedText) -> tuple[MappedText, Callable[[MappedText], MappedText] | None]:
    """Let the model read a line in capitals in lower case; its translation gets capitals."""
    if not in_capitals(line.text):
        return line, None
    return line.cased(str.lower), lambda translation: translation.cased(str.upper)
