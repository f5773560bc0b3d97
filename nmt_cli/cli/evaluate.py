"""nmt evaluate."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
from click.core import ParameterSource

from nmt_cli.cli.lookup import find_model, find_run, open_model
from nmt_cli.cli.options import Command, Hardware, command, decoding_options, say
from nmt_cli.errors import InputError
from nmt_cli.files import standard_output
from nmt_cli.options import PositiveInt, option
from nmt_cli.search.options import DecodingOptions

if TYPE_CHECKING:
    from nmt_cli.evaluate.evaluation import Candidate
    from nmt_cli.evaluate.texts import EvaluationText

_ORDER = "nmt_cli.cli.evaluate.order"


class _InOrder(Command):
    """Remembers the order of --model and --translation: the first of all is the baseline."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments twice: click loses the order of different options."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        names = [parameter.name for parameter in order]
        ctx.meta[_ORDER] = [name for name in names if name in ("model", "translation")]
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
@click.pass_context
def evaluate(
    context: click.Context,
    decoding: DecodingOptions,
    hardware: Hardware,
    model: tuple[Path, ...] = option(
        (),
        "Run or bundle; repeatable. Default: the newest bundle or run; without `source`, the "
        "newest run.",
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
    if context.get_parameter_source("model") is not ParameterSource.COMMANDLINE and translation:
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
    from nmt_cli.evaluate.texts import read_text

    has_text = bool(reference or source)
    if not model and not translation:
        model = (find_model(None) if has_text else find_run(None, "only a run names test sets"),)
    texts = [read_text(source, reference, domains)] if has_text else _test_sets(model, by)
    from nmt_cli.evaluate.evaluation import evaluate_candidates, tables

    order = context.meta[_ORDER]
    systems = _candidates(order, model, translation, decoding, hardware)
    results = evaluate_candidates(systems, texts, by, worst or 0, lowercase)
    if as_json:
        names = [{"name": system.name, "path": str(system.path)} for system in systems]
        tree = {"systems": names, "texts": [asdict(result) for result in results]}
        click.echo(json.dumps(tree, ensure_ascii=False))
        return
    for number, (columns, rows) in enumerate(tables(results)):
        if number:
            click.echo()
        say("\t".join(columns))  # on stderr, so that no program has to skip it
        for row in rows:
            click.echo("\t".join(field.replace("\t", " ").replace("\r", " ") for field in row))


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
    return [
        Candidate(
            name if names.count(name) == 1 else str(path),
            path,
            open_model([path], hardware).translator(decoding) if is_model else None,
        )
        for (path, is_model), name in zip(systems, names, strict=True)
    ]


def _test_sets(models: Sequence[Path], by: Sequence[str]) -> "list[EvaluationText]":
    from nmt_cli.data.corpus import read_test_sets
    from nmt_cli.models import kind_of
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
