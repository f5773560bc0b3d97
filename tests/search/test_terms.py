"""Glossaries with a real model: terms are placed, and nothing else changes."""

import gzip
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from nmt_cli import models
from nmt_cli.formats import translate_document
from nmt_cli.formats.placing import Translate
from nmt_cli.models import PivotModel, TranslationModel
from nmt_cli.search.lines import Line
from nmt_cli.search.translator import Translator
from nmt_cli.text.glossary import Glossary

EXPORTS = Path(__file__).parents[2] / "exports"
GLOSSARY = Glossary(
    {"casa": "dwelling", "farmácia": "chemist", "livro": "volume", "banco": "bench", "xadrez": "♞"}
)


@pytest.fixture(scope="module")
def model() -> Iterator[TranslationModel]:
    with models.open(EXPORTS / "pt-en") as opened:
        yield opened


@pytest.fixture(scope="module")
def translator(model: TranslationModel) -> Translator:
    return model.translator()


def translated(translator: Translator, line: str, placeholders: tuple[str, ...] = ()) -> str:
    spans = tuple((line.index(text), line.index(text) + len(text)) for text in placeholders)
    given = Line(line, placeholders=spans, terms=GLOSSARY.found(line))
    ((translation),) = translator.translate([given])
    return translation.text


@pytest.mark.parametrize(
    ("line", "words", "unwanted"),
    [
        ("A casa é azul.", ["dwelling", "blue"], "house"),
        ("Onde fica a farmácia?", ["Where", "chemist"], "pharmacy"),
        ("O livro era bom, mas a casa era velha.", ["volume", "good", "dwelling", "old"], "book"),
        ("Bom dia. Ele leu o livro.", ["Good morning", "He", "read", "volume"], "book"),
        ("A CASA É GRANDE.", ["DWELLING", "BIG"], "HOUSE"),
        ("A casa (azul) tem 3 portas.", ["dwelling", "(", "blue", "3"], "house"),
        ("O livro custa R$ 1.234,56.", ["volume", "1,234.56"], "book"),
        ("A minha casa é a tua casa.", ["my", "dwelling"], "chemist"),
    ],
)
def test_a_term_replaces_what_the_model_writes(
    translator: Translator, line: str, words: list[str], unwanted: str
) -> None:
    text = translated(translator, line)
    assert all(word.lower() in text.lower() for word in words), text
    assert unwanted not in text
    assert not re.search(r"dwelling.*house|  ", text)


def test_placeholders_stay(translator: Translator) -> None:
    assert "%(name)s" in translated(translator, "A casa de %(name)s é azul.", ("%(name)s",))


def test_other_lines_and_satisfied_terms_do_not_change(model: TranslationModel) -> None:
    lines = ["Bom dia!", "", "A casa é azul.", "Onde fica a estação?"]
    plain = [translation.text for translation in model.translate(lines)]
    glossary = Glossary({"casa": "house", "sol": "sun"})
    given = [Line(line, terms=glossary.found(line)) for line in lines]
    assert [translation.text for translation in model.translator().translate(given)] == plain


def test_terms_do_not_depend_on_the_batch(translator: Translator) -> None:
    lines = ["A casa é azul.", "Bom dia!", "Onde fica a farmácia?", "O banco da casa é novo."]
    given = [Line(line, terms=GLOSSARY.found(line)) for line in lines]
    together = [translation.text for translation in translator.translate(given)]
    assert together == [translated(translator, line) for line in lines]


