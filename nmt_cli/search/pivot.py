"""Translate through a third language: with two translators, one after the other."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

from nmt_cli.search.lines import Line, Translation
from nmt_cli.search.options import DecodingOptions
from nmt_cli.search.translator import Translator
from nmt_cli.text.edits import Span


@dataclass(frozen=True)
class PivotTranslator:
    """Translates the best translations of one translator with another.

    Their scores are added up, and their alignments are composed.

    Attributes:
        name: as in Translator.
    """

    first: "AnyTranslator"
    second: "AnyTranslator"
    name: str = ""

    @property
    def languages(self) -> tuple[str, str]:
        """The source language of the first translator, and the target language of the second."""
        return self.first.languages[0], self.second.languages[1]

    def translate(
        self, lines: Iterable[str | Line], first_number: int = 1, seconds: float = inf
    ) -> Iterator[Translation]:
        """Translate lines, in order; see Translator."""
        given, between = deque[Line](), deque[Translation]()

        def kept() -> Iterator[Line]:
            for line in lines:
                given.append(Line(line) if isinstance(line, str) else line)
                yield given[-1]

        def read() -> Iterator[Line]:
            first = replace(self.first, name=self.name)
            for translation in first.translate(kept(), first_number, seconds):
                line = given.popleft()
                between.append(translation)
                spans = _found(translation.text, [line.text[slice(*s)] for s in line.placeholders])
                yield Line(translation.text, placeholders=spans, where=line.where)

        second = replace(self.second, name=self.name)
        for translation in second.translate(read(), first_number, seconds):
            best, *others = (_joined(between[0], item) for item in translation.n_best)
            yield replace(best, others=others, seconds=translation.seconds + between[0].seconds)
            between.popleft()


AnyTranslator = Translator | PivotTranslator


def options_before(options: DecodingOptions) -> DecodingOptions:
    """Return the options of all translators but the last one, which makes what is asked for."""
    return DecodingOptions(
        beam_size=options.beam_size,
        split_sentences=options.split_sentences,
        alignments=options.alignments,
    )


def pivot(translators: Sequence[AnyTranslator]) -> PivotTranslator:
    """Return a translator that uses two or more, in order."""
    *before, last = translators
    return PivotTranslator(before[0] if len(before) == 1 else pivot(before), last)


def _found(text: str, parts: Sequence[str]) -> tuple[Span, ...]:
    """Return where parts are in a text that has them; they do not overlap."""
    taken, spans = bytearray(len(text)), list[Span]()
    for part in parts:
        start = text.find(part)
        while start >= 0 and any(taken[start : start + len(part)]):
            start = text.find(part, start + 1)
        if start >= 0 and part:
            spans.append((start, start + len(part)))
            taken[slice(*spans[-1])] = b"\1" * len(part)
    return tuple(sorted(spans))


def _joined(first: Translation, second: Translation) -> Translation:
    """Return the translation of the source of the first one as the second one."""
    joined = replace(second, score=first.score + second.score)
    if first.alignment is None or second.alignment is None:
        return joined
    weights = dict[tuple[int, int], float]()
    sources = dict[int, list[tuple[int, float]]]()
    for source, middle, weight in first.attention:
        sources.setdefault(middle, []).append((source, weight))
    for middle, target, weight in second.attention:
        for source, other in sources.get(middle, ()):
            weights[source, target] = weights.get((source, target), 0.0) + weight * other
    aligned = {middle: source for source, middle in first.alignment}
    pairs = [(aligned[middle], target) for middle, target in second.alignment if middle in aligned]
    return replace(
        joined,
        alignment=pairs,
        source_words=first.source_words,
        attention=[(*pair, weight) for pair, weight in weights.items()],
    )
