"""nmt score and nmt tokenize."""

import json
import math
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nmt_cli.cli.lookup import (
    MODELS,
    PREPARED,
    find_model,
    find_recipe,
    is_recipe,
    open_model,
)
from nmt_cli.cli.options import (
    PATH_OR_STDIN,
    Hardware,
    command,
    decoding_options,
    ending_by_sigpipe,
    say,
)
from nmt_cli.errors import InputError
from nmt_cli.files import standard_output
from nmt_cli.options import PositiveInt, option
from nmt_cli.search.options import DecodingOptions

if TYPE_CHECKING:
    from nmt_cli.text.tokenizer import Tokenizer


@command(example="nmt score test.pt test.en -m exports/docs-pt-en | paste - test.pt")
@click.argument("source", type=PATH_OR_STDIN)
@click.argument("target", type=PATH_OR_STDIN)
@decoding_options("length_penalty")
def score(
    source: Path,
    target: Path,
    decoding: DecodingOptions,
    hardware: Hardware,
    models: tuple[Path, ...] = MODELS,
    n_best: PositiveInt = option(
        1, "TARGET has N lines for each line of SOURCE, as nmt translate --n-best writes them."
    ),
    tokens: bool = option(False, "Add two columns: the tokens, and their scores."),
    as_json: bool = option(False, "Write one JSON object per line.", flags="--json"),
) -> None:
    """Score given translations.

    Prints one score per line of SOURCE and TARGET: the log-probability (natural logarithm) of the
    translation and its end token, divided by the length penalty, as the search scores hypotheses.
    --length-penalty 0 gives the plain log-probability. The score is nan if a side is longer than
    the model reads at a time.
    """
    from nmt_cli.jobs.files import Sink, name_of, open_lines
    from nmt_cli.jobs.records import column_text
    from nmt_cli.text.lines import aligned

    if str(source) == str(target) == "-":
        raise click.UsageError("SOURCE and TARGET cannot both be standard input")
    sink = Sink(standard_output())
    sources, targets = open_lines(source), open_lines(target)
    repeated = chain.from_iterable(repeat(line, n_best) for line in sources)
    pairs = aligned(repeated, targets, (name_of(source), name_of(target)))
    translator = open_model(models, hardware).translator(decoding)
    too_long = 0
    with ending_by_sigpipe():
        for pair in translator.score(pairs):
            unscored = math.isnan(pair.score)
            too_long += unscored
            if as_json:  # which has no NaN
                record = {
                    "score": None if unscored else round(pair.score, 6),
                    "tokens": pair.tokens,
                    "token_scores": [round(score, 6) for score in pair.token_scores],
                }
                sink.write([json.dumps(record, ensure_ascii=False)])
            else:
                columns = [pair.score, pair.tokens, pair.token_scores]
                sink.write(["\t".join(map(column_text, columns if tokens else columns[:1]))])
    if too_long:
        say(f"{too_long:,} pairs are longer than the model reads at a time: nan")


@command(example="echo 'Bom dia!' | nmt tokenize -m exports/docs-pt-en")
@click.argument("file", default="-", type=PATH_OR_STDIN)
def tokenize(
    file: Path,
    model: Path | None = option(
        None,
        "Run, bundle, installed model, prepared data, or a recipe whose data is under prepared/; "
        "default: as for nmt translate.",
        flags="-m",
    ),
    target: bool = option(False, "Use the target vocabulary."),
    ids: bool = option(False, "Ids instead of tokens."),
    detokenize: bool = option(False, "Read tokens, or ids with `ids`; write text."),
) -> None:
    """Split text into a model's tokens.

    Reads FILE or standard input; one line in, one line out. "▁" in a token of SentencePiece is a
    space.
    """
    from nmt_cli.jobs.files import Sink, name_of, open_lines
    from nmt_cli.text.tokenizer import encode_lines, load_tokenizers

    sink = Sink(standard_output())
    lines = open_lines(file)
    pair = load_tokenizers(_folder(model) / "tokenizer")
    tokenizer = pair.target if target else pair.source
    vocabulary = _vocabulary(tokenizer, ids) if detokenize else {}
    with ending_by_sigpipe():
        for number, line in enumerate(lines, start=1):
            if detokenize:
                where = f"{name_of(file)}, line {number}"
                sink.write(tokenizer.decode([_read(line, vocabulary, where)]))
            else:
                (sequence,) = encode_lines(tokenizer, [line])
                words = map(str, sequence) if ids else tokenizer.tokens(sequence)
                sink.write([" ".join(words)])


def _folder(model: Path | None) -> Path:
    """Return the folder that has the tokenizers of a model or a recipe."""
    if not model or not is_recipe(model):
        return find_model(model)
    prepared = PREPARED / find_recipe(str(model)).label
    if not prepared.exists():
        raise InputError(f"{prepared}: no prepared data", f"run nmt prepare {model} first")
    return prepared


def _vocabulary(tokenizer: "Tokenizer", ids: bool) -> dict[str, int]:
    """Return the id of each token, or of each number as text."""
    numbers = range(tokenizer.vocab_size)
    return dict(zip(map(str, numbers) if ids else tokenizer.tokens(numbers), numbers, strict=True))


def _read(line: str, vocabulary: dict[str, int], where: str) -> list[int]:
    """Return the ids of a line of tokens or numbers."""
    words = [word for word in line.split(" ") if word]
    for word in words:
        if word not in vocabulary:
            problem = f"{where}: {word!r} is not in the vocabulary"
            raise InputError(problem, "see `ids` and `target`")
    return [vocabulary[word] for word in words]
