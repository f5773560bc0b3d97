"""nmt inspect, nmt models and nmt bench: what a model is, and how fast."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import click
from msgspec import Meta

from nmt_cli.bundle import PRECISIONS
from nmt_cli.cli.lookup import OVERRIDES, find_model, find_recipe, is_recipe
from nmt_cli.cli.options import COUNT, PATH, command, say
from nmt_cli.errors import InputError
from nmt_cli.files import standard_output
from nmt_cli.host import import_keras
from nmt_cli.options import PositiveInt, option
from nmt_cli.search.options import BeamSize

Row = tuple[str, str]


@command(example="nmt inspect exports/docs-pt-en | grep ^score")
@click.argument("model", required=False, envvar=["NMT_MODEL"], type=PATH)
def inspect(
    model: Path | None,
    overrides: tuple[str, ...] = OVERRIDES,
    as_json: bool = option(False, "Print everything as one JSON object.", flags="--json"),
) -> None:
    """Describe a run, a bundle or a recipe.

    MODEL is the newest bundle or run by default. Shows architecture, languages, parameters, sizes,
    scores with their signatures, corpora and decoding defaults; for a bundle also its verification
    and the inputs and outputs of its graphs; for a run its steps and checkpoints. Needs no
    TensorFlow and loads no weights; to check a bundle, use nmt verify.

    For a recipe, it shows the layers of the model that would be built, and the memory and time of
    a training on this machine, measured on a few steps with random tokens. Needs no data.
    """
    standard_output()
    if model and is_recipe(model):
        recipe = find_recipe(str(model), overrides)
        import_keras()
        from nmt_cli.training.model import forecast

        record = forecast(recipe)
        rows = _recipe_rows(record)
    elif overrides:
        raise click.UsageError("--set is for recipes")
    else:
        from nmt_cli.models import describe

        record = describe(find_model(model))
        rows = _rows(record)
    if as_json:
        click.echo(json.dumps(record, ensure_ascii=False))
        return
    if summary := record.get("summary_table"):
        click.echo(summary)
    shown = list(rows)
    width = max(len(key) for key, _ in shown)
    for key, value in shown:
        click.echo(f"{key:{width}}  {value}")


@command(example="nmt models --json | jq -r '.[].name'")
def models(
    as_json: bool = option(False, "Print a JSON list with all details.", flags="--json"),
) -> None:
    """List the installed models."""
    from nmt_cli.bundle.card import describe_bundle
    from nmt_cli.bundle.packages import installed_models

    standard_output()
    records = [describe_bundle(path) | {"name": name} for name, path in installed_models().items()]
    if as_json:
        click.echo(json.dumps(records, ensure_ascii=False))
        return
    if not records:
        say("no models are installed; nmt package makes wheels of models, for pip install")
    width = max((len(record["name"]) for record in records), default=0)
    for record in records:
        scores = (f"{row['metric']} {row['value']:.1f} {row['set']}" for row in record["scores"])
        size = f"{record['bytes'] / 1e6:,.1f} MB"
        languages = f"{record['source']} to {record['target']}"
        row = f"{record['name']:{width}}", languages, record["precision"], size, ", ".join(scores)
        click.echo("  ".join(row).rstrip())


def _batch(value: str) -> int:
    """Return the sentences per batch; 0 for "own"."""
    return 0 if value == "own" else COUNT.convert(value, None, None)


@command(example="nmt bench exports/docs-pt-en-int8 --text test.pt --limit 200")
@click.argument("model", type=PATH)
@click.option(
    "--batch",
    multiple=True,
    type=_batch,
    metavar="N|own",
    default=("32", "64", "own", "1"),
    show_default=True,
    help="Sentences per batch; own: as nmt translate; 1: latency; repeatable.",
)
def bench(
    model: Path,
    batch: tuple[int, ...],
    text: Path | None = option(None, "Source lines; default: the run's held-out lines."),
    limit: PositiveInt | None = option(None, "Use only the first N lines."),
    precision: tuple[Literal[PRECISIONS], ...] = option(  # type: ignore[valid-type]
        (), "Precision to export a run in; repeatable; default: float32 and int8."
    ),
    beam_size: tuple[BeamSize, ...] = option(
        (4, 1), "Number of hypotheses kept at each step; repeatable."
    ),
    repeats: PositiveInt = option(5, "Rounds per measurement; default: 5."),
    threads: PositiveInt | None = option(None, "CPU cores to use; default: all."),
    forced_length: Annotated[int, Meta(ge=2, le=1000)] | None = option(
        None, "Give every translation N tokens."
    ),
    as_json: bool = option(False, "Print one JSON object.", flags="--json"),
) -> None:
    """Measure how fast a run or a bundle translates on this machine.

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
        raise InputError(f"{model}: a bundle comes without text", "give source lines with `text`")
    lines = read_lines(text or model / "held_out.source.txt")[:limit]
    bundle = {} if is_run else {read_manifest(model).precision: model}
    with tempfile.TemporaryDirectory(prefix="nmt-bench-") as folder:
        bundles = bundle or _exported(model, precision, Path(folder))
        results = measure(bundles, lines, beam_size, batch, repeats, threads, forced_length)
    click.echo(json.dumps(results) if as_json else "\n".join(table(results)))


