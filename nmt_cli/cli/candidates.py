"""What nmt evaluate scores: systems, the texts to score them on, and their translations."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from nmt_cli.cli.options import Hardware, find_model, open_model, say
from nmt_cli.errors import NmtError
from nmt_cli.evaluate.texts import EvaluationText
from nmt_cli.search.options import DecodingOptions

_ORDER = "nmt_cli.cli.candidates.order"


class InOrder(click.Command):
    """Remembers how --model and --translation took turns: the first of all is the baseline."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """See click.Command."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        ctx.meta[_ORDER] = [each.name for each in order]
        return super().parse_args(ctx, args)


@dataclass(frozen=True)
class Candidate:
    """A run or bundle to be scored, or a file of translations."""

    name: str
    path: Path
    is_model: bool


def candidates(
    context: click.Context, models: Sequence[Path], translations: Sequence[Path]
) -> list[Candidate]:
    """All as they were given, by their file names; by their paths where those clash.

    Args:
        context: of an InOrder command with options "model" and "translations".
        models: runs and bundles.
        translations: files.

    Raises:
        NmtError: one of the models is none.
        click.UsageError: one is given twice.
    """
    from nmt_cli.models import kind_of

    paths = [*models, *translations]
    for path in paths:
        if paths.count(path) > 1:
            raise click.UsageError(f"{path} is given twice")
    for path in models:
        kind_of(find_model(path))
    names = [path.name or path.absolute().name for path in paths]
    found = [
        Candidate(name if names.count(name) == 1 else str(path), path, place < len(models))
        for place, (path, name) in enumerate(zip(paths, names, strict=True))
    ]
    typed = [each for each in context.meta[_ORDER] if each in ("model", "translations")]
    if len(typed) != len(found):  # a variable or the default model stands for what was not typed
        return found
    kinds = {"model": iter(found), "translations": iter(found[len(models) :])}
    return [next(kinds[each]) for each in typed]


def recipe_texts(folders: Sequence[Path]) -> list[EvaluationText]:
    """The test sets that the recipes of all runs name, each a domain.

    Raises:
        NmtError: one is a bundle, names none or others, or a test set cannot be read or is empty.
    """
    texts = _recipe_tests(folders[0])
    for folder in folders[1:]:
        theirs = [(each.source, each.references) for each in _recipe_tests(folder)]
        if theirs != [(each.source, each.references) for each in texts]:
            raise NmtError(
                f"the recipes of {folders[0]} and {folder} name different test sets",
                "give --source and --reference",
            )
    return texts


def _recipe_tests(folder: Path) -> list[EvaluationText]:
    if not (folder / "run.json").exists():
        raise NmtError(f"{folder}: a bundle names no test set", "give --source and --reference")
    from nmt_cli.data.corpus import read_corpus
    from nmt_cli.training.run import Run

    data = Run.open(folder).recipe.data
    if not data.test:
        raise NmtError(f"the recipe of {folder} names no test set", "give --source and --reference")
    corpora = [read_corpus(each, data) for each in data.test]
    for corpus in corpora:
        if not len(corpus):
            raise NmtError(f"nothing to evaluate: {corpus.name} is empty", "see data.test")
    return [
        EvaluationText(each.name, each.source, [each.target], [each.name] * len(each))
        for each in corpora
    ]


def translated(
    models: Sequence[Candidate],
    texts: Sequence[EvaluationText],
    decoding: DecodingOptions,
    hardware: Hardware,
) -> dict[str, list[list[str]]]:
    """Each model's translations of each text.

    Raises:
        NmtError: a model is damaged, or cannot run as it was asked to.
    """
    # All are loaded before the first translates, so that a damaged one is found at once.
    sentences = sum(map(len, texts))
    opened = [open_model([each.path], hardware) for each in models]
    translators = [each.translator(decoding, sentences) for each in opened]
    made: dict[str, list[list[str]]] = {each.name: [] for each in models}
    for model, translator in zip(models, translators, strict=True):
        for text in texts:
            say(f"translating {len(text):,} lines of {text.name} with {model.path}")
            lines = [each.text for each in translator.translate(text.source or [])]
            made[model.name].append(lines)
    return made
