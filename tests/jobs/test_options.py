"""Options of translation jobs that contradict each other or need others."""

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
    "given",
    [CSV, {**CSV, "errors": "column", "files": ()}, {**PARQUET, "output": Path("o")}],
)
def test_records_without_an_engine(given: dict[str, object]) -> None:
    TranslateOptions(**{"files": (Path("x"),), **given}).check()  # type: ignore[arg-type]
