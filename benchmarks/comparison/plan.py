"""What is measured: combinations of settings (cells), the text, and the threads of a side."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from nmt_cli.errors import NmtError
from nmt_cli.recipe.model import DecodingConfig
from nmt_cli.search.options import SearchOptions
from nmt_cli.text.tokenizer import Tokenizer

OURS, THEIRS = "nmt", "ctranslate2"
SIDES = (OURS, THEIRS)
# In place of a number of sentences: each side makes its own batches.
OWN = 0
# Tokens of CTranslate2's own batches; the best depends on machine and beam size.
THEIR_BATCH_TOKENS = (1024, 2048, 4096)
# Sentences that are translated one by one in each round.
LATENCY_SENTENCES = 64


@dataclass(frozen=True)
class Threads:
    """How many threads a side has.

    A copy of nmt_cli.runtime.load.Threads, whose module would load ONNX Runtime into
    CTranslate2's process.

    Attributes:
        workers: batches that run in parallel.
        each: threads inside the operators of one batch.
    """

    workers: int
    each: int


@dataclass(frozen=True)
class Cell:
    """One combination of settings.

    Attributes:
        precision: of the weights.
        beam_size: 1 is greedy search.
        batch: sentences per batch; OWN: as each side makes them, from text to text.
    """

    precision: str
    beam_size: int
    batch: int

    @property
    def is_latency(self) -> bool:
        """Whether sentences come one at a time, so that only operators can use several cores."""
        return self.batch == 1


@dataclass(frozen=True)
class Setting:
    """A side's settings for a cell.

    Attributes:
        threads: batches in parallel, and threads in each.
        batch_tokens: tokens per batch; 0 if the cell or the side determines them.
    """

    threads: Threads
    batch_tokens: int = 0


@dataclass(frozen=True)
class Plan:
    """All settings to combine, and how to measure them.

    Attributes:
        threads: in total.
        forced_length: tokens of every translation; 0 for as many as the model produces.
    """

    beam_sizes: Sequence[int]
    batches: Sequence[int]
    repeats: int
    threads: int
    forced_length: int = 0

    def groups(self, precision: str) -> list[list[Cell]]:
        """The cells of a precision, grouped by those that can share processes."""
        cells = [Cell(precision, *each) for each in product(self.beam_sizes, self.batches)]
        groups = [[each for each in cells if each.is_latency is one] for one in (False, True)]
        return [each for each in groups if each]

    def settings(self, cell: Cell, side: str) -> list[Setting]:
        """The settings to try for a cell, of which the fastest is measured."""
        shares = [Threads(self.threads, 1), Threads(1, self.threads)]
        if cell.is_latency:
            shares = [Threads(1, self.threads), Threads(1, 1)]
        sizes = THEIR_BATCH_TOKENS if cell.batch == OWN and side == THEIRS else (0,)
        return list(dict.fromkeys(Setting(*each) for each in product(shares, sizes)))


@dataclass(frozen=True)
class Text:
    """The text to translate.

    Attributes:
        lines: source sentences.
        source_tokens: of each line, as the encoder reads it.
        left_out: number of lines that are blank, or longer than the model reads at a time.
        limit: maximum tokens of a translation, the same for all lines: CTranslate2 has one limit
            per call.
    """

    lines: list[str]
    source_tokens: list[int]
    left_out: int
    limit: int

    @classmethod
    def of(
        cls,
        lines: Sequence[str],
        tokenizer: Tokenizer,
        decoding: DecodingConfig,
        forced_length: int = 0,
    ) -> "Text":
        """Choose the lines that neither side would skip or split.

        Raises:
            NmtError: all lines are blank or too long.
        """
        lengths = [len(each) for each in tokenizer.encode(lines)]
        kept = [at for at, length in enumerate(lengths) if 0 < length <= decoding.max_source]
        if not kept:
            raise NmtError(
                "no line of the text can be measured",
                f"give lines of 1 to {decoding.max_source} tokens with --text",
            )
        marks = len(tokenizer.with_special_tokens([]))
        tokens = [lengths[at] + marks for at in kept]
        limit = forced_length or SearchOptions.of(decoding).limit(max(tokens))
        return cls([lines[at] for at in kept], tokens, len(lines) - len(kept), limit)


def latency_rows(count: int) -> list[int]:
    """Rows of the sentences that are translated one at a time, at regular intervals."""
    chosen = min(count, LATENCY_SENTENCES)
    return [at * count // chosen for at in range(chosen)]


def multiplications(
    config: Any, vocabulary: int, source_tokens: int, target_tokens: int, beam_size: int
) -> int:
    """Count the multiplications by weights; attention, a few percent more, is left out."""
    width = config.d_model
    if config.architecture == "rnn":
        source, target = _recurrent_multiplications(config)
    else:
        matrices = 3 if config.activation == "swiglu" else 2
        feed = matrices * width * config.feed_forward
        keys = width * config.heads * config.key_size  # of one projection
        values = width * config.heads * config.value_size
        source = config.encoder_layers * (2 * keys + 2 * values + feed)
        source += config.decoder_layers * (keys + values)
        target = config.decoder_layers * (3 * keys + 3 * values + feed)
    target += width * vocabulary
    return source_tokens * source + beam_size * target_tokens * target


def _recurrent_multiplications(config: Any) -> tuple[int, int]:
    """Multiplications per source token and per target token, without the softmax."""
    square, gates = config.d_model**2, {"lstm": 4, "gru": 3}
    # Two directions of half the width: from the input, half a square each, and a quarter back.
    source = config.encoder_layers * gates[config.encoder_cell] * 3 * square // 2
    entering = 1 + config.input_feeding + (config.attention == "bahdanau")
    cells = 2 * config.decoder_layers - 1 + entering
    target = gates[config.decoder_cell] * cells * square + 2 * square
    if config.attention != "luong-dot":
        source += square  # the keys
    if config.attention in ("luong-concat", "bahdanau"):
        target += square  # the query
    return source, target


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that is not exceeded by this share of all values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
