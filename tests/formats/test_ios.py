"""Strings of iOS: values change; keys, comments and layout stay."""

import plistlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.errors import InputError
from nmt_cli.formats.ios import translate_ios
from tests.formats.models import by_text, hostile, unchanged, upper

BEFORE = r"""/* A "comment" = "text"; */
"Hello" = "Hello \"you\"";   // and "another" = "one";
plain.key="%1$@ of %2$d\nlines \U00e9";
"multi" =
    "first line
second line" ;
"literal" = "100%% it's";
"""
AFTER = r"""/* A "comment" = "text"; */
"Hello" = "HELLO \"YOU\"";   // and "another" = "one";
plain.key="%1$@ OF %2$d\nLINES É";
"multi" =
    "FIRST LINE
SECOND LINE" ;
"literal" = "100%% IT'S";
"""
PLIST = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>files</key>
  <dict>
    <key>NSStringLocalizedFormatKey</key>
    <string>You have %#@files@ &amp; more</string>
    <key>files</key>
    <dict>
      <key>NSStringFormatSpecTypeKey</key>
      <string>NSStringPluralRuleType</string>
      <key>NSStringFormatValueTypeKey</key>
      <string>d</string>
      <key>one</key>
      <string>%d file</string>
      <key>other</key>
      <string>%d files</string>
    </dict>
  </dict>
</dict>
</plist>
"""


def read(text: str) -> dict[str, str]:
    """Read a file as Apple's property lists in the old style say."""
    text = re.sub(r'("(?:[^"\\]|\\.)*")|/\*.*?\*/|//[^\n]*', r"\1", text, flags=re.DOTALL)
    pattern = r'(?:"((?:[^"\\]|\\.)*)"|([\w.-]+))\s*=\s*"((?:[^"\\]|\\.)*)"\s*;'
    assert not re.sub(pattern, "", text, flags=re.DOTALL).strip()
    return {key or word: value for key, word, value in re.findall(pattern, text, re.DOTALL)}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_only_values_change(end: str) -> None:
    text = BEFORE.replace("\n", end)
    assert translate_ios(text, "a.strings", unchanged) == text
    new = translate_ios(text, "a.strings", upper)
    assert new == AFTER.replace("\n", end)
    assert read(new).keys() == read(text).keys()


def test_escapes_of_translations() -> None:
    model = by_text(lambda text: 'a "b" \\ é')
    assert translate_ios('"k" = "v w";', "a", model) == r'"k" = "a \"b\" \\ é";'


def test_property_lists() -> None:
    new = translate_ios(PLIST, "a.stringsdict", upper)
    texts = ["You have %#@files@ &amp; more", "%d file", "%d files"]
    expected = PLIST
    for old, text in zip(
        texts, ["YOU HAVE %#@files@ &amp; MORE", "%d FILE", "%d FILES"], strict=True
    ):
        expected = expected.replace(f">{old}<", f">{text}<")
    assert new == expected
    assert plistlib.loads(new.encode())["files"]["files"]["other"] == "%d FILES"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"a" = "b"\n"c" = "d";', "a.strings, line 1: not an entry of a .strings file"),
        ('// x\n"a" = "b";\n\n"c" "d";', "a.strings, line 4: not an entry"),
        ('"a" = "b', "a.strings, line 1: not an entry"),
        ("/* no end", "a.strings, line 1: not an entry"),
        ("<plist>\n<dict></plist>", "a.strings, line 2: not well-formed XML"),
    ],
)
def test_malformed_files(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        translate_ios(text, "a.strings", upper)


VALUES = st.lists(
    st.sampled_from(
        ['\\"', "\\n", "\\\\", "word ", "%@", "/*", "//", "é", "'", "\n", ";", "\\U00e9"]
    ),
    max_size=8,
).map("".join)  # fmt: skip


@given(st.dictionaries(VALUES, VALUES, max_size=4), st.integers(0, 10**6))
def test_any_file_and_any_model(entries: dict[str, str], seed: int) -> None:
    text = "".join(f'"{key}" = "{value}";\n' for key, value in entries.items())
    assert translate_ios(text, "a", unchanged) == text
    assert read(translate_ios(text, "a", hostile(seed))).keys() == entries.keys()


def test_hostile_files_are_fast() -> None:
    for text in ("[" * 50_000, '"' * 49_999, '"a"="' + "\\" * 50_000, "/*" * 50_000, "a" * 50_000):
        with pytest.raises(InputError):
            translate_ios(text, "a", unchanged)
