"""Lines that are written in capitals throughout, such as signs and headings."""

import re

from nmt_cli.text.mapped import Edited, MappedText

# Signs of code, markup, placeholders, addresses and paths, whose case matters.
CODE = re.compile(r"[{}<>\[\]()%$\\/_@|#=`~^*&+]|\w[.:]\w|--")
# A shorter line is as likely to be an abbreviation.
MIN_LETTERS = 5


def in_capitals(line: str) -> bool:
    """Return whether a line has at least five letters, no lower-case ones, and no code."""
    letters = sum(map(str.isalpha, line))
    return line.isupper() and letters >= MIN_LETTERS and not CODE.search(line)


def fold(line: MappedText) -> Edited:
    """Lowercase a line in capitals for the model, and uppercase its translation."""
    if not in_capitals(line.text):
        return line, None
    return line.cased(str.lower), lambda translation: translation.cased(str.upper)
