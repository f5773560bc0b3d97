"""From lines to translations: split, tokenize, batch, search, detokenize, rejoin, in order."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from nmt_cli.search.beam import Hypothesis, SearchOptions, beam_search
from nmt_cli.search.step_model import StepModel
from nmt_cli.text.tokenizer import PAD_ID, TokenizerPair

# Lines read ahead so that sentences of like length can share a batch.
WINDOW = 2048
# Source tokens of a batch, padding included, at beam 1; wider beams get as many fewer rows.
BATCH_TOKENS = 4096

# Where an over-long line may be parted: white space after the end of a sentence. The
# exported SavedModel uses the same pattern (RE2), so it keeps to plain classes.
SENTENCE_END = r"([.!?…][\"'”’»)\]]*)[ \t]+"

LINE_BREAK = re.compile(r"[\r\n]+")


@dataclass(frozen=True)
class Translation:
    """One line's translation.

    Attributes:
        text: the translation; "" for a blank line.
        score: sum of the pieces' penalised log-probabilities; 0 for a blank line.
        ids: tokens of the translation, all pieces together, END excluded.
    """

    text: str
    score: float
    ids: list[int]


@dataclass(frozen=True)
class Translator:
    """A model with its tokenizers and the settings of its search.

    Attributes:
        model: the step model, Keras or ONNX Runtime.
        tokenizers: of both sides.
        options: of the search.
        max_source: source tokens beyond which a line is split at sentence ends.
        warn: receives a line when that happens.
    """

    model: StepModel
    tokenizers: TokenizerPair
    options: SearchOptions
    max_source: int
    warn: Callable[[str], None] = lambda message: None

    def translate(self, lines: Iterable[str]) -> Iterator[Translation]:
        """Translate lines, in order, reading at most WINDOW lines ahead."""
        lines = iter(lines)
        number = 1
        while window := list(islice(lines, WINDOW)):
            yield from self._window(window, number)
            number += len(window)

    def _window(self, lines: list[str], first_number: int) -> Iterator[Translation]:
        pieces: list[list[int]] = []
        counts: list[int] = []
        for offset, parts in enumerate(self._split(lines)):
            if len(parts) > 1:
                self.warn(
                    f"line {first_number + offset}: longer than {self.max_source} tokens, "
                    f"translated in {len(parts)} parts"
                )
            pieces += parts
            counts.append(len(parts))
        hypotheses = self._search(pieces)
        texts = self.tokenizers.target.decode([each.ids for each in hypotheses])
        at = 0
        for count in counts:
            # Byte pieces can spell a line break, which would break the line count.
            text = LINE_BREAK.sub(" ", " ".join(texts[at : at + count]))
            found = hypotheses[at : at + count]
            yield Translation(
                text,
                sum((each.score for each in found), 0.0),
                [token for each in found for token in each.ids],
            )
            at += count

    def _split(self, lines: list[str]) -> Iterator[list[list[int]]]:
        """Framed ids of each line's pieces: none for a blank line, one as a rule."""
        tokenizer = self.tokenizers.source
        for line, ids in zip(lines, tokenizer.encode(lines), strict=True):
            if not ids:
                yield []
            elif len(ids) <= self.max_source:
                yield [tokenizer.frame_source(ids)]
            else:
                sentences = re.sub(SENTENCE_END, "\\1\n", line).split("\n")
                yield [
                    tokenizer.frame_source(sentence_ids[at : at + self.max_source])
                    for sentence_ids in tokenizer.encode(sentences)
                    for at in range(0, len(sentence_ids), self.max_source)
                ]

    def _search(self, pieces: Sequence[list[int]]) -> list[Hypothesis]:
        results: list[Hypothesis | None] = [None] * len(pieces)
        for rows in self._batches(pieces):
            lengths = np.array([len(pieces[row]) for row in rows], np.int64)
            source = np.full((len(rows), int(lengths.max())), PAD_ID, np.int32)
            for at, row in enumerate(rows):
                source[at, : lengths[at]] = pieces[row]
            found = beam_search(self.model, source, lengths, self.options)
            for row, hypothesis in zip(rows, found, strict=True):
                results[row] = hypothesis
        return [each for each in results if each is not None]

    def _batches(self, pieces: Sequence[list[int]]) -> Iterator[list[int]]:
        """Row numbers of batches of like length, longest first, within the budget."""
        budget = max(1, BATCH_TOKENS // self.options.beam_size)
        batch: list[int] = []
        for row in sorted(range(len(pieces)), key=lambda row: -len(pieces[row])):
            if batch and (len(batch) + 1) * len(pieces[batch[0]]) > budget:
                yield batch
                batch = []
            batch.append(row)
        if batch:
            yield batch
