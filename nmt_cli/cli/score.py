"""nmt score."""

import json
import math
from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nmt_cli.cli.options import (
    DecodingOptions,
    decoding_options,
    find_model,
    models_option,
    say,
)
from nmt_cli.cli.streams import (
    check_standard_output,
    ending_by_sigpipe,
    open_lines,
    standard_output,
)
from nmt_cli.errors import NmtError

if TYPE_CHECKING:
    from nmt_cli.search.scoring import PairScore


@click.command(epilog="Example: nmt score test.pt test.en -m exports/docs-pt-en | paste - test.pt")
@click.argument("source", type=click.Path(path_type=Path, allow_dash=True))
@click.argument("target", type=click.Path(path_type=Path, allow_dash=True))
@models_option()
@click.option(
    "--n-best",
    type=click.IntRange(1),
    default=1,
    metavar="N",
    help="TARGET has N lines for each of SOURCE, as nmt translate --n-best writes them.",
)
@click.option("--tokens", is_flag=True, help="Add two columns: tokens, and the score of each.")
@click.option("--json", "as_json", is_flag=True, help="Write an object a line, with all there is.")
@decoding_options(beam=False)
def score(
    source: Path,
    target: Path,
    models: tuple[Path, ...],
    n_best: int,
    tokens: bool,
    as_json: bool,
    decoding: DecodingOptions,
) -> None:
    """How likely a model finds the lines of TARGET as translations of those of SOURCE.

    One score a line: the log-probability (natural logarithm) of the translation and its end, over
    the length penalty, which is how search scores what it finds; --length-penalty 0 leaves the
    plain log-probability. Where a side is longer than the model reads at a time, it is nan.
    """
    from nmt_cli.cli.models import load_ensemble
    from nmt_cli.search.scoring import score_pairs

    if str(source) == str(target) == "-":
        raise click.UsageError("SOURCE and TARGET cannot both be standard input")
    check_standard_output()
    sides = open_lines(source), open_lines(target)
    folders = [find_model(each) for each in models or (None,)]
    translator = load_ensemble(folders, decoding, sentences=2)
    vocabulary = translator.tokenizers.target
    pairs = _aligned(sides[0], sides[1], n_best, f"{source} and {target}")
    unread = 0
    with ending_by_sigpipe(), standard_output() as out:
        for found in score_pairs(translator, pairs):
            names = vocabulary.tokens([token for token, _ in found.token_scores])
            out.write([_line(found, names, tokens, as_json)])
            unread += math.isnan(found.score)
    if unread:
        say(f"{unread:,} pairs are longer than the model reads at a time: nan")


def _aligned(
    source: Iterator[str], target: Iterator[str], n_best: int, names: str
) -> Iterator[tuple[str, str]]:
    """Pairs of lines, each source line with its translations.

    Raises:
        NmtError: one side ends before the other.
    """
    sources = chain.from_iterable(repeat(line, n_best) for line in source)
    for number, line in enumerate(sources, start=1):
        translation = next(target, None)
        if translation is None:
            raise _unaligned(names, f"the second ends before its line {number}")
        yield line, translation
    if next(target, None) is not None:
        raise _unaligned(names, "the first ends before the second")


def _unaligned(names: str, problem: str) -> NmtError:
    return NmtError(f"{names}: {problem}", "give as many lines of one as of the other, aligned")


def _line(found: "PairScore", names: list[str], tokens: bool, as_json: bool) -> str:
    scores = [score for _, score in found.token_scores]
    if as_json:
        # JSON has no nan.
        total = None if math.isnan(found.score) else round(found.score, 6)
        rounded = [round(each, 6) for each in scores]
        record = {"score": total, "tokens": names, "token_scores": rounded}
        return json.dumps(record, ensure_ascii=False)
    columns = [f"{found.score:.6f}"]
    if tokens:
        columns += [" ".join(names), " ".join(f"{each:.6f}" for each in scores)]
    return "\t".join(columns)
