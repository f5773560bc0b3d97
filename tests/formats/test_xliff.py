"""XLIFF: missing translations are filled in, everything else stays."""

import re
from collections import Counter

import pytest
from lxml import etree

from nmt_cli.errors import InputError
from nmt_cli.formats.placing import Translate
from nmt_cli.formats.xliff import translate_xliff
from tests.formats.models import hostile, recorded, unchanged, upper
from tests.formats.test_placing import random_model
from tests.formats.test_subtitles import aligning, backwards, in_order

OLD = """<?xml version="1.0" encoding="UTF-8"?>
<!-- <trans-unit id="0"><source>a comment</source></trans-unit> -->
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"
       xmlns:its="http://www.w3.org/2005/11/its">
  <file original="a.txt" source-language="en" target-language="pt" datatype="plaintext">
    <header><note>source of all</note></header>
    <body>
      <trans-unit id="1" xml:space="preserve"><source>Good <g id="1" ctype="bold">morning</g>  all
of you</source><note>keep me</note></trans-unit>
      <trans-unit id='2'>
        <source xml:lang="en">
          Read the <bpt id="1">&lt;a></bpt>new manual<ept id="1">&lt;/a></ept>, <x id="2"/>
          please &amp; thank you.
        </source>
        <target state='needs-translation' xml:lang="pt" />
        <alt-trans><source>other</source><target/></alt-trans>
      </trans-unit>
      <trans-unit id="3"><source>Done</source><target state="final">Feito</target></trans-unit>
      <trans-unit id="4" translate="no"><source>Code</source></trans-unit>
      <group translate="no">
        <trans-unit id="5"><source>Code</source></trans-unit>
        <trans-unit id="6" translate="yes"><source>text</source><target></target></trans-unit>
      </group>
      <trans-unit id="7">
        <source>One. Two.</source>
        <seg-source><mrk mtype="seg" mid="1">One.</mrk> <mrk mid="2" mtype="seg">Two.</mrk
        ></seg-source>
        <target><mrk mtype="seg" mid="1"/> <mrk mtype="seg" mid="2"></mrk></target>
      </trans-unit>
      <trans-unit id="8"><source><![CDATA[Hello <b>you</b> & me]]></source></trans-unit>
      <trans-unit id="9"><source>run <mrk mtype="protected">ls -l</mrk> now</source></trans-unit>
      <trans-unit id="10"><source/></trans-unit>
      <trans-unit id="11">
        <source>a<x id="LINE_BREAK" ctype="lb"/>b <it id="3" pos="open">&lt;i></it>c</source>
      </trans-unit>
    </body>
  </file>
</xliff>
"""

OLD_EXPECTED = [
    (
        'of you</source><note>',
        'of you</source><target state="needs-review-translation" state-qualifier="mt-suggestion">'
        'GOOD <g id="1" ctype="bold">MORNING</g> ALL\nOF YOU</target><note>',
    ),
    (
        """<target state='needs-translation' xml:lang="pt" />""",
        """<target state="needs-review-translation" xml:lang="pt" """
        """state-qualifier="mt-suggestion"> READ THE """
        """<bpt id="1">&lt;a></bpt>NEW MANUAL<ept id="1">&lt;/a></ept>, <x id="2"/> """
        """PLEASE &amp; THANK YOU. </target>""",
    ),
    (
        '<target></target>',
        '<target state="needs-review-translation" state-qualifier="mt-suggestion">TEXT</target>',
    ),
    (
        '<target><mrk mtype="seg" mid="1"/> <mrk mtype="seg" mid="2"></mrk></target>',
        '<target state="needs-review-translation" state-qualifier="mt-suggestion">'
        '<mrk mtype="seg" mid="1">ONE.</mrk> <mrk mid="2" mtype="seg">TWO.</mrk\n'
        "        ></target>",
    ),
]  # fmt: skip

