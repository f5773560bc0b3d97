"""The text path: nothing is lost, and positions are those of the line and the translation."""

import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.recipe.model import DecodingConfig
from nmt_cli.search.lines import Translation
from nmt_cli.search.segments import BeamSearch
from nmt_cli.search.translator import Translator
from nmt_cli.text import path as path_module
from nmt_cli.text import steps
from nmt_cli.text.edits import MappedText
from nmt_cli.text.languages import language_of
from nmt_cli.text.path import TextPath
from nmt_cli.text.reading import Reading
from nmt_cli.text.sentence_piece import SentencePieceTokenizer
from nmt_cli.text.steps import Step
from nmt_cli.text.tokenizer import Tokenizer, TokenizerPair
from nmt_cli.text.word_piece import WordPieceTokenizer
from tests.search.fakes import FakeStepModel, copying, options
from tests.vectors import VECTORS, by_example, translate

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "exports" / "pt-en" / "tokenizer" / "joint.model"
PLAIN = SentencePieceTokenizer(MODEL)
NORMALIZING = SentencePieceTokenizer(MODEL, punctuation="pt")
LONG = "Uma frase. Outra frase um pouco mais longa! E a última, com internacionalização."


@pytest.fixture(scope="module")
def word_piece(tmp_path_factory: pytest.TempPathFactory) -> Callable[[bool], Tokenizer]:
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZçãõéß.,!?()'\"-0123456789"
    pieces = ["[PAD]", "[UNK]", "[START]", "[END]", "ab", "##ra", "porta", *letters]
    pieces += [f"##{letter}" for letter in letters]
    path = tmp_path_factory.mktemp("wordpiece") / "vocab.txt"
    path.write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
    return lambda lowercase: WordPieceTokenizer(path, lowercase=lowercase)


def copied(
    line: str,
    tokenizer: Tokenizer,
    chosen: tuple[Step, ...] = (),
    max_source: int = 100,
    **settings: object,
) -> Translation:
    """Copy a line token by token: each target word is aligned to the source word at its place."""
    model = FakeStepModel(copying, tokenizer.vocab_size)
    pair = TokenizerPair(tokenizer, tokenizer)
    path = TextPath(pair, max_source, chosen)
    search = replace(options(1), alignments=True, **settings)  # type: ignore[arg-type]
    (translation,) = Translator(BeamSearch(model, pair), path, search).translate([line])
    return translation


def aligned(line: str, translation: Translation) -> list[tuple[str, str]]:
    source, target = translation.source_words, translation.target_words
    return [
        (line[slice(*source[i])], translation.text[slice(*target[j])])
        for i, j in translation.alignment or []
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ABRA A PORTA!", "ABRA A PORTA!"),
        ("ﬁm da ﬁla", "fim da fila"),
        ("DIE STRAẞE IST LANG", "DIE STRASSE IST LANG"),
        ("İSTANBUL ŞEHRİ GÜZEL", "İSTANBUL ŞEHRİ GÜZEL"),
        ("e\u0301 o cafe\u0301 da manha\u0303", "é o café da manhã"),
        ("EXPLICAC\u0327A\u0303O RA\u0301PIDA", "EXPLICAÇÃO RÁPIDA"),
        ("Ｆｕｌｌ ｗｉｄｔｈ：１２", "Full width:１２"),
        ("um\u00a0gato\u00a0preto", "um gato preto"),
        ("inter\u00adnacio\u00adnal e boa", "internacional e boa"),
        ("  muito \t espaço  ", "  muito \t espaço  "),
        ("½ xícara… sim™ 日本🙂 ok", "1⁄2 xícara... simTM 日本🙂 ok"),
    ],
)
def test_words_are_those_of_the_users_line(line: str, expected: str) -> None:
    translation = copied(line, PLAIN, (steps.fold_capitals,))
    # The vocabulary's own rules may compose what str.upper decomposed.
    assert MappedText(translation.text).text.replace("I\u0307", "İ") == expected
    assert aligned(line, translation) == list(
        zip(line.split(), translation.text.split(), strict=True)
    )


@pytest.mark.parametrize("line", [LONG, LONG.upper(), LONG.replace(" ", "\u00a0 ")])
@pytest.mark.parametrize("max_source", [4, 8, 12])
def test_words_of_a_line_in_parts(line: str, max_source: int) -> None:
    translation = copied(line, PLAIN, (steps.fold_capitals,), max_source)
    word_pairs = aligned(line, translation)
    # A word in two parts is two words of the translation.
    assert "".join(target for _, target in word_pairs) == "".join(line.split())
    assert list(dict.fromkeys(source for source, _ in word_pairs)) == line.split()


