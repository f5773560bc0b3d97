"""Texts with markup as the model reads them, and the markup in its translations."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from nmt_cli.formats.spans import Kind, Span, pairs_of
from nmt_cli.search.lines import Line, Translation
from nmt_cli.search.placing import Node, Placing
from nmt_cli.text.reading import LINE_BREAK


@dataclass(frozen=True)
class Translate:
    """Translates the lines of documents.

    Attributes:
        lines: returns the translations of lines, in order.
        aligns: whether they have alignments, by which markup is placed.
        languages: of source and target; empty if they are not known.
        record: is called with the place of each text of a document, the text, its translation, and
            the lowest quality of its parts; see Translation.
        has_terms: whether translations may have terms of a glossary.
    """

    lines: Callable[[Sequence[Line]], Iterable[Translation]]
    aligns: bool = False
    languages: tuple[str, str] = ("", "")
    record: Callable[[str, str, str, int | None], None] = lambda *values: None
    has_terms: bool = False


def parsed(text: str, spans: Sequence[Span]) -> tuple[str, list[Node]]:
    """Return the text without tags and the spaces that they separated, and its markup."""
    pairs, plain, done = pairs_of(spans), "", 0
    levels: list[list[Node]] = [[]]
    for number, span in enumerate([*spans, Span(len(text), len(text), Kind.BREAK)]):
        between, raw = text[done : span.start], text[span.start : span.end]
        plain += between[1:] if plain.endswith(" ") and between.startswith(" ") else between
        done, node = span.end, Node(len(plain), len(plain), raw)
        other = pairs.get(number, number)
        if other < number:
            levels.pop()
            levels[-1][-1].end, levels[-1][-1].after = len(plain), raw
        elif span.kind is not Kind.BREAK:
            levels[-1].append(node)
            if other > number:
                levels.append(node.inner)
            elif span.kind in (Kind.FREE, Kind.FIXED):
                plain += raw
                node.end, node.visible = len(plain), True
            else:
                node.pinned = span.kind is not Kind.MARK
                node.joined = not text[span.end : span.end + 1].isspace()
    return plain, levels[0]


def placed(text: str, spans: Sequence[Span], translation: Translation) -> str:
    """Return the translation of what the model read of the text, with the markup of the text.

    Raises:
        TooFewWordsError: an element with letters would be empty.
    """
    # Code and formulas keep theirs.
    result = LINE_BREAK.sub(lambda match: match[0] if match[0] in text else " ", translation.text)
    result = result.strip(" \t")
    weights = translation.attention or [(*pair, 1.0) for pair in translation.alignment or []]
    if result != translation.text or not (weights and spans):
        return result or text
    links = [
        (translation.source_words[source], translation.target_words[target], weight)
        for source, target, weight in weights
    ]
    source, nodes = parsed(text, spans)
    return Placing(source, result, links, nodes).written(nodes)
