"""What scores hardly show: lost placeholders, and outputs that are no translations."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from nmt_cli.formats import patterns
from nmt_cli.text.lines import is_blank
from nmt_cli.text.repetition import repeats

# What a translation must keep; of overlapping matches, the kind that comes first counts.
_KINDS = {
    "code": (r"``(?!\s)[^`]{1,999}(?<!\s)``", r"`(?!\s)[^`]{1,999}(?<!\s)`", patterns.CODE_ELEMENT),
    "url": patterns.URLS,
    "email": (patterns.E_MAIL,),
    "tag": (patterns.TAG,),
    "braces": (*patterns.TEMPLATES, patterns.BRACES),
    "variable": patterns.VARIABLES,
    "printf": (*patterns.NAMED_PRINTF, patterns.PRINTF),
    "number": (r"\d+(?:[.,]\d+)*",),
    # Currency signs, arrows, mathematics, pictures, emoji.
    "symbol": (r"[\u20a0-\u20cf\u2190-\u2bff\U0001f000-\U0001faff]",),
}
_SPAN = re.compile("|".join(f"(?P<{kind}>{'|'.join(each)})" for kind, each in _KINDS.items()))
_PROBLEMS = ("empty", "repeating", "copied", "broken", "too short", "too long")
# What bytes that are not valid UTF-8 become.
_BROKEN = "\ufffd"
_WORD = re.compile(r"[^\W\d_]+")
# A translation that equals its source is a copy from so many words on: names are the same. Words
# have at least so many letters on average; anything else is noise, best left as it is.
_COPIED_WORDS, _LETTERS = 3, 2
# Character counts of the two sides: how often the shorter one may fit into the longer one, which
# means little for short texts.
_RATIO, _SHORT = 3, 20


@dataclass(frozen=True)
class OutputCheck:
    """One count in one system's translations.

    Attributes:
        name: "code kept" and so on: of all code spans of the source, those that the translation
            has, too; or a problem, such as "empty": of all sentences, those that have it.
        count, total: of the translations.
        reference: the count in the first reference; None without one.
    """

    system: str
    name: str
    count: int
    total: int
    reference: int | None


def check_outputs(
    source: Sequence[str], systems: Mapping[str, Sequence[str]], reference: Sequence[str] | None
) -> list[OutputCheck]:
    """Count, for each system, what its translations keep of the source, and their problems.

    All texts are aligned. Kinds that do not occur in the source are omitted.
    """
    totals = Counter(f"{kind} kept" for line in source for kind, _ in spans(line).elements())
    totals.update(dict.fromkeys(_PROBLEMS, sum(not is_blank(line) for line in source)))
    theirs = None if reference is None else _counts(source, reference)
    names = [name for name in (*(f"{kind} kept" for kind in _KINDS), *_PROBLEMS) if name in totals]
    return [
        OutputCheck(
            system, name, counts[name], totals[name], None if theirs is None else theirs[name]
        )
        for system, counts in ((name, _counts(source, each)) for name, each in systems.items())
        for name in names
    ]


def _counts(source: Sequence[str], outputs: Sequence[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for line, output in zip(source, outputs, strict=True):
        kept = spans(line) & spans(output)
        counts.update(f"{kind} kept" for kind, _ in kept.elements())
        counts.update(problems(line, output))
    return counts


def spans(text: str) -> Counter[tuple[str, str]]:
    """Count what a translation of a text must keep: kind and text, of a number the digits."""
    found = ((str(each.lastgroup), each[0]) for each in _SPAN.finditer(text))
    return Counter(
        (kind, re.sub(r"\D", "", span) if kind == "number" else span) for kind, span in found
    )


def problems(source: str, output: str) -> Iterator[str]:
    """Name the problems of a translation; that of a blank line has none."""
    if is_blank(source):
        return
    if is_blank(output):
        yield "empty"
        return
    if repeats(output, source):
        yield "repeating"
    words, others = (_WORD.findall(_SPAN.sub(" ", each.casefold())) for each in (source, output))
    are_words = len(words) >= _COPIED_WORDS and sum(map(len, words)) >= _LETTERS * len(words)
    if words == others and are_words:
        yield "copied"
    if _BROKEN in output and _BROKEN not in source:
        yield "broken"
    if len(source) > max(_RATIO * len(output), _SHORT):
        yield "too short"
    if len(output) > max(_RATIO * len(source), _SHORT):
        yield "too long"
