"""Plain text, tables and JSON: which part is translated and which stays unchanged."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.errors import InputError
from nmt_cli.jobs.options import TranslateOptions
from nmt_cli.jobs.records import Lines, Record, form_of
from nmt_cli.search.lines import Line
from nmt_cli.text.lines import is_blank

Read = Callable[[str, str], Record | None]


def reader(**given: Any) -> Read:
    form = form_of(TranslateOptions(**given))
    assert isinstance(form, Lines)
    return form.read


def table(field: str) -> Read:
    return reader(input_format="tsv", field=field)


def json_lines(field: str, on_error: str = "strict") -> Read:
    return reader(input_format="jsonl", field=field, errors=on_error)


def plain(text: str, where: str) -> Record:
    record = reader()(text, where)
    assert record is not None
    return record


def test_plain_lines_are_translated_whole() -> None:
    record = plain("a\tb", "line 1")
    assert record.line == Line("a\tb")
    assert record.as_line("x\ty", {}) == "x\ty"
    # With extra columns, a tab in the translation would add a column.
    assert (
        record.as_line("x\ty", {"score": -1.5, "alignment": ["0-1", "1-0"]})
        == "x y\t-1.500000\t0-1 1-0"
    )


def test_tab_separated_phrases_are_constraints() -> None:
    read = reader(constraints=True)
    assert read("a b\tone two\t\t three", "").line == Line("a b", ("one two", " three"))
    assert read("a b", "").line == Line("a b")
    assert read("", "").line == Line("")


cell = st.text(st.characters(exclude_characters="\t\n\r", exclude_categories=["Cs"]), max_size=6)


@given(st.lists(cell, min_size=1, max_size=5), st.data(), cell)
def test_other_columns_are_unchanged(cells: list[str], data: st.DataObject, text: str) -> None:
    column = data.draw(st.integers(0, len(cells) - 1))
    raw = "\t".join(cells)
    record = table(str(column + 1))(raw, "")
    if is_blank(raw):
        assert record is None
        return
    assert record is not None
    assert record.line.text == cells[column]
    expected = [*cells]
    expected[column] = text
    assert record.as_line(text, {}) == "\t".join(expected)


def test_a_column_by_name() -> None:
    read = table("text")
    assert read("id\ttext", "line 1") is None
    record = read("7\tolá", "line 2")
    assert record is not None
    assert record.as_line("hello", {"score": -2.0}) == "7\thello\t-2.000000"


def test_a_missing_column() -> None:
    with pytest.raises(
        InputError, match=r"^t\.tsv, line 3: has 2 columns; `field=4` does not exist"
    ):
        table("4")("a\tb", "t.tsv, line 3")
    with pytest.raises(
        InputError, match="line 1: no column is named 'body'; the first line names id, text"
    ):
        table("body")("id\ttext", "line 1")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ('{"text": "a", "n": 1.00, "b": 12345678901234567890}',
         '{"text": "X", "n": 1.00, "b": 12345678901234567890}'),
        ('  {"a":{"text":"no"} ,"text":"sim","z":[ "text" ]}',
         '  {"a":{"text":"no"} ,"text":"X","z":[ "text" ]}'),
        ('{"text": "one", "text": "two"}', '{"text": "one", "text": "X"}'),
        (r'{"\u0074ext": "sim"}', r'{"\u0074ext": "X"}'),
        ('{"e\\"}": "x", "text": ""}', '{"e\\"}": "x", "text": "X"}'),
    ],
)  # fmt: skip
def test_other_fields_stay_byte_identical(raw: str, expected: str) -> None:
    record = json_lines("text")(raw, "line 1")
    assert record is not None
    assert record.as_line("X", {}) == expected


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.text(max_size=4), values, max_size=4), st.text(max_size=5), st.booleans())
def test_any_object(fields: dict[str, Any], text: str, ascii_only: bool) -> None:
    raw = json.dumps({**fields, "text": "olá"}, ensure_ascii=ascii_only)
    record = json_lines("text")(raw, "line 1")
    assert record is not None
    assert record.line.text == "olá"
    assert json.loads(record.as_line(text, {})) == {**fields, "text": text}
    if "score" not in fields:
        assert json.loads(record.as_line(text, {"score": -1.0})) == {
            **fields,
            "text": text,
            "score": -1.0,
        }


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ("[1]", "line 2: is not a JSON object"),
        ("{", "line 2: is not JSON"),
        ("[" * 100_000, "line 2: is not JSON"),
        ('{"a": "x", "b": 1}', "line 2: has no field 'text'; it has a, b; choose one with `field`"),
        ('{"text": 1}', "line 2: the field 'text' is not text"),
        ('{"text": null}', "line 2: the field 'text' is not text"),
        (r'{"text": "\ud800"}', "line 2: the field 'text' has half a surrogate pair"),
    ],
)
def test_malformed_records(raw: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        json_lines("text")(raw, "line 2")


def test_unpaired_surrogates_and_line_breaks() -> None:
    raw = r'{"text": "a\ud800b\nc"}'
    for on_error, expected in (("replace", "a\ufffdb\nc"), ("skip-line", "")):
        record = json_lines("text", on_error)(raw, "line 1")
        assert record is not None
        assert record.line.text == expected
    paired = json_lines("text")(r'{"text": "\ud83d\ude42"}', "line 1")
    assert paired is not None
    assert paired.line.text == "🙂"


def test_json_fields_that_would_be_overwritten() -> None:
    record = json_lines("text")('{"text": "a", "score": 3}', "line 9")
    assert record is not None
    with pytest.raises(InputError, match="line 9: already has a field 'score'"):
        record.as_line("b", {"score": 1.0})
    with pytest.raises(InputError, match="line 9: already has a field 'score'"):
        record.as_json({"translation": "b", "score": 1.0})


def test_extra_fields_follow_the_unchanged_record() -> None:
    record = json_lines("text")('{"text":"olá\\u0021", "n" : 1.0 }', "")
    assert record is not None
    extended = record.as_json({"translation": "hi", "score": -1.5})
    assert extended == '{"text":"olá\\u0021", "n" : 1.0 , "translation": "hi", "score": -1.5}'
    line = plain("olá", "").as_json({"translation": "hi"})
    assert line == '{"source": "olá", "translation": "hi"}'


def test_blank_records_pass_unchanged() -> None:
    assert json_lines("text")("  ", "") is None
    assert table("2")("", "") is None


@pytest.mark.parametrize("spelled", ["", r"\u2028", " ", r"\n\u00ad", "\u3000"])
def test_blank_fields_stay_as_they_are_spelled(spelled: str) -> None:
    raw = f'{{"id": 1, "text": "{spelled}"}}'
    record = json_lines("text")(raw, "line 1")
    assert record is not None
    assert record.as_line(record.line.text, {}) == raw
