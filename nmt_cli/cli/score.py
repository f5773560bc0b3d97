"""nmt score."""

import json
import math
from itertools import chain, repeat
from pathlib import Path

import click

from nmt_cli.cli.options import (
    PATH_OR_STDIN,
    Hardware,
    decoding_options,
    ending_by_sigpipe,
    models_option,
    open_model,
    say,
)
from nmt_cli.files import standard_output
from nmt_cli.search.options import DecodingOptions


@click.command(
    epilog="\b\nExample: nmt score test.pt test.en -m exports/docs-pt-en | paste - test.pt"
)
@click.argument("source", type=PATH_OR_STDIN)
@click.argument("target", type=PATH_OR_STDIN)
@models_option
@click.option(
    "--n-best",
    type=click.IntRange(1),
    default=1,
    metavar="N",
    help="TARGET has N lines for each line of SOURCE, as nmt translate --n-best writes them.",
)
@click.option("--tokens", is_flag=True, help="Add two columns: the tokens, and their scores.")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object per line.")
@decoding_options("length_penalty")
def score(
    source: Path,
    target: Path,
    models: tuple[Path, ...],
    n_best: int,
    tokens: bool,
    as_json: bool,
    decoding: DecodingOptions,
    hardware: Hardware,
) -> None:
    """Score the lines of TARGET as translations of the lines of SOURCE.

    One score per line: the log-probability (natural logarithm) of the translation and its end
    token, divided by the length penalty, which is how the search scores hypotheses;
    --length-penalty 0 gives the plain log-probability. The score is nan if a side is longer than
    the model reads at a time.
    """
    from nmt_cli.jobs.inputs import name_of, open_lines
    from nmt_cli.jobs.outputs import Sink
    from nmt_cli.jobs.records import column_text
    from nmt_cli.search.scoring import aligned, score_pairs

    if str(source) == str(target) == "-":
        raise click.UsageError("SOURCE and TARGET cannot both be standard input")
    sink = Sink(standard_output())
    sources, targets = open_lines(source), open_lines(target)
    repeated = chain.from_iterable(repeat(line, n_best) for line in sources)
    pairs = aligned(repeated, targets, (name_of(source), name_of(target)))
    translator = open_model(models, hardware).translator(decoding)
    unread = 0
    with ending_by_sigpipe():
        for found in score_pairs(translator, pairs):
            unreadable = math.isnan(found.score)
            unread += unreadable
            if as_json:  # which has no NaN
                record = {
                    "score": None if unreadable else round(found.score, 6),
                    "tokens": found.tokens,
                    "token_scores": [round(each, 6) for each in found.token_scores],
                }
                sink.write([json.dumps(record, ensure_ascii=False)])
            else:
                columns = [found.score, found.tokens, found.token_scores]
                sink.write(["\t".join(map(column_text, columns if tokens else columns[:1]))])
    if unread:
        say(f"{unread:,} pairs are longer than the model reads at a time: nan")
