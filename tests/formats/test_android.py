"""Android's string resources: strings change; other resources, markup and references stay."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.errors import InputError
from nmt_cli.formats.android import translate_android
from tests.formats.models import by_text, hostile, recorded, unchanged, upper

BEFORE = r"""<?xml version="1.0" encoding="utf-8"?>
<!-- <string name="comment">Not this</string> -->
<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">
    <string name="app" translatable="false">My App</string>
    <string name="plain">Hello world</string>
    <string name="apostrophe">Don\'t say \"no\"\nnever \@ home</string>
    <string name="quoted">"  It's quoted  "</string>
    <string name="args">%1$s has <xliff:g id="count" example="5">%2$d</xliff:g> of them</string>
    <string name="bold">Some <b>bold</b> text &amp; <a href="x?a=1&amp;b=2">links</a></string>
    <string name="html">&lt;b>Strong&lt;/b> words</string>
    <string name="cdata"><![CDATA[Click <a href="x">here</a> & there]]></string>
    <string name="lines">
        wrapped text
        goes on
    </string>
    <string name="reference">@string/plain</string>
    <string name="empty"></string>
    <string name="void"/>
    <color name="red">#ff0000</color>
    <style name="s"><item name="a">not text</item></style>
    <string-array name="list">
        <item>First one</item>
        <item>@string/plain</item>
    </string-array>
    <string-array name="fixed" translatable="false"><item>alpha</item></string-array>
    <plurals name="files">
        <item quantity="one">%d file</item>
        <item quantity="other">%d files</item>
    </plurals>
    <item name="id" type="id">not this</item>
</resources>
"""
AFTER = r"""<?xml version="1.0" encoding="utf-8"?>
<!-- <string name="comment">Not this</string> -->
<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">
    <string name="app" translatable="false">My App</string>
    <string name="plain">HELLO WORLD</string>
    <string name="apostrophe">DON\'T SAY \"NO\"\nNEVER \@ HOME</string>
    <string name="quoted">"  IT'S QUOTED  "</string>
    <string name="args">%1$s HAS <xliff:g id="count" example="5">%2$d</xliff:g> OF THEM</string>
    <string name="bold">SOME <b>BOLD</b> TEXT &amp; <a href="x?a=1&amp;b=2">LINKS</a></string>
    <string name="html">&lt;b>STRONG&lt;/b> WORDS</string>
    <string name="cdata"><![CDATA[CLICK <a href="x">HERE</a> & THERE]]></string>
    <string name="lines">
        WRAPPED TEXT GOES ON
    </string>
    <string name="reference">@string/plain</string>
    <string name="empty"></string>
    <string name="void"/>
    <color name="red">#ff0000</color>
    <style name="s"><item name="a">not text</item></style>
    <string-array name="list">
        <item>FIRST ONE</item>
        <item>@string/plain</item>
    </string-array>
    <string-array name="fixed" translatable="false"><item>alpha</item></string-array>
    <plurals name="files">
        <item quantity="one">%d FILE</item>
        <item quantity="other">%d FILES</item>
    </plurals>
    <item name="id" type="id">not this</item>
</resources>
"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_only_strings_change(end: str) -> None:
    text = BEFORE.replace("\n", end)
    assert translate_android(text, "strings.xml", unchanged) == text
    assert translate_android(text, "strings.xml", upper) == AFTER.replace("\n", end)


def string(content: str) -> str:
    return f"<resources><string name='a'>{content}</string></resources>"


@pytest.mark.parametrize(
    ("content", "answer", "result"),
    [
        ("word two", """it's "x" <y & z""", r"it\'s \"x\" &lt;y &amp; z"),
        ("it&apos;s &quot;two&quot;", """d'x "y" """, "d&apos;x &quot;y&quot;"),
        ('"it is"', "it's", r'"it\'s"'),
        ("word two", "@home", r"\@home"),
        ("word two", "?what", r"\?what"),
        ("word two?", "x two?", "x two?"),
        (r"\@word two", "x @home", r"x \@home"),
        ("<![CDATA[word two]]>", "x & y", "<![CDATA[x & y]]>"),
        (r"a\u0020b c", "x y", r"x y"),
        (r"one\n" "\n   two three", "x y", r"x y\n x y"),
    ],
)
def test_escapes_of_translations(content: str, answer: str, result: str) -> None:
    new = translate_android(string(content), "a", by_text(lambda text: answer))
    assert new == string(result)


def test_entities_of_the_document_stay() -> None:
    head = '<!DOCTYPE resources [<!ENTITY app "My App">]>\n'
    text = head + string("Open &app; &amp; close")
    assert translate_android(text, "a", upper) == head + string("OPEN &app; &amp; CLOSE")


def test_what_the_model_reads() -> None:
    calls, translate = recorded()
    translate_android(BEFORE, "a", translate)
    texts = "\n".join(calls[0])
    for text in ("It's quoted", "never @ home", "wrapped text goes on", "Some ", "First one"):
        assert text in texts
    assert not any(mark in texts for mark in ("alpha", "Not this", "&lt;", "CDATA", "\\"))


def test_malformed_files() -> None:
    message = "strings.xml, line 2: not well-formed XML; mismatched tag"
    with pytest.raises(InputError, match=message):
        translate_android("<resources>\n<string></resources>", "strings.xml", upper)


CONTENTS = st.lists(
    st.sampled_from(["word ", "\\'", "&amp;", "&lt;b>", "<b>x</b>", "%1$s", "<br/>", "\n", "\\n",
                     '<xliff:g id="i">%d</xliff:g>', "<i>two words</i>", '"', "<!-- c -->", "é"]),
    max_size=8,
).map("".join)  # fmt: skip


@given(st.lists(CONTENTS, max_size=3), st.integers(0, 10**6))
def test_any_strings_and_any_model(contents: list[str], seed: int) -> None:
    strings = "".join(
        f'<string name="s{n}">{content}</string>' for n, content in enumerate(contents)
    )
    text = f'<resources xmlns:xliff="x">{strings}</resources>'
    assert translate_android(text, "a", unchanged) == text
    new = translate_android(text, "a", hostile(seed))
    tags = [
        sorted(tag.tag for tag in root.iter()) for root in map(ElementTree.fromstring, (text, new))
    ]
    assert tags[0] == tags[1]


def test_hostile_files_are_fast() -> None:
    texts = ["<string>" * 20_000, "<item " * 20_000, "word " * 20_000 + "<b>" * 1_000]
    for text in texts:
        with pytest.raises(InputError):
            translate_android(f"<resources>{text}</resources>", "a", unchanged)
    many = "<resources>" + "<string name='x'>Some text</string>\n" * 3_000 + "</resources>"
    assert translate_android(many, "a", upper).count("SOME TEXT") == 3_000
