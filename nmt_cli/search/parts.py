"""From the hypotheses of a line's parts to its translation: signs, words, alignment."""

from collections.abc import Mapping

from nmt_cli.search.alignment import WordLink, links, tokens_of_words, word_weights, words_of
from nmt_cli.search.hypotheses import Hypothesis
from nmt_cli.search.lines import Translation
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.placing import enclosed
from nmt_cli.text.edits import MappedText, Span
from nmt_cli.text.path import TextPath
from nmt_cli.text.reading import Pair
from nmt_cli.text.tokenizer import END_ID, UNK_ID
from nmt_cli.text.units import Passage, Unit


def translation_of(
    path: TextPath, passage: Passage, chosen: Mapping[Unit, Hypothesis], options: SearchOptions
) -> Translation:
    """Return the translation of a line that has these hypotheses of its units."""
    copies = options.unk == "copy"
    written = {
        unit: written_part(path, passage, unit, hypothesis, copies)
        for unit, hypothesis in chosen.items()
    }
    text, starts = passage.joined({unit: part.text for unit, (part, _) in written.items()})
    hypotheses = list(chosen.values())
    token_ids = [
        id_
        for hypothesis in hypotheses
        for id_ in [*hypothesis.ids, END_ID][: len(hypothesis.token_scores)]
    ]
    source_words, target_words, attention = list[Span](), list[Span](), list[WordLink]()
    if options.alignments:
        source_words, target_words = words_of(passage.line), words_of(text)
        for unit, hypothesis in chosen.items():
            read = [unit.text.origin(*span) for span in path.token_spans(unit)]
            source = tokens_of_words(passage.line, source_words, read, path.before_source)
            first, (_, spans) = starts[unit], written[unit]
            tokens = [(first + start, first + end) for start, end in spans]
            target = tokens_of_words(text, target_words, tokens)
            attention += links(source, target, hypothesis.attention)
    return Translation(
        text,
        sum((hypothesis.score for hypothesis in hypotheses), 0.0),
        [id_ for hypothesis in hypotheses for id_ in hypothesis.ids],
        path.tokenizers.target.tokens(token_ids),
        [score for hypothesis in hypotheses for score in hypothesis.token_scores],
        _alignment(attention) if options.alignments else None,
        source_words,
        target_words,
        attention,
    )


def written_part(
    path: TextPath, passage: Passage, unit: Unit, hypothesis: Hypothesis, copies: bool = False
) -> tuple[MappedText, list[Span]]:
    """Return the final translation of a unit and, if its attention is known, its tokens' spans.

    With ``copies``, source words replace unknown ones.
    """
    text, spans = MappedText(hypothesis.text), list[Span]()
    if hypothesis.attention is not None:
        _, spans = path.tokenizers.target.decode_spans(hypothesis.ids)
        if copies:
            text = _with_copies(path, passage, unit, hypothesis, spans)
    text, _ = unit.reading.written(text)
    if unit.reading.pairs and spans:
        text = _with_pairs(path, unit, hypothesis, text, spans)
    return text, [text.current(*span) for span in spans]


def _with_pairs(
    path: TextPath, unit: Unit, hypothesis: Hypothesis, text: MappedText, spans: list[Span]
) -> MappedText:
    """Put the pairs of a unit around the translations of what they enclose."""
    source_words, target_words = words_of(unit.text.text), words_of(text.text)
    source = tokens_of_words(
        unit.text.text, source_words, path.token_spans(unit), path.before_source
    )
    tokens = [text.current(*span) for span in spans]
    target = tokens_of_words(text.text, target_words, tokens)
    weights = [
        (source_words[word], target_words[target_word], weight)
        for word, target_word, weight in links(source, target, hypothesis.attention)
    ]
    reading = unit.reading
    pairs = [
        Pair(*unit.text.current(*reading.source.origin(*pair[:2])), *pair[2:])
        for pair in reading.pairs
    ]
    return enclosed(text, unit.text.text, weights, pairs)


def _with_copies(
    path: TextPath, passage: Passage, unit: Unit, hypothesis: Hypothesis, spans: list[Span]
) -> MappedText:
    """Put aligned source words, as the user wrote them, in place of unknown words."""
    assert hypothesis.attention is not None
    text, first = MappedText(hypothesis.text), path.before_source
    groups = path.tokenizers.target.words(hypothesis.ids)
    read = [unit.text.origin(*span) for span in path.token_spans(unit)]
    words = path.tokenizers.source.words(unit.ids[first : first + len(read)])
    tokens = [[first + token for token in word] for word in words]
    weights = word_weights(hypothesis.attention, tokens, groups)
    edits = list[tuple[int, int, str]]()
    for group, row in zip(groups, weights, strict=True):
        if any(hypothesis.ids[token] == UNK_ID for token in group):
            word, start = words[int(row.argmax())], spans[group[0]][0]
            copy = passage.line[read[word[0]][0] : read[word[-1]][1]].strip()
            edits.append((start, spans[group[-1]][1], " " * (start > 0) + copy))
    return text.replaced(edits)


def _alignment(attention: list[WordLink]) -> list[tuple[int, int]]:
    """Return the source word with the most attention of each target word; ties: the first one."""
    best = dict[int, tuple[float, int]]()
    for word, target_word, weight in attention:
        best[target_word] = max(best.get(target_word, (0.0, 0)), (weight, -word))
    return [(-best[word][1], word) for word in sorted(best)]