@pytest.mark.parametrize(
    ("line", "pairs"),
    [
        ("5 % de «gato»", [("5", "5%"), ("de", "de"), ("«gato»", '"gato"')]),
        ("a—b ( c )", [("a—b", "a"), ("a—b", "-"), ("a—b", "b"), ("(", "(c)")]),
        ("l’été  … sim", [("l’été", "l'été"), ("…", "..."), ("sim", "sim")]),
    ],
)
def test_words_of_normalized_punctuation(line: str, pairs: list[tuple[str, str]]) -> None:
    word_pairs = aligned(line, copied(line, NORMALIZING))
    assert [target for _, target in word_pairs] == [target for _, target in pairs]
    assert word_pairs == pairs


def test_words_with_repaired_code() -> None:
    def misspelling(source: tuple[int, ...], history: tuple[int, ...]) -> dict[int, float]:
        return copying((*source[:-3], *source[-2:]), history)

    pair, line = TokenizerPair(PLAIN, PLAIN), "Chame item_count agora mesmo"
    model = FakeStepModel(misspelling, PLAIN.vocab_size)
    search = replace(options(1), alignments=True)
    path = TextPath(pair, 100, keeps_code=True)
    (translation,) = Translator(BeamSearch(model, pair), path, search).translate([line])
    assert "item_count" in translation.text
    words = [translation.text[slice(*span)] for span in translation.target_words]
    assert words == translation.text.split()


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("line", ["Abra a porta, por favor!", "(ABRA) A PORTA?", "é um\tcafé"])
def test_words_of_word_piece(
    word_piece: Callable[[bool], Tokenizer], line: str, lowercase: bool
) -> None:
    tokenizer = word_piece(lowercase)
    translation = copied(line, tokenizer)
    word_pairs = aligned(line, translation)
    assert [target for _, target in word_pairs] == translation.text.split()
    assert list(dict.fromkeys(source for source, _ in word_pairs)) == line.split()
    for source, target in word_pairs:
        if "[UNK]" not in target:
            assert target.casefold() in source.casefold().replace("é", "e" if lowercase else "é")


texts = st.one_of(
    st.text("aé ABÇß İ.,_—%«»()\u0301\u00a0\u00ad\u200bﬁ½Ｆ１\t日🙂", max_size=20),
    st.text(max_size=12),
)


@given(texts)
def test_spans_belong_to_ids(text: str) -> None:
    for tokenizer in (PLAIN, NORMALIZING):
        (ids,), spans = tokenizer.encode([text]), tokenizer.spans(text)
        assert len(ids) == len(spans)
        ends = [0, *(end for _, end in spans)]
        assert all(ends[i] <= end <= len(text) and start <= end
                   for i, (start, end) in enumerate(spans))  # fmt: skip
        decoded, spans = tokenizer.decode_spans([3, *ids, 3])
        assert decoded == tokenizer.decode([ids])[0]
        assert len(spans) == len(ids) + 2
        assert "".join(decoded[slice(*span)] for span in spans) == decoded


@given(texts, st.booleans())
def test_spans_of_word_piece_belong_to_ids(
    word_piece: Callable[[bool], Tokenizer], text: str, lowercase: bool
) -> None:
    tokenizer = word_piece(lowercase)
    (ids,), spans = tokenizer.encode([text]), tokenizer.spans(text)
    assert len(ids) == len(spans)
    decoded, spans = tokenizer.decode_spans([2, *ids, 3])
    assert decoded == tokenizer.decode([ids])[0]
    assert len(spans) == len(ids) + 2


@given(texts, st.data())
def test_edits_keep_track_of_positions(text: str, data: st.DataObject) -> None:
    result, plain = MappedText(text), text
    for _ in range(data.draw(st.integers(0, 3))):
        cuts = sorted(data.draw(st.lists(st.integers(0, len(plain)), max_size=4)))
        edits = [
            (start, end, data.draw(st.text("aé x", max_size=3)))
            for start, end in zip(cuts[::2], cuts[1::2], strict=False)
        ]
        for start, end, new in reversed(edits):
            plain = plain[:start] + new + plain[end:]
        result = result.replaced(edits)
    assert result.text == plain
    spans = [result.origin(position, position + 1) for position in range(len(plain))]
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    assert spans == sorted(spans)
    for position in range(len(text)):  # what is unchanged is found where it is
        start, end = result.current(position, position + 1)
        assert 0 <= start <= end <= len(plain)


def test_a_new_step_is_a_function_and_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_hyphens(reading: Reading) -> None:
        reading.edits += [(*match.span(), " ") for match in re.finditer("-", reading.text)]
        reading.after.append(lambda text: text.substituted(re.compile(" "), "-"))

    chosen = (*path_module.STEPS, ("repair_code", without_hyphens))
    monkeypatch.setattr(path_module, "STEPS", chosen)
    path = TextPath.of(TokenizerPair(PLAIN, PLAIN), DecodingConfig(repair_code=True))
    line = "bem-vindo... guarda-chuva"
    translation = copied(line, PLAIN, path.steps)
    assert translation.text == "bem-vindo...-guarda-chuva"
    assert aligned(line, translation) == [("bem-vindo...", "bem-vindo...-guarda-chuva")]


