"""nmt inspect."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from nmt_cli.bundle.manifest import Check, Verification
from nmt_cli.cli.options import PATH, find_model, find_recipe, is_recipe, set_option
from nmt_cli.files import standard_output
from nmt_cli.frameworks import import_keras

Row = tuple[str, str]


@click.command(epilog="\b\nExample: nmt inspect exports/docs-pt-en | grep ^score")
@click.argument("model", required=False, envvar=["NMT_MODEL"], type=PATH)
@set_option
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
def inspect(model: Path | None, overrides: tuple[str, ...], as_json: bool) -> None:
    """Describe MODEL: a run, a bundle (default: the newest, else the newest run) or a recipe.

    Shows architecture, languages, parameters, sizes, scores with their signatures, corpora and
    decoding defaults; the verification of a bundle, and the inputs and outputs of its graphs; the
    steps and checkpoints of a run. Needs no TensorFlow and loads no weights; to check a bundle,
    use nmt verify.

    Of a recipe, which may be changed with --set, it shows the model that would be built, layer by
    layer, and the memory and time of a training on this machine, for which it trains a few steps
    on random tokens. Needs no data.
    """
    standard_output()
    if model and is_recipe(model):
        recipe = find_recipe(str(model), overrides)
        import_keras()
        from nmt_cli.training.model import forecast

        found = forecast(recipe)
        rows = _recipe_rows(found)
    elif overrides:
        raise click.UsageError("--set is for recipes")
    else:
        from nmt_cli.models import describe

        found = describe(find_model(model))
        rows = _rows(found)
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False))
        return
    if summary := found.get("summary_table"):
        click.echo(summary)
    shown = list(rows)
    width = max(len(key) for key, _ in shown)
    for key, value in shown:
        click.echo(f"{key:{width}}  {value}")


def _recipe_rows(found: dict[str, Any]) -> Iterator[Row]:
    yield "name", found["name"]
    yield "languages", f"{found['source']} to {found['target']}"
    yield "parameters", f"{found['parameters']:,}"
    yield "vocabulary", f"{found['vocabulary']:,} entries for each side (assumed)"
    yield "batch", f"{found['batch_tokens']:,} tokens, with padding"
    yield "memory", f"{found['peak_bytes'] / 1e9:.1f} GB at the peak of a step"
    yield "step", f"{found['seconds_per_step']:.2f} seconds"
    yield "training", f"{found['steps']:,} steps: {found['hours']:.1f} hours without validations"


def _rows(found: dict[str, Any]) -> Iterator[Row]:
    """Keys and values to print, one pair per line, for people and grep."""
    yield "path", found["path"]
    yield "kind", found["kind"]
    yield "name", found["name"]
    yield "languages", f"{found['source']} to {found['target']}"
    yield "model", found["summary"]
    yield "parameters", f"{found['parameters']:,}"
    yield "vocabulary", "{source:,} source, {target:,} target".format(**found["vocabulary"])
    yield "precision", found["precision"]
    yield "size", _size(found["bytes"])
    for name in found["damaged"]:
        yield "damaged", f"{name}: missing, cut short or overwritten"
    yield from _run_rows(found) if found["kind"] == "run" else _bundle_rows(found)
    for key, value in found["provenance"].items():
        # Corpora may be many, with long names: one per line.
        for each in value if isinstance(value, list) else [value]:
            yield f"provenance.{key}", _plain(each)
    yield "licence", found["licence"]
    for section in ("architecture", "decoding", "tokenizer", "data", "training"):
        for key, value in found.get(section, {}).items():
            yield f"{section}.{key}", _plain(value)
    for name, size in found["files"].items():
        yield "file", f"{name}  {_size(size)}"
    for name, graph in found.get("graphs", {}).items():
        yield from _graph_rows(name, graph)


def _bundle_rows(found: dict[str, Any]) -> Iterator[Row]:
    for row in found["scores"]:
        value = f"{row['metric']} {row['value']:.2f}"
        yield "score", f"{value}  {row['set']}  {row['signature']}"
    report = found["verification"]
    checks = tuple(Check(**each) for each in report["checks"])
    outcome, *measured = Verification(**{**report, "checks": checks}).lines()
    yield "verification", outcome
    for line in measured:
        yield "check", line


def _run_rows(found: dict[str, Any]) -> Iterator[Row]:
    most = found["training"]["max_steps"]
    if found["steps"] is None:
        yield "steps", f"none saved yet, of at most {most:,}"
    else:
        minutes = found["seconds"] / 60
        yield "steps", f"{found['steps']:,} of at most {most:,}, in {minutes:,.1f} minutes"
    for row in found["checkpoints"]:
        step = "damaged" if row["step"] is None else f"step {row['step']:,}"
        chosen = "  (the one that is used)" if row["file"] == found["preferred"] else ""
        yield "checkpoint", f"{row['file']}  {step}  {_size(row['bytes'])}{chosen}"
    for row in found["scores"]:
        digits = 2 if row["metric"] in ("BLEU", "chrF") else 4
        value = f"{row['metric']} {row['value']:.{digits}f}"
        yield "score", f"{value}  best {row['set']}, at step {row['step']:,}"


def _graph_rows(name: str, graph: dict[str, Any]) -> Iterator[Row]:
    yield "graph", f"{name}  opset {graph['opset']}"
    for side in ("input", "output"):
        for each in graph[f"{side}s"]:
            shape = ", ".join(map(str, each["shape"]))
            yield side, f"{name}  {each['name']}  {each['dtype']}  [{shape}]"


def _plain(value: Any) -> str:
    """A value as recipes write it."""
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


def _size(count: int) -> str:
    return f"{count:,} bytes" if count < 10_000 else f"{count / 1e6:,.2f} MB"
