"""Settings: types, ranges, choices and unknown keys, and the errors about them."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from msgspec import Meta

from nmt_cli.errors import OptionError
from nmt_cli.options import (
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    check_settings,
    checked,
    option,
    settings_from,
)

Size = Annotated[int, Meta(ge=1, le=10_000)]
Norm = Literal["pre", "post"]


@dataclass(frozen=True)
class Table:
    heads: PositiveInt = option(8, "Attention heads.")
    rate: PositiveFloat | None = option(None, "Rate.")
    norm: Norm = option("pre", "Norm.")
    corpora: tuple[str, ...] = option((), "Corpora.")
    weights: dict[str, PositiveFloat] = option({}, "Weights.")
    folder: Path | None = option(None, "Folder.")
    kind: str = field(default="table", init=False)


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (1, PositiveInt, 1),
        (10**30, PositiveInt, 10**30),
        (2, float, 2.0),
        (0, NonNegativeFloat, 0.0),
        (None, Size | None, None),
        ("post", Norm, "post"),
        (["a"], tuple[str, ...], ("a",)),
        ({"a": 2}, dict[str, PositiveFloat], {"a": 2.0}),
        (False, bool, False),
    ],
)
def test_a_value_is_stored_as_its_type(value: Any, kind: Any, expected: Any) -> None:
    result = checked(value, kind, "key")
    assert (result, type(result)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("value", "kind", "problem"),
    [
        (0, PositiveInt, "at least 1, not 0"),
        (0, PositiveInt | None, "at least 1, not 0"),
        (10_001, Size, "between 1 and 10,000, not 10001"),
        (4.0, Size, "a whole number, not 4.0"),
        (True, Size, "a whole number, not True"),
        ("many", Size, "a whole number, not 'many'"),
        (0.0, PositiveFloat, "above 0, not 0.0"),
        (1.5, Annotated[float, Meta(gt=0, le=1)], "above 0 and at most 1, not 1.5"),
        (float("inf"), PositiveFloat, "a finite number, not inf"),
        (float("nan"), float, "a finite number, not nan"),
        (1, bool, "true or false, not 1"),
        (1, str, "a string, not 1"),
        ("zzz", Norm, "one of pre, post, not 'zzz'"),
        ("prex", Norm, "one of pre, post, not 'prex'; did you mean 'pre'?"),
        ("a", tuple[str, ...], "a list of strings, not 'a'"),
        ([1.5], tuple[int, ...], "a list of whole numbers, not [1.5]"),
        ({"a": 0}, dict[str, PositiveFloat], "a table of numbers above 0, not {'a': 0}"),
        ({"a": 1}, dict[str, str], "a table of strings, not {'a': 1}"),
    ],
)
def test_errors_give_name_range_and_value(value: Any, kind: Any, problem: str) -> None:
    with pytest.raises(OptionError) as error:
        checked(value, kind, "key")
    assert str(error.value) == f"key must be {problem}"


def test_a_table_sets_what_it_has() -> None:
    table = {"heads": 4, "corpora": "a", "weights": {"a": 2}}
    assert settings_from(Table, table, "file") == Table(heads=4, corpora=("a",), weights={"a": 2.0})
    assert Table().weights is not Table().weights


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"head": 4}, "file: unknown key 'model.head'; did you mean 'model.heads'?"),
        ({"zzz": 4}, "file: unknown key 'model.zzz'; known keys: corpora, folder, heads, norm, "),
        ({"kind": "other"}, "file: unknown key 'model.kind'"),
        ({"heads": 0}, "file: model.heads must be at least 1, not 0"),
        ({"corpora": 1}, "file: model.corpora must be a list of strings, not 1"),
    ],
)
def test_errors_name_file_and_key(table: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as error:
        settings_from(Table, table, "file", "model.")
    assert str(error.value).startswith(message)


def test_settings_made_in_python_are_checked() -> None:
    check_settings(Table(heads=np.int64(2), rate=np.float32(0.5), folder=Path("a")))  # type: ignore[arg-type]
    for settings in (Table(heads=0), Table(rate=float("inf")), Table(norm="prex")):  # type: ignore[arg-type]
        with pytest.raises(OptionError, match="^`(heads|rate|norm)` must be "):
            check_settings(settings)
