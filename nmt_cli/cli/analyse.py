"""What models are, how good and how fast: nmt evaluate, inspect and bench."""

import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click
from msgspec import Meta, convert

from nmt_cli.bundle import PRECISIONS
from nmt_cli.cli.lookup import OVERRIDES, find_model, find_recipe, find_run, is_recipe, open_model
from nmt_cli.cli.options import COUNT, PATH, Command, Hardware, command, decoding_options, say, show
from nmt_cli.errors import InputError
from nmt_cli.evaluate.texts import EvaluationText, read_text
from nmt_cli.files import standard_output
from nmt_cli.host import import_keras
from nmt_cli.models import describe, kind_of
from nmt_cli.options import PositiveInt, option
from nmt_cli.search.options import BeamSize, DecodingOptions
from nmt_cli.text.lines import read_lines

if TYPE_CHECKING:
    from nmt_cli.evaluate.evaluation import Candidate

Row = tuple[str, str]


class _InOrder(Command):
    """Passes the order of --model and --translation as obj: the first of all is the baseline."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments twice: click loses the order of different options."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        names = [parameter.name for parameter in order]
        ctx.obj = [name for name in names if name in ("model", "translation")]
        return super().parse_args(ctx, args)


@command(
    cls=_InOrder,
    example="nmt evaluate -m exports/mine --source test.pt --reference test.en",
    epilog="""
    \b
    nmt evaluate --translation old.en --translation new.en --reference test.en
    nmt evaluate -m runs/docs-pt-en --by length --json
    """,
)
@decoding_options("beam_size", "length_penalty")
@click.pass_obj
def evaluate(
    order: Sequence[str],
    decoding: DecodingOptions,
    hardware: Hardware,
    model: tuple[Path, ...] = option(
        (),
        "Run or bundle; repeatable. Default: as for nmt translate; without `source`, the newest "
        "run.",
        flags="-m",
    ),
    translation: tuple[Path, ...] = option(
        (), "File of translations to score, one line per sentence; repeatable."
    ),
    source: Path | None = option(None, "Source text, one line per sentence."),
    reference: tuple[Path, ...] = option((), "Reference translation, aligned; repeatable."),
    by: tuple[Literal["length", "domain"], ...] = option(
        (),
        "Also score parts of the text, by number of words or by `domains` (default: by test "
        "set); repeatable.",
    ),
    domains: Path | None = option(None, "File with a label for each line, for `by=domain`."),
    worst: PositiveInt | None = option(
        None, "Also print each system's N sentences with the lowest chrF++."
    ),
    lowercase: bool = option(False, "Ignore case, e.g. if references are in lower case."),
    language: str | None = option(
        None,
        "Target language, for BLEU's tokenizer. Default: the model's, or `reference`'s suffix.",
    ),
    as_json: bool = option(False, "Print one JSON object instead of tables.", flags="--json"),
) -> None:
    """Score translations with BLEU, chrF++ and TER.

    Systems are models and files of translations; the first is the baseline. Models translate
    --source; without --source and --reference, they translate the test sets of their run's recipe.

    Each score has a 95% interval from 1,000 bootstrap samples, and p, the p-value of the paired
    bootstrap test against the baseline. With a source, checks count the placeholders, tags, numbers
    and symbols that translations keep, and translations that are empty, repeating or copied.
    docs/evaluating.md describes all columns and the fields of --json.
    """
    if translation and "model" not in order:
        model = ()  # NMT_MODEL replaces the default, which is not needed here
    standard_output()
    if not reference and (domains or (source and (by or worst))):
        raise click.UsageError("--by, --domains and --worst need --reference")
    if translation and not (reference or source):
        raise click.UsageError("--translation needs --reference or --source")
    if reference and not source and (model or not translation):
        raise click.UsageError("--reference needs --source for a model, or a --translation instead")
    if reference and "domain" in by and not domains:
        raise click.UsageError("--by domain needs --domains")
    if domains and "domain" not in by:
        raise click.UsageError("--domains is for --by domain")
    has_text = bool(reference or source)
    if not model and not translation:
        model = (find_model(None) if has_text else find_run(None, "only a run names test sets"),)
    texts = [read_text(source, reference, domains)] if has_text else _test_sets(model, by)
    from nmt_cli.evaluate.evaluation import evaluate_candidates, tables

    systems = _candidates(order, model, translation, decoding, hardware)
    results = evaluate_candidates(systems, texts, by, worst or 0, lowercase, language)
    if as_json:
        names = [{"name": system.name, "path": str(system.path)} for system in systems]
        tree = {"systems": names, "texts": [asdict(result) for result in results]}
        show(json.dumps(tree, ensure_ascii=False))
        return
    for number, (columns, rows) in enumerate(tables(results)):
        if number:
            click.echo()
        say("\t".join(columns))  # on stderr, so that no program has to skip it
        for row in rows:
            show("\t".join(field.replace("\t", " ").replace("\r", " ") for field in row))


def _candidates(
    order: Sequence[str],
    models: Sequence[Path],
    translations: Sequence[Path],
    decoding: DecodingOptions,
    hardware: Hardware,
) -> "list[Candidate]":
    """Name all systems by their file names, or by their paths if these clash; open the models."""
    from nmt_cli.evaluate.evaluation import Candidate

    paths_by_option = {"model": iter(models), "translation": iter(translations)}
    if len(order) != len(models) + len(translations):  # one is a default or from a variable
        order = ["model"] * len(models) + ["translation"] * len(translations)
    systems = [(next(paths_by_option[name]), name == "model") for name in order]
    paths = [path for path, _ in systems]
    for path in paths:
        if paths.count(path) > 1:
            raise click.UsageError(f"{path} is given twice")
    names = [path.absolute().name for path in paths]
    # All models are opened before the first translates, so that a damaged one is found at once.
    opened = [open_model([path], hardware) if is_model else None for path, is_model in systems]
    return [
        Candidate(
            name if names.count(name) == 1 else str(path),
            path,
            model.translator(decoding) if model else None,
            model.languages[1] if model else "",
        )
        for path, model, name in zip(paths, opened, names, strict=True)
    ]


def _test_sets(models: Sequence[Path], by: Sequence[str]) -> list[EvaluationText]:
    from nmt_cli.data.corpus import read_test_sets
    from nmt_cli.training.run import Run

    for folder in map(find_model, models):
        if kind_of(folder) == "bundle":
            hint = "give `source` and `reference`, or name its run, as in -m runs/NAME"
            raise InputError(f"{folder}: a bundle names no test set", hint)
    texts = read_test_sets({folder: Run.open(folder).recipe.data for folder in models})
    if "domain" in by and len(texts) == 1:
        reason = f"the recipe of {models[0]} names only one test set, which is one domain"
        raise InputError(reason, "give `source`, `reference` and `domains`")
    return texts


@command(example="nmt inspect exports/docs-pt-en | grep ^score")
@click.argument("model", required=False, envvar=["NMT_MODEL"], type=PATH)
def inspect(
    model: Path | None,
    overrides: tuple[str, ...] = OVERRIDES,
    as_json: bool = option(False, "Print everything as one JSON object.", flags="--json"),
) -> None:
    """Describe a run, a bundle or a recipe.

    MODEL is by default that of nmt translate. Shows architecture, languages, parameters, sizes,
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
        record = describe(find_model(model))
        rows = _rows(record)
    if as_json:
        show(json.dumps(record, ensure_ascii=False))
        return
    if summary := record.get("summary_table"):
        show(summary)
    shown = list(rows)
    width = max(len(key) for key, _ in shown)
    for key, value in shown:
        show(f"{key:{width}}  {value}")


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
    show(json.dumps(results) if as_json else "\n".join(table(results)))


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
    for key in ("path", "kind", "name"):
        yield key, record[key]
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
        yield "graph", f"{name}  opset {graph['opset']}"
        for side in ("input", "output"):
            for tensor in graph[f"{side}s"]:
                shape = ", ".join(map(str, tensor["shape"]))
                yield side, f"{name}  {tensor['name']}  {tensor['dtype']}  [{shape}]"


def _bundle_rows(record: dict[str, Any]) -> Iterator[Row]:
    from nmt_cli.bundle.manifest import Verification

    for row in record["scores"]:
        value = f"{row['metric']} {row['value']:.2f}"
        yield "score", f"{value}  {row['set']}  {row['signature']}"
    outcome, *measured = convert(record["verification"], Verification).lines()
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


def _plain(value: Any) -> str:
    """Return a value as recipes write it."""
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


def _size(count: int) -> str:
    return f"{count:,} bytes" if count < 10_000 else f"{count / 1e6:,.2f} MB"
