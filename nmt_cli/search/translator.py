"""From lines to translations: split, tokenize, batch, search, detokenize, rejoin, in order."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

import numpy as np

from nmt_cli.errors import NmtError
from nmt_cli.search.beam import Hypothesis, SearchOptions, beam_search
from nmt_cli.search.step_model import BatchTooLarge, StepModel
from nmt_cli.text.tokenizer import PAD_ID, TokenizerPair

# Lines read ahead so that sentences of like length can share a batch.
WINDOW = 2048
# Source tokens of a batch, padding included, at beam 1; wider beams get as many fewer rows.
BATCH_TOKENS = 4096

# Widths of batches are multiples of it. Products of a vector and a matrix add up in groups of
# four: a sentence's last tokens must be in the same group whatever it is padded to.
WIDTH_STEP = 4

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
        workers: batches searched side by side, each in a thread of its own.
        batch_tokens: source tokens of a batch, padding included, at beam 1.
    """

    model: StepModel
    tokenizers: TokenizerPair
    options: SearchOptions
    max_source: int
    warn: Callable[[str], None] = lambda message: None
    workers: int = 1
    batch_tokens: int = BATCH_TOKENS

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
        """The best hypothesis of each piece, in order; batches run side by side."""
        batches = list(self._batches(pieces))
        results: list[Hypothesis | None] = [None] * len(pieces)
        if self.workers == 1 or len(batches) == 1:
            found = [self._search_batch(pieces, rows) for rows in batches]
        else:
            with ThreadPoolExecutor(self.workers) as pool:
                found = list(pool.map(lambda rows: self._search_batch(pieces, rows), batches))
        for rows, hypotheses in zip(batches, found, strict=True):
            for row, hypothesis in zip(rows, hypotheses, strict=True):
                results[row] = hypothesis
        return [each for each in results if each is not None]

    def _search_batch(self, pieces: Sequence[list[int]], rows: list[int]) -> list[Hypothesis]:
        """Search one batch; one that memory cannot hold is halved.

        Raises:
            NmtError: memory does not hold a single sentence.
        """
        lengths = np.array([len(pieces[row]) for row in rows], np.int64)
        width = -(-int(lengths.max()) // WIDTH_STEP) * WIDTH_STEP
        source = np.full((len(rows), width), PAD_ID, np.int32)
        for at, row in enumerate(rows):
            source[at, : lengths[at]] = pieces[row]
        try:
            return beam_search(self.model, source, lengths, self.options)
        except BatchTooLarge:
            if len(rows) == 1:
                raise NmtError(
                    f"memory does not suffice for one sentence of {lengths[0]:,} tokens "
                    f"with {self.options.beam_size} beams",
                    "take a smaller --beam-size",
                ) from None
        half = len(rows) // 2
        self.warn(f"memory does not suffice for {len(rows)} sentences at a time; trying {half}")
        return [
            *self._search_batch(pieces, rows[:half]),
            *self._search_batch(pieces, rows[half:]),
        ]

    def _batches(self, pieces: Sequence[list[int]]) -> Iterator[list[int]]:
        """Row numbers of batches of like length, longest first, within the budget.

        Where there are workers to spare, batches are smaller, so that each has one.
        """
        budget = max(1, self.batch_tokens // self.options.beam_size)
        share = -(-len(pieces) // self.workers)
        batch: list[int] = []
        for row in sorted(range(len(pieces)), key=lambda row: -len(pieces[row])):
            full = (len(batch) + 1) * len(pieces[batch[0]]) > budget if batch else False
            if full or len(batch) == share:
                yield batch
                batch = []
            batch.append(row)
        if batch:
            yield batch
