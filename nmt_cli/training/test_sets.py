"""The test sets that recipes of runs name, to evaluate on."""

from collections.abc import Sequence
from pathlib import Path

from nmt_cli.data.corpus import read_corpus
from nmt_cli.errors import NmtError
from nmt_cli.evaluate.texts import EvaluationText
from nmt_cli.training.run import Run

_HINT = "give --source and --reference"


def read_test_sets(folders: Sequence[Path]) -> list[EvaluationText]:
    """Read the test sets of runs, which must be the same; each is a domain.

    Raises:
        NmtError: a recipe names no test sets or other ones, or one cannot be read or is empty.
    """
    first, *others = map(_test_sets, folders)
    for folder, other in zip(folders[1:], others, strict=True):
        pairs = [(each.source, each.references) for each in other]
        if pairs != [(each.source, each.references) for each in first]:
            raise NmtError(
                f"the recipes of {folders[0]} and {folder} name different test sets", _HINT
            )
    return first


def _test_sets(folder: Path) -> list[EvaluationText]:
    data = Run.open(folder).recipe.data
    if not data.test:
        raise NmtError(f"the recipe of {folder} names no test set", _HINT)
    corpora = [read_corpus(each, data) for each in data.test]
    for corpus in corpora:
        if not len(corpus):
            raise NmtError(f"nothing to evaluate: {corpus.name} is empty", "see data.test")
    return [
        EvaluationText(each.name, each.source, [each.target], [each.name] * len(each))
        for each in corpora
    ]
