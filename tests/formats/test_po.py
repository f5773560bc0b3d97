"""PO files: missing translations are filled in, everything else stays."""

import shutil
import subprocess
from pathlib import Path

import polib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.errors import InputError
from nmt_cli.formats.messages import placeholders_finder
from nmt_cli.formats.po import translate_po
from tests.formats.models import answering, by_text, hostile, marked, recorded, unchanged, upper

HEADER = r"""# Translations of X.
#   Someone <me@x.org>, 2024.
#
msgid ""
msgstr ""
"X-Zeta: last\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"

"""

BEFORE = (
    HEADER
    + r"""#  odd   comment
#. extracted
#: src/a.c:10 src/a-very-long-name/b.c:20
#, c-format
#| msgid "old"
msgid "Copied %d of %s"
msgstr ""

#comment without a space
msgctxt "menu"
msgid "Open"
msgstr "Öffnen"

#, fuzzy
msgid "Guess"
msgstr "Vermutung"

msgid "One file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""

msgid "Half"
msgid_plural "Halves"
msgstr[0] "Hälfte"
msgstr[1] ""

#: help.c
msgid ""
"\n"
"Usage: x [--force]\n"
"\tSay \"yes\" \\ no\n"
msgstr ""

msgid "<b>Bold</b>"
msgstr ""
""

#~ msgid "gone"
#~ msgstr ""

msgid "12"
msgstr ""

# the end
"""
)

AFTER = (
    HEADER
    + r"""#  odd   comment
#. extracted
#: src/a.c:10 src/a-very-long-name/b.c:20
#, fuzzy, c-format
#| msgid "old"
msgid "Copied %d of %s"
msgstr "COPIED %d OF %s"

#comment without a space
msgctxt "menu"
msgid "Open"
msgstr "Öffnen"

#, fuzzy
msgid "Guess"
msgstr "Vermutung"

#, fuzzy
msgid "One file"
msgid_plural "%d files"
msgstr[0] "ONE FILE"
msgstr[1] "%d FILES"

#, fuzzy
msgid "Half"
msgid_plural "Halves"
msgstr[0] "Hälfte"
msgstr[1] "HALVES"

#: help.c
#, fuzzy
msgid ""
"\n"
"Usage: x [--force]\n"
"\tSay \"yes\" \\ no\n"
msgstr ""
"\n"
"USAGE: X [--force]\n"
"\tSAY \"YES\" \\ NO\n"

#, fuzzy
msgid "<b>Bold</b>"
msgstr "<b>BOLD</b>"

#~ msgid "gone"
#~ msgstr ""

#, fuzzy
msgid "12"
msgstr "12"

# the end
"""
)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_missing_translations_are_filled_in(end: str) -> None:
    calls, translate = recorded(upper)
    assert translate_po(BEFORE.replace("\n", end), "de.po", translate) == AFTER.replace("\n", end)
    assert len(calls) == 2
    assert calls[0][:3] == ["Copied %d of %s", "One file", "%d files"]


def test_a_complete_file_is_left_unchanged() -> None:
    calls, translate = recorded(upper)
    assert translate_po(AFTER, "de.po", translate) == AFTER
    assert calls == []


