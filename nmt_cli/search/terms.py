"""Terms of glossaries: other translations of sentences whose own lack them."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate

from nmt_cli.search.alignment import word_weights
from nmt_cli.search.hypotheses import Hypothesis, Pairs, Segment
from nmt_cli.search.work import Work
from nmt_cli.text.edits import MappedText, Span
from nmt_cli.text.glossary import EDGES, Term
from nmt_cli.text.path import TextPath
from nmt_cli.text.units import Unit

# The attention to a term of a word that translates it, and its share of the most that a word has:
# articles, too, have some.
_MIN_WEIGHT, _MIN_SHARE = 0.5, 0.8
_WORD = re.compile(r"\w+(?:['’]\w+)*")

Search = Callable[[list[Segment]], list[list[Hypothesis]]]
Force = Callable[[Pairs], list[Hypothesis]]


def place_terms(
    path: TextPath, work: Sequence[Work], search: Search, force: Force, max_length: int
) -> None:
    """Replace translations of sentences that lack terms by others that have more of them.

    Terms replace the words that are aligned to them; where that is not possible, the translation is
    that of a constrained search.

    Args:
        force: returns the attention of translations, too, if the path may use it.
        max_length: tokens that a translation may have, with END.
    """
    cases = [
        (item, unit, required)
        for item in work
        for unit in item.passage.parts
        for required in item.lacking(path, unit)
    ]
    ranked = [(case, hypothesis) for case in cases for hypothesis in case[0].results[case[1]]]
    aligned = force([(unit.ids, hypothesis.ids) for (_, unit, _), hypothesis in ranked])
    texts = [
        _edited(path, required, hypothesis)
        for ((_, _, required), _), hypothesis in zip(ranked, aligned, strict=True)
    ]
    pairs = [
        (unit.ids, ids if len(ids) < max_length else hypothesis.ids)
        for ((_, unit, _), hypothesis), ids in zip(
            ranked, path.tokenizers.target.encode(texts), strict=True
        )
    ]
    edited = iter(force(pairs))
    left = list[tuple[Work, Unit, Unit]]()
    for item, unit, required in cases:
        found = [next(edited) for _ in item.results[unit]]
        if not item.take_terms(unit, required, found, is_edited=True):
            left.append((item, unit, required))
    segments = [
        replace(item.segment(unit), phrases=tuple(dict.fromkeys(required.terms.values())))
        for item, unit, required in left
    ]
    for (item, unit, required), found in zip(left, search(segments), strict=True):
        item.take_terms(unit, required, found, is_edited=False)


def _edited(path: TextPath, unit: Unit, hypothesis: Hypothesis) -> str:
    """Return a translation with terms in place of the words that are aligned to them."""
    text, spans = path.tokenizers.target.decode_spans(hypothesis.ids)
    if hypothesis.attention is None:
        return text
    source = _words(unit.text.text, path.token_spans(unit), path.before_source)
    target = _words(text, spans)
    if not (source and target):
        return text
    tokens = ([positions for _, positions in words] for words in (source, target))
    weights = word_weights(hypothesis.attention, *tokens)
    edits = list[tuple[int, int, str]]()
    for term in unit.terms:
        start, end = unit.text.current(term.start, term.end)
        inside = [n for n, (word, _) in enumerate(source) if word[0] < end and start < word[1]]
        sums = weights[:, inside].sum(axis=1).tolist()
        least = max(_MIN_WEIGHT, _MIN_SHARE * max(sums))
        aligned = [n for n, weight in enumerate(sums) if weight >= least]
        run = [n for place, n in enumerate(aligned) if n - place == aligned[0]]
        if run:
            place = _with_edges(text, target[run[0]][0][0], target[run[-1]][0][1], term)
            edits.append((*place, term.expected))
    edits.sort()
    ends = accumulate((end for _, end, _ in edits), max, initial=0)
    free = [edit for edit, end in zip(edits, ends, strict=False) if edit[0] >= end]
    return MappedText(text).replaced(free).text


def _words(text: str, tokens: Sequence[Span], first: int = 0) -> list[tuple[Span, list[int]]]:
    """Return the words of a text that have tokens, each with the positions of these."""
    words = []
    for match in _WORD.finditer(text):
        start, end = match.span()
        inside = [n for n, span in enumerate(tokens, first) if span[0] < end and start < span[1]]
        if inside:
            words.append(((start, end), inside))
    return words


def _with_edges(text: str, start: int, end: int, term: Term) -> Span:
    """Return a span with the signs around it that the term has around its words."""
    before, after = EDGES.fullmatch(term.source).groups()  # type: ignore[union-attr]
    if text[:start].endswith(before):
        start -= len(before)
    if text[end:].startswith(after):
        end += len(after)
    return start, end