def _exported(run: Path, precisions: tuple[str, ...], folder: Path) -> dict[str, Path]:
    from nmt_cli.export.exporter import EXPORTERS, ExportOptions
    from nmt_cli.training.run import Run

    bundles = {precision: folder / precision for precision in precisions or PRECISIONS[:2]}
    for precision, bundle in bundles.items():
        say(f"exporting {run} in {precision}, unverified")
        options = ExportOptions(output=bundle, precision=precision, verify=False)
        EXPORTERS["onnx"].export(Run.open(run), options)
    return bundles


def _recipe_rows(record: dict[str, Any]) -> Iterator[Row]:
    yield "name", record["name"]
    yield "languages", f"{record['source']} to {record['target']}"
    yield "parameters", f"{record['parameters']:,}"
    yield "vocabulary", f"{record['vocabulary']:,} entries for each side (assumed)"
    yield "batch", f"{record['batch_tokens']:,} tokens, with padding"
    yield "memory", f"{record['peak_bytes'] / 1e9:.1f} GB at the peak of a step"
    yield "step", f"{record['seconds_per_step']:.2f} seconds"
    yield "training", f"{record['steps']:,} steps: {record['hours']:.1f} hours without validations"


def _rows(record: dict[str, Any]) -> Iterator[Row]:
    """Keys and values to print, one pair per line, for people and grep."""
    yield "path", record["path"]
    yield "kind", record["kind"]
    yield "name", record["name"]
    yield "languages", f"{record['source']} to {record['target']}"
    yield "model", record["summary"]
    yield "parameters", f"{record['parameters']:,}"
    yield "vocabulary", "{source:,} source, {target:,} target".format(**record["vocabulary"])
    yield "precision", record["precision"]
    yield "size", _size(record["bytes"])
    for name in record["damaged"]:
        yield "damaged", f"{name}: missing, cut short or overwritten"
    yield from _run_rows(record) if record["kind"] == "run" else _bundle_rows(record)
    for key, value in record["provenance"].items():
        # Corpora may be many, with long names: one per line.
        for item in value if isinstance(value, list) else [value]:
            yield f"provenance.{key}", _plain(item)
    yield "licence", record["licence"]
    for section in ("architecture", "decoding", "tokenizer", "data", "training"):
        for key, value in record.get(section, {}).items():
            yield f"{section}.{key}", _plain(value)
    for name, size in record["files"].items():
        yield "file", f"{name}  {_size(size)}"
    for name, graph in record.get("graphs", {}).items():
        yield from _graph_rows(name, graph)


def _bundle_rows(record: dict[str, Any]) -> Iterator[Row]:
    from nmt_cli.bundle.manifest import Check, Verification

    for row in record["scores"]:
        value = f"{row['metric']} {row['value']:.2f}"
        yield "score", f"{value}  {row['set']}  {row['signature']}"
    report = record["verification"]
    checks = tuple(Check(**check) for check in report["checks"])
    outcome, *measured = Verification(**{**report, "checks": checks}).lines()
    yield "verification", outcome
    for line in measured:
        yield "check", line


def _run_rows(record: dict[str, Any]) -> Iterator[Row]:
    max_steps = record["training"]["max_steps"]
    if record["steps"] is None:
        yield "steps", f"none saved yet, of at most {max_steps:,}"
    else:
        minutes = record["seconds"] / 60
        yield "steps", f"{record['steps']:,} of at most {max_steps:,}, in {minutes:,.1f} minutes"
    for row in record["checkpoints"]:
        step = "damaged" if row["step"] is None else f"step {row['step']:,}"
        chosen = "  (the one that is used)" if row["file"] == record["preferred"] else ""
        yield "checkpoint", f"{row['file']}  {step}  {_size(row['bytes'])}{chosen}"
    for row in record["scores"]:
        digits = 2 if row["metric"] in ("BLEU", "chrF") else 4
        value = f"{row['metric']} {row['value']:.{digits}f}"
        yield "score", f"{value}  best {row['set']}, at step {row['step']:,}"


def _graph_rows(name: str, graph: dict[str, Any]) -> Iterator[Row]:
    yield "graph", f"{name}  opset {graph['opset']}"
    for side in ("input", "output"):
        for tensor in graph[f"{side}s"]:
            shape = ", ".join(map(str, tensor["shape"]))
            yield side, f"{name}  {tensor['name']}  {tensor['dtype']}  [{shape}]"


def _plain(value: Any) -> str:
    """Return a value as recipes write it."""
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


def _size(count: int) -> str:
    return f"{count:,} bytes" if count < 10_000 else f"{count / 1e6:,.2f} MB"