NEW = """<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.1" srcLang="en"
  trgLang="pt" xmlns:mda="urn:oasis:names:tc:xliff:metadata:2.0">
 <file id="f1">
  <notes><note id="n1">source</note></notes>
  <unit id="u1">
   <originalData><data id="d1">&lt;b></data></originalData>
   <segment id="s1" state="initial" subState="my:new">
    <source>Open the <pc id="1" dataRefStart="d1">blue door</pc> <ph id="2" equiv="{0}"/>.</source>
   </segment>
   <ignorable><source> </source></ignorable>
   <segment>
    <source>Call <mrk id="m1" translate="no">main</mrk> at <sc id="3"/>once<cp hex="001A"/><ec
      startRef="3"/></source>
    <target></target>
   </segment>
   <segment state="translated"><source>Done</source><target>Feito</target></segment>
  </unit>
  <group id="g" translate="no">
   <unit id="u2"><segment><source>Code</source></segment></unit>
  </group>
  <unit id="u3"><segment>
    <source><sm id="1" type="comment"/>One<em startRef="1"/> two</source>
  </segment></unit>
 </file>
</xliff>
"""

NEW_EXPECTED = [
    (
        '<segment id="s1" state="initial" subState="my:new">',
        '<segment id="s1" state="translated" subState="nmt:mt-suggestion">',
    ),
    (
        '{0}"/>.</source>',
        '{0}"/>.</source>\n    <target>OPEN THE <pc id="1" dataRefStart="d1">BLUE DOOR</pc> '
        '<ph id="2" equiv="{0}"/>.</target>',
    ),
    ('<segment>\n', '<segment state="translated" subState="nmt:mt-suggestion">\n'),
    (
        '<target></target>',
        '<target>CALL <mrk id="m1" translate="no">main</mrk> AT '
        '<sc id="3"/>ONCE<cp hex="001A"/><ec\n      startRef="3"/></target>',
    ),
    (
        '<unit id="u3"><segment>',
        '<unit id="u3"><segment state="translated" subState="nmt:mt-suggestion">',
    ),
    (
        ' two</source>',
        ' two</source>\n    <target><sm id="1" type="comment"/>ONE<em startRef="1"/> TWO</target>',
    ),
]  # fmt: skip


OLD_EXPECTED += [
    (
        "& me]]></source>",
        '& me]]></source><target state="needs-review-translation" state-qualifier="mt-suggestion">'
        "HELLO &lt;b&gt;YOU&lt;/b&gt; &amp; ME</target>",
    ),
    (
        "</mrk> now</source>",
        "</mrk> now</source>"
        '<target state="needs-review-translation" state-qualifier="mt-suggestion">'
        'RUN <mrk mtype="protected">ls -l</mrk> NOW</target>',
    ),
    (
        "</it>c</source>",
        "</it>c</source>\n        "
        '<target state="needs-review-translation" state-qualifier="mt-suggestion">'
        'A<x id="LINE_BREAK" ctype="lb"/>B <it id="3" pos="open">&lt;i></it>C</target>',
    ),
]


@pytest.mark.parametrize(("text", "edits"), [(OLD, OLD_EXPECTED), (NEW, NEW_EXPECTED)])
def test_a_document(text: str, edits: list[tuple[str, str]]) -> None:
    expected = text
    for old, new in edits:
        at = expected.index(old)
        expected = expected[:at] + new + expected[at + len(old) :]
    result = translate_xliff(text, "a", aligning(in_order))
    assert result == expected
    assert translate_xliff(result, "a", aligning(backwards)) == result  # nothing is left to do


def codes(element: etree._Element) -> Counter[tuple[object, ...]]:
    """Return the inline codes of a source or target, with the text of what is not translated."""
    return Counter(
        (
            code.tag,
            *sorted(code.items()),
            code.text if code.tag[-3:] in ("bpt", "ept", "}it") else "",
        )
        for code in element.iterdescendants()
    )


@pytest.mark.parametrize("text", [OLD, NEW])
@pytest.mark.parametrize("seed", range(25))
def test_any_model_keeps_codes_and_all_else(text: str, seed: int) -> None:
    before = etree.fromstring(text.encode())
    for model in (unchanged, upper, random_model(seed), hostile(seed), aligning(backwards)):
        after = etree.fromstring(translate_xliff(text, "a", model).encode())
        for target in after.iter("{*}target"):
            unit = target.getparent()
            source = unit.find("{*}seg-source")
            source = unit.find("{*}source") if source is None else source
            if unit.get("state") == "translated" or target.get("state", "").startswith("needs"):
                assert codes(target) == codes(source)
                if model.aligns:
                    assert re.search("[a-zA-Z]", "".join(target.itertext()))
        for tree in (before, after):
            for target in list(tree.iter("{*}target")):
                target.getparent().remove(target)
        remove = {"state", "subState"}
        for one, other in zip(before.iter(), after.iter(), strict=True):
            assert one.tag == other.tag
            assert (one.text or "").split() == (other.text or "").split()
            assert {k: v for k, v in one.items() if k not in remove} == {
                k: v for k, v in other.items() if k not in remove
            }


