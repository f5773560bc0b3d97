"""nmt evaluate."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from nmt_cli.cli.options import (
    PATH,
    Hardware,
    decoding_options,
    find_model,
    find_run,
    open_model,
    say,
)
from nmt_cli.errors import NmtError
from nmt_cli.evaluate.texts import EvaluationText, read_text
from nmt_cli.files import standard_output
from nmt_cli.search.options import DecodingOptions

if TYPE_CHECKING:
    from nmt_cli.evaluate.evaluation import Candidate

_ORDER = "nmt_cli.cli.evaluate.order"


class _InOrder(click.Command):
    """Remembers the order of --model and --translation: the first of all is the baseline."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        ctx.meta[_ORDER] = [each.name for each in order if each.name in ("model", "translations")]
        return super().parse_args(ctx, args)


@click.command(
    cls=_InOrder,
    epilog="""\b
    Example: nmt evaluate -m exports/mine --source test.pt --reference test.en

    \b
    nmt evaluate --translation old.en --translation new.en --reference test.en
    nmt evaluate -m runs/docs-pt-en --by length --json
    """,
)
@click.option(
    "-m",
    "--model",
    multiple=True,
    type=PATH,
    help="Run or bundle; repeatable. Default without --translation: the newest under exports/, "
    "else under runs/; without --source, the newest run.",
)
@click.option(
    "--translation",
    "translations",
    multiple=True,
    type=PATH,
    help="File of translations to score, one line per sentence; repeatable.",
)
@click.option("--source", type=PATH, help="Source text, one line per sentence.")
@click.option(
    "--reference",
    "references",
    multiple=True,
    type=PATH,
    help="Reference translation, aligned; repeatable.",
)
@click.option(
    "--by",
    multiple=True,
    type=click.Choice(("length", "domain")),
    help="Also score parts of the text: by number of words (of the source, else of the first "
    "reference), or by --domains, else by test set; repeatable.",
)
@click.option("--domains", type=PATH, help="File with a label for each line, for --by domain.")
@click.option(
    "--worst",
    type=click.IntRange(1),
    metavar="N",
    help="Also print each system's N sentences with the lowest chrF++.",
)
@click.option(
    "--lowercase", is_flag=True, help="Ignore case, e.g. where references are in lower case."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
@decoding_options("beam_size", "length_penalty")
@click.pass_context
def evaluate(
    context: click.Context,
    model: tuple[Path, ...],
    translations: tuple[Path, ...],
    source: Path | None,
    references: tuple[Path, ...],
    by: tuple[str, ...],
    domains: Path | None,
    worst: int | None,
    lowercase: bool,
    as_json: bool,
    decoding: DecodingOptions,
    hardware: Hardware,
) -> None:
    """Score one or several systems with BLEU, chrF++ and TER, with sacreBLEU signatures.

    Systems are models and files of translations. Models translate --source; without --source
    and --reference, they translate the test sets of their run's recipe.

    Each score has a 95% interval from 1,000 bootstrap samples, the same each time. The first
    system is the baseline; p is the p-value of the paired bootstrap test against it. For TER,
    lower is better.

    With a source, checks follow: of the source's placeholders ("printf" for %s, "braces" for
    {name}, "variable" for $HOME), code spans, tags, addresses, numbers, symbols and emoji, how
    many the translations keep; and how many translations are empty, repeating, copied, broken
    (with U+FFFD), too short or too long (by three times). Both are also counted in the first
    reference. Without a reference, there are only checks.

    Columns are separated by tabs and named on stderr; a blank line separates tables:

    \b
    scores   text, metric, score, low, high, p ("-" for the first), system, signature
    checks   text, check, count, of, reference, system
    --by     text, length or domain, bucket, sentences, BLEU, chrF++, TER, system
    --worst  text, system, line, chrF++, source/reference/translation, sentence

    \b
    --json prints the same as one object; what does not exist is null:
    systems  [{name, path}], the baseline first
    texts    [{text, sentences, references, results, checks, buckets, worst}]
    results  [{system, metric, score, low, high, p, signature}]
    checks   [{system, name, count, total, reference}]
    buckets  {"length" or "domain": [{label, sentences, scores: {system: {metric: score}}}]}
    worst    [{system, line, score, source, references, translation}]
    """
    if context.get_parameter_source("model") is not ParameterSource.COMMANDLINE and translations:
        model = ()  # NMT_MODEL replaces the default, which is not needed here
    standard_output()
    if not references and (domains or (source and (by or worst))):
        raise click.UsageError("--by, --domains and --worst need --reference")
    if translations and not (references or source):
        raise click.UsageError("--translation needs --reference or --source")
    if references and not source and (model or not translations):
        raise click.UsageError("--reference needs --source for a model, or a --translation instead")
    if references and "domain" in by and not domains:
        raise click.UsageError("--by domain needs --domains")
    if domains and "domain" not in by:
        raise click.UsageError("--domains is for --by domain")
    has_text = bool(references or source)
    if not model and not translations:
        model = (find_model(None) if has_text else find_run(None, "only a run names test sets"),)
    texts = [read_text(source, references, domains)] if has_text else _test_sets(model, by)
    from nmt_cli.evaluate.evaluation import evaluate_candidates, tables

    order = context.meta[_ORDER]
    systems = _candidates(order, model, translations, sum(map(len, texts)), decoding, hardware)
    found = evaluate_candidates(systems, texts, by, worst or 0, say, lowercase)
    if as_json:
        names = [{"name": each.name, "path": str(each.path)} for each in systems]
        tree = {"systems": names, "texts": [asdict(each) for each in found]}
        click.echo(json.dumps(tree, ensure_ascii=False))
        return
    for place, (columns, rows) in enumerate(tables(found)):
        if place:
            click.echo()
        say("\t".join(columns))  # on stderr, so that no program has to skip it
        for row in rows:
            click.echo("\t".join(field.replace("\t", " ").replace("\r", " ") for field in row))


def _candidates(
    order: Sequence[str],
    models: Sequence[Path],
    translations: Sequence[Path],
    sentences: int,
    decoding: DecodingOptions,
    hardware: Hardware,
) -> "list[Candidate]":
    """Name all systems by their file names, or by their paths if these clash; open the models."""
    from nmt_cli.evaluate.evaluation import Candidate

    kinds = {"model": iter(models), "translations": iter(translations)}
    if len(order) != len(models) + len(translations):  # one is a default or from a variable
        order = ["model"] * len(models) + ["translations"] * len(translations)
    systems = [(next(kinds[kind]), kind == "model") for kind in order]
    paths = [path for path, _ in systems]
    for path in paths:
        if paths.count(path) > 1:
            raise click.UsageError(f"{path} is given twice")
    names = [path.absolute().name for path in paths]
    # All models are opened before the first translates, so that a damaged one is found at once.
    return [
        Candidate(
            name if names.count(name) == 1 else str(path),
            path,
            open_model([path], hardware).translator(decoding, sentences) if is_model else None,
        )
        for (path, is_model), name in zip(systems, names, strict=True)
    ]


def _test_sets(models: Sequence[Path], by: Sequence[str]) -> list[EvaluationText]:
    from nmt_cli.data.corpus import read_test_sets
    from nmt_cli.models import kind_of
    from nmt_cli.training.run import Run

    for folder in map(find_model, models):
        if kind_of(folder) == "bundle":
            hint = "give --source and --reference, or name its run, as in -m runs/NAME"
            raise NmtError(f"{folder}: a bundle names no test set", hint)
    texts = read_test_sets({folder: Run.open(folder).recipe.data for folder in models})
    if "domain" in by and len(texts) == 1:
        reason = f"the recipe of {models[0]} names only one test set, which is one domain"
        raise NmtError(reason, "give --source, --reference and --domains")
    return texts
