"""Find numbers, and write them with the separators of another language.

Only what is certainly a number changes. Dates, times, versions, addresses, coordinates, and the
numbers of telephones and documents stay as they are: two of their parts are joined by a sign other
than separators, or their groups are no groups of thousands.
"""

import re
from collections.abc import Iterator
from functools import cache

from nmt_cli.text.languages import Language

_NUMBER = r"\d+(?:[.,'\u00a0\u202f]\d+)*"
_COORDINATES = re.compile(r"-?\d{1,3}[.,]\d{3,}°?\s*[,;/]\s*-?\d{1,3}[.,]\d{3,}")
# What is joined to a number and makes it another thing: its neighbour in 10:30 or 3-1, a letter
# before it, a letter and a digit after it, a half of the day, a direction of the compass.
_JOINED_BEFORE = re.compile(r"(?:[^\W\d]|(?P<number>\d[\d.,]{0,40})(?P<sign>[-–/:]))\Z")
_JOINED_AFTER = re.compile(
    r"(?:(?P<sign>[-–/:])(?P<number>\d[\d.,]{0,40})|[^\W\d]{1,40}\d|\s?[ap]\.?m\b|\s?°\s?[NSEWLO]\b)"
)
_VERSION = re.compile(r"(?:\b(?:v|ver|vers\w+|release|rev)\.?|§)\s?\Z", re.IGNORECASE)
_NAME = re.compile(r"(?P<inner>\s)?(?<![^\s(])[A-Z][\w+#-]*\s\Z")
_NEUTRAL = Language(".", ",")


@cache
def patterns(language: Language) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what matches numbers and other runs of digits, and numbers with separators only."""
    language = language if language.decimal else _NEUTRAL
    group = "[ \u00a0\u202f]" if language.group.isspace() else re.escape(language.group)
    grouped = rf"[1-9]\d{{0,2}}(?:{group}\d{{3}})+(?!\d)"
    decimal = re.escape(language.decimal)
    decimals = rf"(?:{decimal}(?P<decimals>\d+))"
    number = rf"(?P<grouped>{grouped}){decimals}?|(?P<plain>\d+){decimal}(?P<rest>\d+)"
    return re.compile(rf"{grouped}(?:[.,]\d+)*|{_NUMBER}"), re.compile(number)


def numbers(text: str, source: Language, target: Language) -> Iterator[tuple[int, int, list[str]]]:
    """Yield start and end of each run of digits, and how a translation writes it.

    If that is not certain, other forms follow the preferred one.
    """
    fixed = [match.span() for match in _COORDINATES.finditer(text)]
    run, number = patterns(source)
    for match in run.finditer(text):
        start, end = match.span()
        parts = number.fullmatch(match[0]) if source.decimal and target.decimal else None
        is_fixed = any(first <= start and end <= last for first, last in fixed)
        if not parts or is_fixed or _is_other(text, start, end):
            yield start, end, [match[0]]
        elif parts["grouped"]:
            groups = re.split(r"\D", parts["grouped"])
            decimals = target.decimal + parts["decimals"] if parts["decimals"] else ""
            is_address = len(groups) == 4 and all(int(group) < 256 for group in groups)
            yield start, end, [match[0] if is_address else target.group.join(groups) + decimals]
        else:
            final = f"{parts['plain']}{target.decimal}{parts['rest']}"
            # A comma never separates the parts of a version.
            before = text[max(0, start - 40) : start] if source.decimal == "." else ""
            name = _NAME.search(before)
            if _VERSION.search(before) or (name and name["inner"]):
                yield start, end, [match[0]]
            else:
                yield start, end, [match[0], final] if name else [final]


def _is_other(text: str, start: int, end: int) -> bool:
    """Return whether digits are part of something that is no number."""
    before = _JOINED_BEFORE.search(text, max(0, start - 20), start)
    after = _JOINED_AFTER.match(text, end)
    if before and before["sign"]:
        return not _is_range(before["number"], text[start:end], before["sign"])
    if after and after["sign"]:
        return not _is_range(text[start:end], after["number"], after["sign"])
    return bool(before or after)


def _is_range(first: str, last: str, sign: str) -> bool:
    """Return whether "1.500-2.000" is from one number to another, and no number of a document."""
    low, high = (int(re.sub(r"\D", "", number)) for number in (first, last))
    return sign in "-–" and low < high and not (first[0] == "0" or last[0] == "0")
