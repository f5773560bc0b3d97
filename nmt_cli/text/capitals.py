"""Lines that are written in capitals throughout, such as signs and headings."""

import re

# Signs of code, markup, placeholders, addresses and paths, whose case matters.
CODE = re.compile(r"[{}<>\[\]()%$\\/_@|#=`~^*&+]|\w[.:]\w|--")
# A shorter line is as likely to be an abbreviation.
LEAST_LETTERS = 5


def in_capitals(line: str) -> bool:
    """Whether all letters of a line that have case are capitals, at least five, with no code."""
    letters = sum(map(str.isalpha, line))
    return line.isupper() and letters >= LEAST_LETTERS and not CODE.search(line)
