"""HTML and XML: tags and code keep their bytes, and text is translated."""

import pytest

from nmt_cli.formats import translate_document
from tests.formats.models import hostile, recorded, unchanged, upper


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Hello <b>big</b> world", "HELLO <b>BIG</b> WORLD"),
        ("one<br/>two <img alt='a > b'> three", "ONE<br/>TWO <img alt='a > b'> THREE"),
        ("<p class=x>one\n  two<p>three", "<p class=x>ONE TWO<p>THREE"),
        ("<a href=x>one <p>two</p> three</a>", "<a href=x>ONE <p>TWO</p> THREE</a>"),
        ("a <b><i>x</b> y</i> z", "A <b><i>X</b> Y</i> Z"),
        ("&lt;b&gt; AT&T &amp; a < b&nbsp;c", "&lt;B&gt; AT&amp;T &amp; A &lt; B&nbsp;C"),
        ("run <code>npm <i>x</i></code> now", "RUN <code>npm <i>x</i></code> NOW"),
        ("one <code>never ends", "ONE <code>never ends"),
        ("<pre>a <b>\nb</b></pre>c<textarea>d<b></textarea>",
         "<pre>a <b>\nb</b></pre>C<textarea>d<b></textarea>"),
        ("<!DOCTYPE html><script>if (a<b) 'x'</script><title>t</title>",
         "<!DOCTYPE html><script>if (a<b) 'x'</script><title>T</title>"),
        ("<!--[if IE]> a <![endif]-->b <!-- c --> d", "<!--[if IE]> a <![endif]-->B <!-- c --> D"),
        ("<p translate=no>a <b>b</b><p>c", "<p translate=no>a <b>b</b><p>C"),
        ("a <i class='x notranslate y'>b</i> <i class=translate>c</i>",
         "A <i class='x notranslate y'>b</i> <i class=translate>C</i>"),
        ("a <B>b</b> <b >c</B >", "A <B>B</b> <b >C</B >"),
        ("a <b title=\"c > d", "A <b title=\"c > D"),
        ("a </b> b", "A </b> B"),
        ("\U00100000 a", "\U00100000 a"),
        ("a<q>b</q>c", "A<q>B</q>C"),
        ("<?php echo 'a>b' ?>c<% d %>", "<?php echo 'a>b' ?>C<% d %>"),
    ],
)  # fmt: skip
def test_html(before: str, after: str) -> None:
    assert translate_document("html", before, "a", upper) == after
    assert translate_document("html", before, "a", unchanged) == before


def test_elements_of_xml_beside_text_are_part_of_it() -> None:
    text = '<?xml version="1.0"?><r><b>a</b><b>b <x>c</x> <g/>d</b><link>e</link><Code>f</Code></r>'
    calls, translate = recorded(upper)
    new = translate_document("xml", text, "a", translate, untouched=["Code"])
    assert new == text.replace(">a<", ">A<").replace(
        "b <x>c</x> <g/>d", "B <x>C</x> <g/>D"
    ).replace(">e<", ">E<")
    assert [line for line in calls[0] if line.isascii()] == ["a", "e"]
    html = translate_document("html", "<p>a <x-y>b</x-y>", "a", upper, untouched=["X-y"])
    assert html == "<p>A <x-y>b</x-y>"


@pytest.mark.parametrize("seed", range(20))
def test_html_survives_hostile_models(seed: int) -> None:
    text = "<p>One <b>two <i>three</i></b> <code>x y</code> &amp; <img> four<br>five {a} six</p>"
    new = translate_document("html", text, "a", hostile(seed))
    for tag in ("<p>", "</p>", "<b>", "</b>", "<i>", "</i>", "<code>x y</code>", "<img>", "<br>"):
        assert new.count(tag) == 1
    assert new.startswith("<p>")
    assert new.endswith("</p>")
