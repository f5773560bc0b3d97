"""YAML of applications: only scalars that are text change, each in its own style."""

from contextlib import suppress
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.errors import InputError
from nmt_cli.formats.yaml import translate_yaml
from tests.formats.models import by_text, hostile, unchanged, upper

BEFORE = """\
# comment: stays
en-US:   # the language
  title:  Hello world   # after
  single: 'It''s %{name}'
  double: "Say \\"hi\\" caf\\u00e9"
  anchor: &a  Some words
  alias: *a
  tagged: !!str Text here
  custom: !ruby/sym word
  number: 12
  yes: yes
  no_text: ~
  date: 2024-01-02
  "quoted key": value
  list:
    - one two
    - - inner
      - {flow: in flow, other: [a b, 'c d']}
  literal: |
    First line
      indented line

    Last *line*

  folded: >-
    These words are
    folded together.

    A new paragraph.
  keep: |+
    kept end

  digit: |2
      two more
  ? complex key
  : its value
  multi: plain over
    two lines
  code: btn-primary
  formats:
    default: "%d/%m/%Y"
    long: "%B %d, %Y"
---
- second document
...
"""
AFTER = """\
# comment: stays
en-US:   # the language
  title:  HELLO WORLD   # after
  single: 'IT''S %{name}'
  double: "SAY \\"HI\\" CAF\\xC9"
  anchor: &a  SOME WORDS
  alias: *a
  tagged: !!str TEXT HERE
  custom: !ruby/sym word
  number: 12
  yes: yes
  no_text: ~
  date: 2024-01-02
  "quoted key": VALUE
  list:
    - ONE TWO
    - - INNER
      - {flow: IN FLOW, other: [A B, 'C D']}
  literal: |
    FIRST LINE
      INDENTED LINE

    LAST *LINE*

  folded: >-
    THESE WORDS ARE
    FOLDED TOGETHER.

    A NEW PARAGRAPH.
  keep: |+
    KEPT END

  digit: |2
      TWO MORE
  ? complex key
  : ITS VALUE
  multi: PLAIN OVER TWO LINES
  code: btn-primary
  formats:
    default: "%d/%m/%Y"
    long: "%B %d, %Y"
---
- SECOND DOCUMENT
...
"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_only_texts_change(end: str) -> None:
    text = BEFORE.replace("\n", end)
    assert translate_yaml(text, "a.yml", unchanged) == text
    new = translate_yaml(text, "a.yml", upper)
    assert new == AFTER.replace("\n", end)


@pytest.mark.parametrize(
    ("source", "answer", "result"),
    [
        ("k: word", "a: b", "k: 'a: b'"),
        ("k: word", "a #b", "k: 'a #b'"),
        ("k: word", "no", "k: 'no'"),
        ("k: word", "12", "k: '12'"),
        ("k: word", "- x", "k: '- x'"),
        ("k: word", "*x", "k: '*x'"),
        ("k: word", "é, [x]", "k: é, [x]"),
        ("k: [word, two]", "a, b", "k: ['a, b', 'a, b']"),
        ("{k: word}", "a}", "{k: 'a}'}"),
        ("k: 'word'", "d'água", "k: 'd''água'"),
        ('k: "word"', 'a "b" \\', 'k: "a \\"b\\" \\\\"'),
        ("k: &x word", "a: b", "k: &x 'a: b'"),
        ("- |\n  word\n- b 2", "a: b #c", "- |\n  a: b #c\n- 'a: b #c'"),
        ("k: |-\n  word\nl: x1\n", "# new", "k: |-\n  # new\nl: x1\n"),
        (
            "k: >\n  word word\n\n  word\n# c",
            "a b c d e f",
            "k: >\n  a b c d e\n  f\n\n  a b c d e\n  f\n# c",
        ),
    ],
)
def test_styles(source: str, answer: str, result: str) -> None:
    new = translate_yaml(source, "a", by_text(lambda text: answer))
    assert new == result
    yaml.safe_load(new)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: b\nc: [d\ne: f\n", "a.yml, line 3: not the syntax of YAML"),
        ("a: b\n\tc: d\n", "a.yml, line 2: not the syntax of YAML"),
        ("a: 'b\n", "a.yml, line .: not the syntax of YAML"),
        ("a: \x01", "a.yml.*: not the syntax of YAML"),
    ],
)
def test_malformed_files(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        translate_yaml(text, "a.yml", upper)


STRINGS = st.text(max_size=10) | st.sampled_from(
    ["a: b", "- x", "#no", "{n, plural, one {# x} other {# y}}", " padded ", "two\nlines\n", "it's",
     "line\n\n  more\nend", "true", "12", "\n", "x\n\n\n", "50% of {{x}}", "&Save", "long " * 30]
)  # fmt: skip
VALUES = st.recursive(
    STRINGS | st.integers() | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(STRINGS, inner, max_size=3),
    max_leaves=8,
)


@given(
    VALUES,
    st.integers(0, 10**6),
    st.sampled_from([None, "'", '"', "|", ">"]),
    st.booleans(),
    st.sampled_from([True, False, None]),
)
def test_any_document_and_any_model(
    value: Any, seed: int, style: str | None, ascii_only: bool, flow: bool | None
) -> None:
    text = yaml.safe_dump(
        value, default_style=style, allow_unicode=not ascii_only, default_flow_style=flow
    )
    value = yaml.safe_load(text)  # which normalizes line separators
    assert translate_yaml(text, "a", unchanged) == text
    new = translate_yaml(text, "a", hostile(seed))
    assert shape(yaml.safe_load(new)) == shape(value), new
    assert shape(yaml.safe_load(translate_yaml(text, "a", upper)), str) == shape(value, str)


def shape(value: Any, text: Any = type) -> Any:
    """Return what must stay: keys, and values that are not strings."""
    if isinstance(value, dict):
        return {key: shape(inner, text) for key, inner in value.items()}
    if isinstance(value, list):
        return [shape(inner, text) for inner in value]
    return type(value) if text is type else str(value).upper()


def test_large_files_are_fast() -> None:
    text = "".join(f"key{number}: Message number {number}\n" for number in range(3_000))
    assert "MESSAGE" in translate_yaml(text, "a", upper)
    deep = "[" * 5_000 + "]" * 5_000
    with suppress(InputError):  # libyaml may have a limit
        assert translate_yaml(deep, "a", upper) == deep
