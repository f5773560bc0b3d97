"""nmt bench."""

import json
import tempfile
from pathlib import Path

import click

from nmt_cli.bundle import PRECISIONS
from nmt_cli.cli.options import PATH, find_model, say
from nmt_cli.errors import NmtError, silent
from nmt_cli.files import standard_output


def _batch(value: str) -> int:
    """Sentences per batch; 0 for "own"."""
    return 0 if value == "own" else click.IntRange(1)(value)


@click.command(epilog="\b\nExample: nmt bench exports/docs-pt-en-int8 --text test.pt --limit 200")
@click.argument("model", type=PATH)
@click.option("--text", type=PATH, help="Source lines; default: the run's held-out lines.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Use only the first N lines.")
@click.option(
    "--precision",
    multiple=True,
    type=click.Choice(PRECISIONS),
    help="Precision to export a run in; repeatable; default: float32 and int8.",
)
@click.option(
    "--beam-size",
    multiple=True,
    type=click.IntRange(1, 256),
    default=(4, 1),
    show_default=True,
    help="Number of hypotheses kept at each step; repeatable.",
)
@click.option(
    "--batch",
    multiple=True,
    type=_batch,
    metavar="INTEGER|own",
    default=("32", "64", "own", "1"),
    show_default=True,
    help="Sentences per batch; own: as nmt translate does; 1: to measure latency; repeatable.",
)
@click.option(
    "--repeats",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    help="Rounds per measurement.",
)
@click.option("--threads", type=click.IntRange(1), help="CPU cores to use; default: all.")
@click.option(
    "--forced-length", type=click.IntRange(2, 1000), help="Give every translation N tokens."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def bench(
    model: Path,
    text: Path | None,
    limit: int | None,
    precision: tuple[str, ...],
    beam_size: tuple[int, ...],
    batch: tuple[int, ...],
    repeats: int,
    threads: int | None,
    forced_length: int | None,
    as_json: bool,
) -> None:
    """Measure how fast MODEL, a run or a bundle, translates on this machine's processor.

    Reports target tokens and sentences per second, p50 and p95 latency, load time and peak
    memory for each beam size and batch size. Each measurement runs in a separate process, after a
    warm-up round that is not counted.

    A run is first exported in each precision, without verification.
    """
    from nmt_cli.bench import measure, table
    from nmt_cli.bundle.reading import read_manifest
    from nmt_cli.models import kind_of
    from nmt_cli.text.lines import read_lines

    standard_output()
    model = find_model(model)
    is_run = kind_of(model) == "run"
    if precision and not is_run:
        raise click.UsageError("--precision is for runs; a bundle has only one")
    if not text and not is_run:
        raise NmtError(f"{model}: a bundle comes without text", "give source lines with --text")
    lines = read_lines(text or model / "held_out.source.txt")[:limit]
    bundle = {} if is_run else {read_manifest(model).precision: model}
    with tempfile.TemporaryDirectory(prefix="nmt-bench-") as place:
        bundles = bundle or _exported(model, precision, place)
        found = measure(bundles, lines, beam_size, batch, say, repeats, threads, forced_length)
    click.echo(json.dumps(found) if as_json else "\n".join(table(found)))


def _exported(folder: Path, precisions: tuple[str, ...], place: str) -> dict[str, Path]:
    from nmt_cli.export.exporter import EXPORTERS, ExportOptions
    from nmt_cli.training.run import Run

    folders = {each: Path(place, each) for each in precisions or PRECISIONS[:2]}
    for precision, bundle in folders.items():
        say(f"exporting {folder} in {precision}, unverified")
        options = ExportOptions(output=bundle, precision=precision, verify=False)
        EXPORTERS["onnx"].export(Run.open(folder), options, silent)
    return folders