def test_a_term_that_cannot_be_placed_is_reported(
    translator: Translator, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert "chess" in translated(translator, "Gosto de xadrez.")
    assert caplog.messages == ["line 1: 'xadrez' is not translated as '♞', as the glossary says"]


def test_alignments_are_those_of_the_new_words(model: TranslationModel, tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("casa\tdwelling\n", encoding="utf-8")
    (translation,) = model.translate(["A casa é azul."], glossary=path, alignments=True)
    words = translation.text.split()
    (source,) = [i for i, j in translation.alignment or [] if words[j].startswith("dwelling")]
    assert source == 1
    assert len(translation.token_scores) == len(translation.tokens)


def test_pivot(model: TranslationModel) -> None:
    with models.open(EXPORTS / "en-pt") as back, PivotModel([model, back]) as pivot:
        lines = ["A casa é azul.", "", "Obrigado pela ajuda!", "Ele tem 3 livros e 1.234,56 euros."]
        between = [translation.text for translation in model.translate(lines)]
        expected = [translation.text for translation in back.translate(between)]
        results = list(pivot.translate(lines, models.DecodingOptions(alignments=True)))
        assert [translation.text for translation in results] == expected
        assert (pivot.languages, pivot.has_attention) == (("pt", "pt"), True)
        blue = results[0].text.split().index("azul.")
        assert (3, blue) in (results[0].alignment or [])
        assert results[0].source_words == [(0, 1), (2, 6), (7, 8), (9, 14)]
        lines = ["A casa é azul. O livro é bom!"]
        whole = models.DecodingOptions(split_sentences=False)
        (first,) = model.translate(lines, whole)
        (second,) = back.translate([first.text], whole)
        assert [item.text for item in pivot.translate(lines, whole)] == [second.text]
        line = "Bom dia, %s!"
        (kept,) = pivot.translator().translate([Line(line, placeholders=((9, 11),))])
        assert "%s" in kept.text


def test_models_of_a_pivot_must_fit(model: TranslationModel) -> None:
    with pytest.raises(models.ModelError, match=r"translates to en, but .* from pt; give the mode"):
        PivotModel([model, model])
    with pytest.raises(models.OptionError, match="`pivot` needs two models or more"):
        PivotModel([model])


@pytest.mark.parametrize(
    ("terms", "line", "expected"),
    [
        ({"gato": "feline"}, "O gato viu o gato.", "The feline saw the feline."),
        ({"casa": "dwelling"}, "Minha casa é a tua casa.", "My dwelling is your dwelling."),
        ({"ficheiro": "record"}, "O ficheiro %s não existe.", "The record %s does not exist."),
        ({"ficheiro": "record"}, "ficheiro(s)", "record(s)"),
        ({"livros": "tomes"}, "Eu gosto de livros.", "I like tomes."),
        ({"Maria": "María José"}, "Maria foi à escola.", "María José went to school."),
        ({"Lisboa": "Ulyssippo"}, "O Rio (Lisboa) é lindo.", "Rio (Ulyssippo) is beautiful."),
        ({"C++": "Cpp"}, "Eu programo em C++.", "I program in Cpp."),
        ({"(casa)": "(dwelling)"}, "A (casa) é azul.", "The (dwelling) is blue."),
        ({"casa": "home base"}, "~casa~", "~home base~"),
        ({"casa": "home base"}, "(casa)", "(home base)"),
        ({"não": "nope"}, "Eu não sei.", "I nope know."),
        ({"casa": "dwelling"}, "Olá {casa}, tudo bem?", "Hello {casa}, how are you?"),
    ],
)
def test_only_the_words_of_a_term_change(
    translator: Translator,
    caplog: pytest.LogCaptureFixture,
    terms: dict[str, str],
    line: str,
    expected: str,
) -> None:
    (translation,) = translator.translate([Line(line, terms=Glossary(terms).found(line))])
    assert translation.text == expected
    assert not caplog.messages


def test_every_translation_of_a_line_has_the_terms(model: TranslationModel, tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"casa,dwelling,PT-BR,EN-US\n"))
    (translation,) = model.translate(
        ["A casa é grande e bonita."], glossary=str(path), n_best=3, beam_size=4
    )
    texts = [other.text for other in translation.n_best]
    assert len(texts) == 3
    assert all("dwelling" in text for text in texts)


@pytest.mark.parametrize("target", ["{co} home", "<b>home</b>", "%s home", "*home*", "[a](b)"])
def test_documents_keep_their_words_if_a_term_looks_like_markup(
    tmp_path: Path, model: TranslationModel, target: str
) -> None:
    path = tmp_path / "a.tsv"
    path.write_text(f"casa\t{target}\n", encoding="utf-8")
    translator = model.translator(models.DecodingOptions(glossary=path, alignments=True))
    translate = Translate(translator.translate, True, has_terms=True)
    for format, text in (
        ("html", "<p>A casa é azul.</p>"),
        ("json", '{"a": "A casa é azul."}'),
        ("markdown", "A casa é azul."),
    ):
        assert "blue" in translate_document(format, text, "a", translate)
