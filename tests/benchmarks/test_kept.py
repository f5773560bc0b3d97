"""The families of what a translation keeps: their inputs, and checks that see a loss."""

import pytest

from benchmarks.kept.__main__ import Translator
from benchmarks.kept.cases import FAMILIES, Case, cases_of
from benchmarks.kept.checks import problems
from benchmarks.kept.words import lost_words


def test_families_are_the_same_each_time():
    assert len(FAMILIES) >= 40
    for name in FAMILIES:
        cases = cases_of(name)
        sources = [[case.shown or case.source for case in made] for made in (cases, cases_of(name))]
        assert sources[0] == sources[1]  # office documents have times in them
        assert len(cases) >= 40 or name == "many-tags"


@pytest.mark.parametrize(
    ("format", "source", "output", "problem"),
    [
        ("html", "<p>A <a href='/'>casa</a>.</p>", "<p>The house<a href='/'></a>.</p>", "emptied"),
        ("html", "<p>A <b>casa</b>.</p>", "<p>The house.</p>", "tags"),
        ("markdown", "Casa[^1].\n\n[^1]: Nova.", "House[^1].\n\n1: New.", "footnotes"),
        ("markdown", "[Casa](u) nova", "[](u) new house", "emptied"),
        ("srt", "1\nt\n<i>Casa\n", "1\nt\n<i>\n", "words lost"),
        ("po", 'msgid "Page%d"\nmsgstr ""\n', 'msgid "Page%d"\nmsgstr "%d"\n', "words lost"),
        ("po", 'msgid "Page%d"\nmsgstr ""\n', 'msgid "Page%d"\nmsgstr "Página"\n', "placeholders"),
        ("text", "São 480.000.000 casas", "They are 480,000 houses", "digits"),
    ],
)
def test_a_loss_is_seen(format, source, output, problem):
    assert any(problem in text for text in problems(format, source, output))


def test_words_are_needed_only_where_the_bare_translation_has_them():
    bare, outputs = ["Ela viu a casa azul.", "A casa caiu."], ["She saw the blue home.", "It fell."]
    assert not lost_words("pt-en", bare, outputs, ["The house is blue, which she saw"])
    assert lost_words("pt-en", bare, outputs, ["She saw it, the blue"]) == [r"house\w*|home\w*"]


def test_a_command_that_copies_has_lost_the_words(tmp_path):
    nmt = tmp_path / "nmt"
    nmt.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\ncp "$3" "$2"\n')
    nmt.chmod(0o755)
    translator = Translator(str(nmt), tmp_path, {("pt-en", "A casa."): "The house."})
    lost, kept = (
        translator.faults([Case("pt-en", "text", f"{text}\n", ("A casa.",))])[0]
        for text in ("A casa (nova).", "The house.")
    )
    assert lost == [r"lost words: house\w*|home\w*", "A casa (nova).\n"]
    assert not kept