def unit(source: str, attributes: str = "") -> str:
    return (
        f'<x:xliff version="1.2" xmlns:x="urn:oasis:names:tc:xliff:document:1.2"><x:trans-unit'
        f' id="1"{attributes}><x:source>{source}</x:source></x:trans-unit></x:xliff>'
    )


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("a b", "B A"),
        ('a <x:x id="START_LINK" ctype="x-a"/>b<x:x id="CLOSE_LINK" ctype="x-a"/>',
         '<x:x id="START_LINK" ctype="x-a"/>B<x:x id="CLOSE_LINK" ctype="x-a"/> A'),
        ('a <x:bx id="1" rid="9"/>b<x:ex id="2" rid="9"/>',
         '<x:bx id="1" rid="9"/>B<x:ex id="2" rid="9"/> A'),
        ('<x:g id="1">a</x:g> b', 'B <x:g id="1">A</x:g>'),
        ('<x:g id="1">a b</x:g>', '<x:g id="1">B A</x:g>'),
        ("{n, plural, one {a b} other {c d}}", "{n, plural, one {B A} other {D C}}"),
        ("a {0} b", "B {0} A"),
        ("a &lt;b>b&lt;/b>", "&lt;b&gt;B&lt;/b&gt; A"),
        ("a %1$s b", "B %1$s A"),
        ("12", "12"),
    ],
)  # fmt: skip
def test_codes_and_placeholders_move_with_words(source: str, result: str) -> None:
    translated = translate_xliff(unit(source), "a", aligning(backwards))
    mark = ' state="needs-review-translation" state-qualifier="mt-suggestion"'
    target = f"</x:source><x:target{mark}>{result}</x:target>"
    assert translated == unit(source).replace("</x:source>", target)


def test_the_language_of_targets_is_named() -> None:
    text = NEW.replace('\n  trgLang="pt"', "")
    translate = Translate(upper.lines, languages=("en", "pt"))
    assert 'srcLang="en" xmlns:mda="urn:oasis:names:tc:xliff:metadata:2.0" trgLang="pt">' in (
        translate_xliff(text, "a", translate)
    )
    assert translate_xliff(NEW, "a", translate) == translate_xliff(NEW, "a", upper)


def test_white_space_is_kept_if_the_document_says_so() -> None:
    calls, translate = recorded(upper)
    translate_xliff(unit("a\n  b"), "a", translate)
    kept = translate_xliff(unit("a\n  b", ' xml:space="preserve"'), "a", translate)
    assert calls == [["a b"], ["a", "b"]]
    assert ">A\n  B</x:target>" in kept


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<xliff><source></xliff>", r"^a.xlf, line 1: not well-formed XML; mismatched tag"),
        ("<xliff>\n<a>&nbsp;</a></xliff>", r"^a.xlf, line 2: not well-formed XML"),
        ("hello", r"^a.xlf, line 1: not well-formed XML"),
        ("<tmx/>", r"^a.xlf, line 1: not XLIFF, but XML whose root is <tmx>; "),
    ],
)
def test_malformed(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        translate_xliff(text, "a.xlf", upper)


def test_hostile_files_are_fast() -> None:
    long = unit("<x:g>" * 3_000 + "a" + "</x:g>" * 3_000)
    assert "<x:target" in translate_xliff(long, "a", unchanged)
    many = unit("a").replace("<x:trans", "<x:group/>" * 20_000 + "<x:trans")
    assert "<x:target" in translate_xliff(many, "a", unchanged)
    codes = unit('<x:x id="1"/>a ' * 3_000)
    assert "<x:target" in translate_xliff(codes, "a", Translate(unchanged.lines, aligns=True))