@pytest.mark.parametrize("example", VECTORS["examples"], ids=lambda example: example["about"])
def test_vectors_that_all_implementations_share(example: dict[str, Any]) -> None:
    final, reads = translate(
        example["line"], example["settings"], example["languages"], by_example(example)
    )
    assert final == example["final"]
    assert dict(reads) == example["reads"]
    assert {text for text, _ in reads} == set(example["model"])


LETTERS = re.compile(r"[^\W\d_]")
KEPT = ["{name}", "%d", "item_count", "https://a.pt/x", "a@b.pt", "10/12/2024", "10:30"]
WORDS = [",", "\t", "\n", "...", "—", "uma", "casa", "O", "GATO", "ATENÇÃO", "(novo)", "“sim”"]
WORDS += ["Sim.", "Não!", "e/ou", "Sr.", "inter\xadnacional", "12", "1.500,25"]


@given(
    st.lists(st.sampled_from([*WORDS, *KEPT, *KEPT]), max_size=16),
    st.integers(0, 1 << 30),
)
def test_nothing_is_lost_whatever_the_model_says(words: list[str], seed: int) -> None:
    def hostile(text: str) -> tuple[str, float]:
        """Drop, repeat and shuffle words, and change digits and letters."""
        rng = random.Random(f"{seed} {text}")
        read = [word for word in text.split() for _ in range(rng.choice((0, 1, 1, 1, 2)))]
        rng.shuffle(read)
        changed = ("".join(rng.choice((c, c, c, "7", "x", "")) for c in word) for word in read)
        return rng.choice((" ".join(changed), " ".join(read), "", "...")), -rng.random()

    line = " ".join(words)
    settings = {"fold_capitals": True, "repair_code": True, "set_off_signs": True, "max_source": 24}
    final, reads = translate(line, settings, ("pt", "en"), hostile)
    for word in KEPT:
        assert final.count(word) >= words.count(word), (line, final, reads)
    assert final.count("\n") == line.count("\n")
    assert final.count("\t") == line.count("\t")
    for number, written in (("1.500,25", "1,500.25"), ("12", "12")):
        if number in words:
            assert written in final
    assert bool(LETTERS.search(line)) == bool(LETTERS.search(final))
    assert translate(line, settings, ("pt", "en"), hostile)[0] == final


@given(st.text('aB .!?\n\t()"“”…—:-。日1,5é\xad', max_size=40), st.integers(2, 12))
def test_a_copying_model_keeps_every_letter_and_digit(line: str, max_source: int) -> None:
    settings = {"max_source": max_source, "fold_capitals": True, "set_off_signs": True}
    final, _ = translate(line, settings, ("xx", "xx"), lambda text: (text, 0.0))

    def essence(text: str) -> str:
        return "".join(c for c in text if c.isalnum())

    assert essence(final) == essence(line)


def test_placeholders_are_not_cut_and_no_sentence_ends_in_them() -> None:
    line, mark = "Abra a. Pasta agora. Sim.", (5, 13)  # "a. Pasta"
    path = TextPath(TokenizerPair(PLAIN, PLAIN), 100, languages=(language_of("pt"),) * 2)
    (passage,) = path.read([line], [True], [[mark]])
    assert [unit.text.text for unit in passage.parts] == ["Abra a. Pasta agora.", "Sim."]
    (item,) = passage.parts[0].reading.items
    assert item.written == ("a. Pasta",)
    (again,) = path.again(passage, passage.parts[0])
    assert again.text.text == "Abra 37 agora."
    pieces = path.again(passage, again)
    assert [unit.text.text for unit in pieces] == ["Abra", " a. Pasta ", "agora."]


def test_a_second_reading_has_a_word_for_each_pair() -> None:
    chosen = {"reads_twice": True, "aligns": True}
    path = TextPath(TokenizerPair(PLAIN, PLAIN), 100, **chosen)  # type: ignore[arg-type]
    (passage,) = path.read(["(uma) (casa)"], [True])
    (second,) = path.second(passage, passage.parts[0])
    assert second.text.text == "uma casa"
    assert second.reading.written(MappedText("a house"))[1]
    assert not second.reading.written(MappedText("house"))[1]


def test_lines_that_are_not_free_stay_whole() -> None:
    path = TextPath(TokenizerPair(PLAIN, PLAIN), 100, (steps.fold_capitals,), keeps_code=True)
    line = "ABRA A PORTA. Use item_count."
    for passage in (
        *path.read([line], [False]),
        *replace(path, edits=False).read([line], [True]),
    ):
        assert [unit.text.text for unit in passage.units] == [line]
        text, _ = passage.units[0].reading.written(MappedText("Open.\nUse x."))
        assert text.text == "Open. Use x."
