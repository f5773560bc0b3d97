"""Check translations for what scores hardly show: lost placeholders, and useless outputs."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from nmt_cli.formats import spans as patterns
from nmt_cli.search.segments import repeats
from nmt_cli.text.kept import E_MAIL, NAMED_PRINTF, PRINTF, TEMPLATES, URLS, VARIABLES
from nmt_cli.text.lines import is_blank

# What a translation must keep. Of overlapping matches, the first in this order counts.
_PATTERNS = {
    "code": (r"``(?!\s)[^`]{1,999}(?<!\s)``", r"`(?!\s)[^`]{1,999}(?<!\s)`", patterns.CODE_ELEMENT),
    "url": URLS,
    "email": (E_MAIL,),
    "tag": (patterns.TAG,),
    "braces": (*TEMPLATES, patterns.BRACES),
    "variable": VARIABLES,
    "printf": (*NAMED_PRINTF, PRINTF),
    "number": (r"\d+(?:[.,]\d+)*",),
    # Currency signs, arrows, mathematics, pictographs, emoji.
    "symbol": (r"[\u20a0-\u20cf\u2190-\u2bff\U0001f000-\U0001faff]",),
}
_SPAN = re.compile(
    "|".join(f"(?P<{name}>{'|'.join(alternatives)})" for name, alternatives in _PATTERNS.items())
)
_PROBLEMS = ("empty", "repeating", "copied", "broken", "too short", "too long")
_REPLACEMENT = "\ufffd"  # stands for bytes that are not valid UTF-8
_WORD = re.compile(r"[^\W\d_]+")
# A translation that equals its source counts as copied only if it has at least this many words, as
# names are legitimately equal, and this many letters per word: anything else is noise, which should
# stay as it is.
_MIN_COPIED_WORDS, _MIN_LETTERS = 3, 2
# Maximum ratio of the two sides' characters, for a longer side of more than _SHORT characters.
_MAX_RATIO, _SHORT = 3, 20


@dataclass(frozen=True)
class OutputCheck:
    """One count in one system's translations.

    ``name`` is "code kept" and so on, the code spans of the source that they have, too, out of a
    total; or a problem, such as "empty", of all sentences. ``reference`` is the count in the first
    reference.
    """

    system: str
    name: str
    count: int
    total: int
    reference: int | None


def check_outputs(
    source: Sequence[str], systems: Mapping[str, Sequence[str]], reference: Sequence[str] | None
) -> list[OutputCheck]:
    """Count, for each system, the spans of the aligned source that it keeps, and its problems."""
    totals = Counter(f"{label} kept" for line in source for label, _ in spans(line).elements())
    totals.update(dict.fromkeys(_PROBLEMS, sum(not is_blank(line) for line in source)))
    expected = None if reference is None else _counts(source, reference)
    names = [*(f"{label} kept" for label in _PATTERNS), *_PROBLEMS]
    checks = []
    for system, lines in systems.items():
        counts = _counts(source, lines)
        for name in filter(totals.__contains__, names):
            in_reference = None if expected is None else expected[name]
            checks.append(OutputCheck(system, name, counts[name], totals[name], in_reference))
    return checks


def _counts(source: Sequence[str], outputs: Sequence[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for line, output in zip(source, outputs, strict=True):
        kept = spans(line) & spans(output)
        counts.update(f"{label} kept" for label, _ in kept.elements())
        counts.update(problems(line, output))
    return counts


def spans(text: str) -> Counter[tuple[str, str]]:
    """Count the (label, text) of spans that a translation must keep; of numbers only the digits."""
    matches = ((str(match.lastgroup), match[0]) for match in _SPAN.finditer(text))
    return Counter(
        (label, re.sub(r"\D", "", span) if label == "number" else span) for label, span in matches
    )


def problems(source: str, output: str) -> Iterator[str]:
    """Yield the names of a translation's problems; a blank source line has none."""
    if is_blank(source):
        return
    if is_blank(output):
        yield "empty"
        return
    if repeats(output, source):
        yield "repeating"
    words, copied = (_WORD.findall(_SPAN.sub(" ", text.casefold())) for text in (source, output))
    has_words = len(words) >= _MIN_COPIED_WORDS and len("".join(words)) >= _MIN_LETTERS * len(words)
    if words == copied and has_words:
        yield "copied"
    if _REPLACEMENT in output and _REPLACEMENT not in source:
        yield "broken"
    if len(source) > max(_MAX_RATIO * len(output), _SHORT):
        yield "too short"
    if len(output) > max(_MAX_RATIO * len(source), _SHORT):
        yield "too long"