@pytest.mark.skipif(not shutil.which("msgfmt"), reason="gettext is not installed")
@pytest.mark.parametrize("seed", range(5))
def test_gettext_accepts_it(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "de.po"
    path.write_text(translate_po(BEFORE, "de.po", hostile(seed)), "utf-8")
    command = ["msgfmt", "--check-format", "--check-header", "--use-fuzzy", "-o", "/dev/null"]
    subprocess.run([*command, str(path)], check=True, capture_output=True)


def entry(msgid: str, flags: str = "", forms: int = 0, plural: str = "") -> str:
    lines = [f"#, {flags}"] if flags else []
    lines.append(f'msgid "{polib.escape(msgid)}"')
    if forms:
        lines.append(f'msgid_plural "{polib.escape(plural)}"')
        lines += [f'msgstr[{form}] ""' for form in range(forms)]
    else:
        lines.append('msgstr ""')
    return "\n".join(lines) + "\n\n"


@pytest.mark.parametrize(("forms", "expected"), [(1, "F"), (2, "EF"), (6, "EFFFFF")])
def test_plural_forms(forms: int, expected: str) -> None:
    text = translate_po(entry("e", forms=forms, plural="f"), "a", upper)
    message = polib.pofile(text)[0]
    assert "".join(message.msgstr_plural[form] for form in range(forms)) == expected
    assert message.fuzzy


@pytest.mark.parametrize(
    ("flags", "msgid", "msgstr"),
    [
        ("", "100% of it", "100% OF IT"),
        ("no-c-format", "100% of it", "100% OF IT"),
        ("c-format", "100% of it", "100% oF IT"),
        ("qt-format", "%1 of %n", "%1 OF %n"),
        ("python-brace-format", "{a} of {b!r:>{w}}", "{a} OF {b!r:>{w}}"),
        ("", "\n\n one\n", "\n\n ONE\n"),
        ("", "tab\there", "TAB\tHERE"),
        ("", "a\u2028b\x85c", "A\u2028B\x85C"),
        ("", " ", " "),
    ],
)
def test_kept_parts_of_messages(flags: str, msgid: str, msgstr: str) -> None:
    text = translate_po(entry(msgid, flags), "a", upper)
    written = text.replace('"\n"', "")  # on one line
    assert f'msgstr "{polib.escape(msgstr)}"\n' in written
    if not set("\u2028\x85") & set(msgid):  # where polib splits lines
        assert polib.pofile(text)[0].msgstr == msgstr


def test_long_lines_are_wrapped_only_if_the_file_wraps_them() -> None:
    words = "many words " * 12
    text = translate_po(entry("a"), "a", answering([words]))
    assert polib.pofile(text)[0].msgstr == words.strip()
    assert max(map(len, text.splitlines())) <= 79
    assert 'msgstr ""\n"many words' in text
    unwrapped = translate_po(entry(words) + entry("b"), "a", by_text(lambda text: words))
    assert f'msgid "b"\nmsgstr "{words.strip()}"' in unwrapped


def test_credits_are_translated_by_themselves() -> None:
    new = translate_po(entry("translator-credits"), "a", upper)
    assert polib.pofile(new)[0].msgstr == "translator-credits"


def test_unusual_escapes_are_left_unchanged() -> None:
    text = 'msgid "bell\\a and \\x41"\nmsgstr ""\n\nmsgid "back\\\\a"\nmsgstr ""\n'
    new = translate_po(text, "a", upper)
    assert 'msgid "bell\\a and \\x41"\nmsgstr ""\n' in new
    assert 'msgstr "BACK\\\\A"\n' in new


def test_text_that_is_also_a_file_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "# a").write_text('msgid "secret"\nmsgstr ""\n')
    assert translate_po("# a", "a", upper) == "# a"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "a.po, line 1: not the syntax of a PO file; msgfmt --check shows"),
        ('\nmsgid "a"\nmsgstr "b\\"\n', "a.po, line 3: not the syntax of a PO file; msgfmt"),
        ('msgid "a"\nmsgstr ""\n"b\n', "a.po, line 3: not the syntax of a PO file; msgfmt"),
        ('\nmsgid "a"\nmsgid "b"\n', "a.po, line 2: a msgid without msgstr"),
        ('msgid "a"\nmsgstr "b"c"\n', "a.po, line 2: not the syntax of a PO file"),
        ('msgstr "a"\n', "a.po, line 1: not the syntax of a PO file"),
        ('msgid "a"\nmsgstr "b"\nmsgstr "c"\n', "a.po, line 3: not the syntax"),
        ('"a"\n', "a.po, line 1: not the syntax of a PO file"),
        ('msgid "a"\n', "a.po, line 1: a msgid without msgstr; complete the entry"),
        (HEADER.replace("UTF-8", "ISO-8859-1"), "a.po: its header says charset=ISO-8859-1"),
    ],
)
def test_malformed_po_files(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        translate_po(text, "a.po", unchanged)


def test_a_header_after_entries() -> None:
    text = entry("first") + HEADER + entry("last")
    assert translate_po(text, "a", upper).count('msgstr ""') == 1
    template = HEADER.replace("UTF-8", "CHARSET") + entry("a")
    assert 'msgstr "A"' in translate_po(template, "a.pot", upper)


MSGID = st.lists(
    st.sampled_from(
        ["%s", "%d", "%(a)s", "{0}", "{}", "<b>", "</b>", "&lt;", "\n", "\t", '"', "\\", "\r",
         "\u2028", "\x0c", "\x85", "one", "two words ", " three", "--opt", "$X", "100% of", "é"]
    ),
    min_size=1, max_size=8,
).map("".join)  # fmt: skip
ENTRY = st.builds(entry, MSGID, st.sampled_from(["", "c-format", "python-format, x"]))
ENTRIES = st.lists(
    ENTRY | st.builds(entry, MSGID, st.just(""), st.integers(1, 3), MSGID)
    | st.sampled_from(['#~ msgid "x"\n#~ msgstr "y"\n\n', "# c\n#: r\n", '#| msgid "p"\n']),
    max_size=4,
)  # fmt: skip


@given(ENTRIES, st.integers(0, 10**6), st.sampled_from(["\n", "\r\n"]))
def test_any_messages_and_any_model(entries: list[str], seed: int, end: str) -> None:
    text = ("".join(entries) + entry("last")).replace("\n", end)
    for model in (unchanged, marked, hostile(seed)):
        new = translate_po(text, "a", model)
        assert translate_po(new, "a", upper) == new  # nothing is left to fill
        assert [x for x in new.split("\n") if not is_new(x)] == [
            x for x in text.split("\n") if not is_new(x)
        ]
        for old, translated in zip(read(text), read(new), strict=True):
            sources = [old.msgid] if translated.msgstr else [old.msgid_plural, old.msgid]
            strings = (
                [translated.msgstr] if translated.msgstr else translated.msgstr_plural.values()
            )
            finder = placeholders_finder(any("-format" in flag for flag in old.flags), False)
            for string in strings:
                assert kept(string, finder) in [kept(source, finder) for source in sources]


def is_new(line: str) -> bool:
    return line.startswith(("msgstr", '"', "#, ")) or not line


def read(text: str) -> list[polib.POEntry]:
    shields = {ord(old): chr(0xE000 + number) for number, old in enumerate("\x0c\x85\u2028")}
    return list(polib.pofile(text.translate(shields)))


def kept(text: str, find) -> list[str]:  # type: ignore[no-untyped-def]
    breaks = text.count("\n"), text.startswith("\n"), text.endswith("\n")
    lines = text.split("\n")
    parts = [sorted(line[x.start : x.end] for x in find(line)) for line in lines]
    return [str(breaks), *map(str, parts)]


def test_hostile_files_are_fast() -> None:
    long = entry("word " * 20_000) + entry("%" * 20_000) + entry("<" * 20_000 + "a")
    assert "WORD WORD" in translate_po(long, "a", upper)
    many = "".join(entry(f"message {number}") for number in range(2_000))
    assert translate_po(many, "a", upper).count("#, fuzzy") == 2_000
    blank = "\n" * 20_000 + "#\n" * 20_000
    assert translate_po(blank, "a", upper) == blank
