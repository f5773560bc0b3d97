"""Options of translation jobs that contradict each other or need others."""

from dataclasses import replace
from pathlib import Path

import pytest

from nmt_cli.errors import OptionError
from nmt_cli.jobs.options import TranslateOptions
from nmt_cli.search.options import DecodingOptions

LOCAL: dict[str, object] = {"engine": None, "output": None}
CSV = {"input_format": "csv", "field": "x"}
PARQUET = {"input_format": "parquet", "field": "x"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"shard": "1/2"}, "`engine` and `shard` cannot be combined"),
        ({"line_buffered": True}, "`engine` and `line_buffered` cannot be combined"),
        (
            {"interactive": True, "files": (), "output": None},
            "`engine` and `interactive` cannot be combined",
        ),
        ({"json": True}, "`engine` and `json` cannot be combined"),
        ({**LOCAL, "output": Path("a.tmx"), "json": True}, "output to .tmx and `json` cannot be"),
        ({"format": "srt"}, "`engine` and `format` cannot be combined"),
        ({"files": ()}, "`engine` and standard input cannot be combined"),
        ({"output": None}, "`engine` needs `output`"),
        ({"engine": None, "address": "auto"}, "`address` needs `engine`"),
        ({**LOCAL, "errors": "column", "format": "srt"}, "`format` and `errors=column` cannot"),
        ({**LOCAL, "errors": "column", "trace": True}, "`trace` and `errors=column` cannot"),
        ({**LOCAL, "input_format": "csv"}, "`input_format` needs `field`"),
        ({**LOCAL, "input_format": "csv", "field": "0"}, "`field=0`: columns are counted from 1"),
        ({**LOCAL, **CSV, "json": True}, "`input_format=csv` and `json` cannot be combined"),
        ({**LOCAL, **PARQUET}, "`input_format=parquet` needs `output`"),
        ({**LOCAL, **PARQUET, "shard": "1/2"}, "`input_format=parquet` and `shard` cannot be"),
        ({**LOCAL, **PARQUET, "files": ()}, "`input_format=parquet` and standard input cannot"),
        ({"input_format": "parquet"}, "`input_format` needs `field`"),
        (
            {**PARQUET, "decoding": DecodingOptions(n_best=2)},
            "`input_format=parquet` and `n_best` cannot be combined",
        ),
        ({"errors": "none"}, "`errors` must be one of strict, replace, skip-line, column"),
        ({**LOCAL, "input_format": "xls", "field": "x"}, "`input_format` must be one of tsv, "),
    ],
)
def test_options_that_contradict_each_other(given: dict[str, object], message: str) -> None:
    options = {"engine": "ray", "output": Path("o"), "files": (Path("x"),), **given}
    with pytest.raises(OptionError, match=message):
        TranslateOptions(**options).check()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("names", "given", "implied"),
    [
        ("a.csv", {"field": "x"}, "csv"),
        ("a.TSV b.tsv.zst", {"field": "x"}, "tsv"),
        ("a.jsonl.gz", {"field": "x", "json": True}, "jsonl"),
        ("a.parquet", {"field": "x", "output": Path("o")}, "parquet"),
        ("a.csv b.txt", {"field": "x", "input_format": "tsv"}, "tsv"),
        ("", {}, None),
        ("- a.txt b.md", {}, None),
        ("a.tsv", {"constraints": True}, None),
        ("a.tsv b.csv", {"format": "paragraphs"}, None),
    ],
)
def test_the_names_of_files_imply_the_input_format(
    names: str, given: dict[str, object], implied: str | None
) -> None:
    options = TranslateOptions(files=tuple(map(Path, names.split())), **given)  # type: ignore[arg-type]
    assert options.resolved() == replace(options, input_format=implied)


def test_the_files_in_a_folder_imply_the_input_format(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.csv").touch()
    options = TranslateOptions(files=(tmp_path,), output=Path("o"), field="x")
    assert options.resolved().input_format == "csv"
    (tmp_path / "b.txt").touch()
    with pytest.raises(OptionError, match=r"b\.txt and .*a\.csv have different formats; use one"):
        options.resolved()


LINES_INSTEAD = "to translate it as lines of text, use < a.csv"


@pytest.mark.parametrize(
    ("names", "given", "message"),
    [
        ("a.csv", {}, f"`input_format` needs `field`; a.csv implies csv; {LINES_INSTEAD}"),
        ("a.csv", {"field": "x", "json": True}, f"`json` cannot be combined; .*{LINES_INSTEAD}"),
        ("a.csv", {"trace": True}, f"`trace` and `input_format` cannot .*{LINES_INSTEAD}"),
        ("a.csv", {"output": Path("o.tmx")}, f"and `input_format` cannot .*{LINES_INSTEAD}"),
        ("a.csv", {"field": "0"}, "`field=0`: columns are counted from 1$"),
        ("a.csv", {"field": "x", "resume": True}, "`resume` needs `output`$"),
        ("a.csv", {"input_format": "csv"}, "`input_format` needs `field`$"),
        ("a.txt", {"field": "x"}, "`field` needs `input_format`$"),
        ("a.parquet", {"field": "x"}, "`input_format=parquet` needs `output`; a.parquet implies"),
        ("a.csv b.txt", {"field": "x"}, "a.csv and b.txt have different formats; use one call"),
        ("- b.tsv", {"field": "x"}, "standard input and b.tsv have different formats; "),
    ],
)
def test_an_implied_input_format_that_does_not_fit(
    names: str, given: dict[str, object], message: str
) -> None:
    options = TranslateOptions(files=tuple(map(Path, names.split())), **given)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match=message):
        options.resolved()


@pytest.mark.parametrize(
    "given",
    [CSV, {**CSV, "errors": "column", "files": ()}, {**PARQUET, "output": Path("o")}],
)
def test_records_without_an_engine(given: dict[str, object]) -> None:
    TranslateOptions(**{"files": (Path("x"),), **given}).check()  # type: ignore[arg-type]
