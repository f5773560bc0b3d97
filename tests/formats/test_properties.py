"""Java's .properties: values change; keys, separators, comments and continuations stay."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nmt_cli.errors import InputError
from nmt_cli.formats.properties import translate_properties
from tests.formats.models import by_text, hostile, unchanged, upper

BEFORE = r"""# A comment = text C:\users
! another: text

title=Hello world
  spaced  :   some text
white space separates
key\ with\=signs = a\=b text
empty=
no.value
long = first line \
       and the second, \
       and the third
lines = one\ntwo\ttabs
accent = caf\u00e9 \uD83D\uDE00
format = It''s {0} of '{'{1}'}'
choice = {0,choice,0#no files|1#one file|1<many files}
quoted = It's plain
path = C:\\dir\\file.txt
url = http://x.org/a=b
\u0061bc = escaped key
"""
AFTER = r"""# A comment = text C:\users
! another: text

title=HELLO WORLD
  spaced  :   SOME TEXT
white SPACE SEPARATES
key\ with\=signs = A\=B TEXT
empty=
no.value
long = FIRST LINE AND THE SECOND, AND THE THIRD
lines = ONE\nTWO\tTABS
accent = CAF\u00c9 \uD83D\uDE00
format = IT''S {0} OF '{'{1}'}'
choice = {0,choice,0#no files|1#one file|1<many files}
quoted = IT'S PLAIN
path = C:\\dir\\file.txt
url = http://x.org/a=b
\u0061bc = ESCAPED KEY
"""


def read(text: str) -> dict[str, str]:
    """Read a file as the specification of java.util.Properties says, line by line."""
    result: dict[str, str] = {}
    lines = iter(re.split(r"\r\n|[\r\n]", text))
    for line in lines:
        line = line.lstrip(" \t\f")
        if not line or line[0] in "#!":
            continue
        while (len(line) - len(line.rstrip("\\"))) % 2:
            line = line[:-1] + next(lines, "").lstrip(" \t\f")
        end = 0
        while end < len(line) and line[end] not in "=: \t\f":
            end += 1 + (line[end] == "\\")
        value = line[end:].lstrip(" \t\f")
        if value[:1] in ("=", ":"):
            value = value[1:].lstrip(" \t\f")
        result[plain(line[:end])] = plain(value)
    return result


def plain(text: str) -> str:
    names = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
    text = re.sub(
        r"\\(?:u([0-9A-Fa-f]{4})|(.))",
        lambda match: chr(int(match[1], 16)) if match[1] else names.get(match[2], match[2]),
        text,
    )
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_only_values_change(end: str) -> None:
    text = BEFORE.replace("\n", end)
    assert translate_properties(text, "a.properties", unchanged) == text
    new = translate_properties(text, "a.properties", upper)
    assert new == AFTER.replace("\n", end)
    assert read(new)["long"] == "FIRST LINE AND THE SECOND, AND THE THIRD"
    assert read(new)["accent"] == "CAFÉ 😀"
    assert read(new).keys() == read(text).keys()


def test_white_space_at_the_end_belongs_to_a_value() -> None:
    assert translate_properties("a \\\n : \\\n b", "a", upper) == "a \\\n : \\\n B"
    assert translate_properties("a= b c \t\nd=e", "a", upper) == "a= B C \t\nd=E"


def test_characters_of_translations() -> None:
    model = by_text(lambda text: " água d'x \\ 😀")
    assert translate_properties("a=b c", "a", model) == r"a=\u00e1gua d'x \\ \ud83d\ude00"
    assert translate_properties("# é\na=b c", "a", model) == "# é\na=água d'x \\\\ 😀"
    model = by_text(lambda text: "{0}'s file")
    assert translate_properties("a=File of {0}", "a", model) == "a={0}''s file"


def test_a_malformed_escape() -> None:
    with pytest.raises(InputError, match=r"a.properties, line 3: \\u without four hexadecimal"):
        translate_properties("a=b\n# \\users\nc=\\user\n", "a.properties", upper)


PARTS = st.sampled_from(
    ["key", "word ", "=", ":", " ", "\\\n  ", "\\n", "\\\\", "\\u00e9", "\n", "#", "!", "\\ ", "é",
     "{0}", "'", "''", "\t", "\\=", "{n, plural, other {# x}}"]
)  # fmt: skip


@given(st.lists(PARTS, max_size=12).map("".join), st.integers(0, 10**6))
@example("key=word {0}::", 0)
def test_any_file_and_any_model(text: str, seed: int) -> None:
    assert translate_properties(text, "a", unchanged) == text
    new = translate_properties(text, "a", hostile(seed))
    assert read(new).keys() == read(text).keys()


def test_hostile_files_are_fast() -> None:
    for text in ("a" * 100_000, "a=" + "\\\n" * 50_000, " " * 100_000, "a=b\\" * 50_000):
        translate_properties(text, "a", unchanged)
