"""What is measured: cells of a matrix, the text, and how a side may be set."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from nmt_cli.errors import NmtError
from nmt_cli.recipe.config import DecodingConfig
from nmt_cli.search.options import SearchOptions
from nmt_cli.text.tokenizer import Tokenizer

OURS, THEIRS = "nmt", "ctranslate2"
# What stands for a number of sentences where each side makes batches as it likes best.
OWN = 0
# Tokens of CTranslate2's own batches; which is best differs by machine and beam.
THEIR_BATCH_TOKENS = (1024, 2048, 4096)
# Sentences that are translated one by one in each round.
LATENCY_SENTENCES = 64


@dataclass(frozen=True)
class Threads:
    """As nmt_cli.runtime.device.Threads, whose module loads ONNX Runtime: CTranslate2's process
    shall not hold it in memory.

    Attributes:
        workers: batches that run side by side.
        each: threads inside the operators of one batch.
    """

    workers: int
    each: int


@dataclass(frozen=True)
class Cell:
    """One point of the matrix.

    Attributes:
        precision: of the weights.
        beam_size: 1 is greedy search.
        batch: sentences in each; OWN: as each side does by itself, from text to text.
    """

    precision: str
    beam_size: int
    batch: int

    @property
    def is_latency(self) -> bool:
        """Whether sentences come one at a time, so that only operators can share cores."""
        return self.batch == 1


@dataclass(frozen=True)
class Setting:
    """What a side may choose for a cell.

    Attributes:
        threads: batches side by side, and threads in each.
        batch_tokens: of a batch; 0 where the side or the cell has it otherwise.
    """

    threads: Threads
    batch_tokens: int = 0


@dataclass(frozen=True)
class Plan:
    """The matrix and how it is measured.

    Attributes:
        threads: in all.
        forced_length: tokens of every translation; 0: as long as the model wants.
    """

    beam_sizes: Sequence[int]
    batches: Sequence[int]
    repeats: int
    threads: int
    forced_length: int = 0

    def groups(self, precision: str) -> list[list[Cell]]:
        """The cells of a precision; each group needs processes of its own."""
        cells = [Cell(precision, *each) for each in product(self.beam_sizes, self.batches)]
        groups = [[each for each in cells if each.is_latency is one] for one in (False, True)]
        return [each for each in groups if each]

    def settings(self, cell: Cell, side: str) -> list[Setting]:
        """What is tried for a cell; the fastest is measured."""
        shares = [Threads(self.threads, 1), Threads(1, self.threads)]
        if cell.is_latency:
            shares = [Threads(1, self.threads), Threads(1, 1)]
        sizes = THEIR_BATCH_TOKENS if cell.batch == OWN and side == THEIRS else (0,)
        return list(dict.fromkeys(Setting(*each) for each in product(shares, sizes)))


@dataclass(frozen=True)
class Text:
    """What is translated.

    Attributes:
        lines: of the source.
        source_tokens: of each line, as the encoder gets it.
        left_out: lines that are blank, or longer than the model reads at a time.
        limit: tokens of a translation at most, the same for every line: CTranslate2 has one
            limit a call.
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
        """Choose the lines that are one sentence to both sides.

        Raises:
            NmtError: there is none.
        """
        lengths = [len(each) for each in tokenizer.encode(lines)]
        kept = [at for at, length in enumerate(lengths) if 0 < length <= decoding.max_source]
        if not kept:
            raise NmtError(
                "no line of the text can be measured",
                f"give lines of 1 to {decoding.max_source} tokens with --text",
            )
        marks = len(tokenizer.frame_source([]))
        tokens = [lengths[at] + marks for at in kept]
        limit = forced_length or SearchOptions.of(decoding).limit(max(tokens))
        return cls([lines[at] for at in kept], tokens, len(lines) - len(kept), limit)


def latency_rows(count: int) -> list[int]:
    """Which of so many sentences are translated one by one: some, from all over the text."""
    chosen = min(count, LATENCY_SENTENCES)
    return [at * count // chosen for at in range(chosen)]


def multiplications(
    shape: Any, vocabulary: int, source_tokens: int, target_tokens: int, beam_size: int
) -> int:
    """Those of the products with weights; attention, a few percent more, is left out."""
    width = shape.d_model
    if shape.architecture == "rnn":
        source, target = _recurrent_multiplications(shape)
    else:
        matrices = 3 if shape.activation == "swiglu" else 2
        feed = matrices * width * shape.feed_forward
        keys = width * shape.heads * shape.key_size  # of one projection
        values = width * shape.heads * shape.value_size
        source = shape.encoder_layers * (2 * keys + 2 * values + feed)
        source += shape.decoder_layers * (keys + values)
        target = shape.decoder_layers * (3 * keys + 3 * values + feed)
    target += width * vocabulary
    return source_tokens * source + beam_size * target_tokens * target


def _recurrent_multiplications(shape: Any) -> tuple[int, int]:
    """Of each source token and each target token, the softmax left out."""
    square, gates = shape.d_model**2, {"lstm": 4, "gru": 3}
    # Two directions of half the width: from the input, half a square each, and a quarter back.
    source = shape.encoder_layers * gates[shape.encoder_cell] * 3 * square // 2
    entering = 1 + shape.input_feeding + (shape.attention == "bahdanau")
    cells = 2 * shape.decoder_layers - 1 + entering
    target = gates[shape.decoder_cell] * cells * square + 2 * square
    if shape.attention != "luong-dot":
        source += square  # the keys
    if shape.attention in ("luong-concat", "bahdanau"):
        target += square  # the query
    return source, target


def quantile(values: Sequence[float], share: float) -> float:
    """The value that a share of all do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
