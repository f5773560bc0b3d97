"""nmt bench."""

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nmt_cli.bundle.manifest import MANIFEST, PRECISIONS
from nmt_cli.cli.options import say
from nmt_cli.cli.streams import check_standard_output
from nmt_cli.errors import NmtError
from nmt_cli.frameworks import import_keras

if TYPE_CHECKING:
    from nmt_cli.bench.models import Models

THEIRS = "ctranslate2"


class _Batch(click.ParamType):
    """Sentences in a batch, or "own": 0."""

    name = "integer|own"

    def convert(self, value: Any, param: Any, context: Any) -> int:
        """See click.ParamType."""
        return 0 if value == "own" else click.IntRange(1).convert(value, param, context)


@click.command(epilog="\b\nExample: nmt bench runs/docs-pt-en --against ctranslate2 --text test.pt")
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--against",
    type=click.Choice([THEIRS]),
    help="Measure CTranslate2 too, with the same weights, in turns.",
)
@click.option(
    "--ctranslate2-model",
    "theirs",
    type=click.Path(path_type=Path),
    help="Its folder, where MODEL is a bundle; of a run it is exported.",
)
@click.option(
    "--text",
    type=click.Path(path_type=Path),
    help="Source lines; default: the run's held-out ones.",
)
@click.option("--limit", type=click.IntRange(1), help="Take the first so many lines alone.")
@click.option(
    "--precision",
    "precisions",
    multiple=True,
    type=click.Choice(PRECISIONS),
    help="Of a run; repeatable; default: float32 and int8. A bundle has one of its own.",
)
@click.option(
    "--beam-size",
    "beam_sizes",
    multiple=True,
    type=click.IntRange(1, 256),
    default=(4, 1),
    show_default=True,
    help="Hypotheses followed; repeatable.",
)
@click.option(
    "--batch",
    "batches",
    multiple=True,
    type=_Batch(),
    default=("32", "64", "own", "1"),
    show_default=True,
    help="Sentences in a batch; own: each side's best, from text to text, and whole processes "
    "too; 1: one after the other, for p50 and p95; repeatable.",
)
@click.option(
    "--repeats", type=click.IntRange(1), default=5, show_default=True, help="Of each measurement."
)
@click.option("--threads", type=click.IntRange(1), help="In all; default: every core.")
@click.option(
    "--forced-length",
    type=click.IntRange(1, 1000),
    help="Make every translation so many tokens long, for models without training.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def bench(
    model: Path,
    against: str | None,
    theirs: Path | None,
    text: Path | None,
    limit: int | None,
    precisions: tuple[str, ...],
    beam_sizes: tuple[int, ...],
    batches: tuple[int, ...],
    repeats: int,
    threads: int | None,
    forced_length: int | None,
    as_json: bool,
) -> None:
    """Measure how fast MODEL, a run or a bundle, translates on this machine's processor.

    Tokens and sentences a second, p50 and p95 latency, load time and peak memory, for each
    precision, beam size and batch. Every side and thread setting has a process of its own;
    after one round that is not counted and finds each side's best threads, the sides take
    turns. The length penalty is 0: CTranslate2's is another formula.

    A run is exported for it, without verification, which needs TensorFlow.
    """
    from nmt_cli.bench.measure import measure
    from nmt_cli.bench.plan import Plan, Text
    from nmt_cli.bench.table import table
    from nmt_cli.host import cores
    from nmt_cli.text.lines import read_lines
    from nmt_cli.text.tokenizer import load_tokenizers

    check_standard_output()
    is_bundle = (model / MANIFEST).exists()
    _check(model, is_bundle, against, theirs, precisions)
    plan = Plan(
        list(dict.fromkeys(beam_sizes)),
        list(dict.fromkeys(batches)),
        repeats,
        threads or cores(),
        forced_length or 0,
    )
    lines = read_lines(_text(model, is_bundle, text))[:limit]
    with tempfile.TemporaryDirectory(prefix="nmt-bench-") as place:
        models = _models(model, is_bundle, against, theirs, precisions, Path(place))
        tokenizer = load_tokenizers(models.tokenizer).source
        chosen = Text.of(lines, tokenizer, models.decoding, plan.forced_length)
        found = measure(models, chosen, plan, say)
    click.echo(json.dumps(found) if as_json else "\n".join(table(found)))


def _check(
    model: Path,
    is_bundle: bool,
    against: str | None,
    theirs: Path | None,
    precisions: tuple[str, ...],
) -> None:
    """Refuse what does not go together, before anything is loaded."""
    if not is_bundle and not (model / "run.json").exists():
        raise NmtError(
            f"{model}: neither a run (no run.json) nor a bundle (no {MANIFEST})",
            "give a folder that nmt train or nmt export --onnx wrote",
        )
    if theirs and not (is_bundle and against):
        raise click.UsageError("--ctranslate2-model is for a bundle, with --against ctranslate2")
    if is_bundle and precisions:
        raise click.UsageError("--precision is for runs: a bundle has one of its own")
    if is_bundle and against and not theirs:
        raise NmtError(
            f"{model}: a bundle, of which CTranslate2 cannot be given the weights",
            "name a folder of nmt export --ctranslate2 with --ctranslate2-model, or give the run",
        )
    if against:
        from nmt_cli.runtime.ctranslate2_translator import import_ctranslate2

        import_ctranslate2()


def _text(model: Path, is_bundle: bool, text: Path | None) -> Path:
    if text:
        return text
    if is_bundle:
        raise NmtError(f"{model}: a bundle has no text of its own", "give source lines with --text")
    return model / "held_out.source.txt"


def _models(
    model: Path,
    is_bundle: bool,
    against: str | None,
    theirs: Path | None,
    precisions: tuple[str, ...],
    place: Path,
) -> "Models":
    from nmt_cli.bench.models import bundle_models, run_models

    if is_bundle:
        return bundle_models(model, theirs)
    import_keras()
    return run_models(model, precisions or PRECISIONS[:2], bool(against), place, say)
