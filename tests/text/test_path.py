"""The text path: positions in the user's line and in the final translation."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.recipe.model import DecodingConfig
from nmt_cli.search.segments import BeamSearch
from nmt_cli.search.translator import Translation, Translator
from nmt_cli.text import path as path_module
from nmt_cli.text.edits import Edited, MappedText, Step, fold_capitals, repair_code
from nmt_cli.text.path import TextPath
from nmt_cli.text.sentence_piece import SentencePieceTokenizer
from nmt_cli.text.tokenizer import Tokenizer, TokenizerPair
from nmt_cli.text.word_piece import WordPieceTokenizer
from tests.search.fakes import FakeStepModel, copying, options

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
    steps: tuple[Step, ...] = (),
    max_source: int = 100,
    **settings: object,
) -> Translation:
    """Copy a line token by token: each target word is aligned to the source word at its place."""
    model = FakeStepModel(copying, tokenizer.vocab_size)
    pair = TokenizerPair(tokenizer, tokenizer)
    path = TextPath(pair, max_source, steps)
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
        ("Ｆｕｌｌ ｗｉｄｔｈ：１２", "Full width:12"),
        ("um\u00a0gato\u00a0preto", "um gato preto"),
        ("inter\u00adnacio\u00adnal e boa", "inter\u00adnacio\u00adnal e boa"),
        ("  muito \t espaço  ", "muito espaço"),
        ("½ xícara… sim™ 日本🙂 ok", "1⁄2 xícara... simTM 日本🙂 ok"),
    ],
)
def test_words_are_those_of_the_users_line(line: str, expected: str) -> None:
    translation = copied(line, PLAIN, (fold_capitals, repair_code))
    # The vocabulary's own rules may compose what str.upper decomposed.
    assert MappedText(translation.text).text.replace("I\u0307", "İ") == expected
    assert aligned(line, translation) == list(
        zip(line.split(), translation.text.split(), strict=True)
    )


@pytest.mark.parametrize("line", [LONG, LONG.upper(), LONG.replace(" ", "\u00a0 ")])
@pytest.mark.parametrize("max_source", [4, 8, 12])
def test_words_of_a_line_in_parts(line: str, max_source: int) -> None:
    translation = copied(line, PLAIN, (fold_capitals,), max_source)
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

    tokenizer, line = PLAIN, "Chame item_count agora"
    pair = TokenizerPair(tokenizer, tokenizer)
    ids = tokenizer.encode([line])[0]
    wrong = tokenizer.decode([ids[:-3] + ids[-2:]])[0]
    model = FakeStepModel(misspelling, tokenizer.vocab_size)
    search = replace(options(1), alignments=True)
    path = TextPath(pair, 100, (repair_code,))
    (translation,) = Translator(BeamSearch(model, pair), path, search).translate([line])
    words = [translation.text[slice(*span)] for span in translation.target_words]
    assert words == translation.text.split()
    assert wrong.split()[0] == words[0]


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


@given(texts)
def test_case_is_changed_as_python_does(text: str) -> None:
    lower = MappedText(text).cased(str.lower)
    assert lower.text == text.lower()
    upper = lower.cased(str.upper)
    assert upper.text == text.lower().upper()
    for position in range(len(text)):
        start, end = upper.current(position, position + 1)
        assert upper.text[start:end] == text[position].lower().upper() or "Σ" in text


def test_a_new_step_is_a_function_and_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def dots(line: MappedText) -> Edited:
        return (
            line.substituted(re.compile(r"…"), "..."),
            lambda translation: translation.substituted(re.compile(r"\.\.\."), "…"),
        )

    monkeypatch.setattr(path_module, "STEPS", (*path_module.STEPS, ("repair_code", dots)))
    path = TextPath.of(TokenizerPair(PLAIN, PLAIN), DecodingConfig(repair_code=True))
    line = "Sim… ou não… item_count"
    translation = copied(line, PLAIN, path.steps)
    assert translation.text == line
    assert aligned(line, translation) == [(word, word) for word in line.split()]


def test_sentences_are_split_as_documented() -> None:
    tokenizer = PLAIN
    path = TextPath(TokenizerPair(tokenizer, tokenizer), 6)
    (passage,) = path.read(["Um. “Dois.”\tTrês? Quatro quatro quatro quatro.  "], [True])
    joined = [tokenizer.decode([part])[0] for part in passage.parts]
    assert joined[:3] == ["Um.", "“Dois.”", "Três?"]
    assert re.sub(r"\s", "", "".join(joined)) == re.sub(r"\s", "", passage.line)


VECTORS = json.loads((ROOT / "tests/vectors/text_path.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("example", VECTORS["examples"], ids=lambda example: example["line"])
def test_vectors_that_all_implementations_share(example: dict[str, Any]) -> None:
    tokenizer = SentencePieceTokenizer(ROOT / VECTORS["tokenizer"])
    decoding = DecodingConfig(**example["settings"])
    path = TextPath.of(TokenizerPair(tokenizer, tokenizer), decoding)
    (passage,) = path.read([example["line"]], [True])
    assert passage.parts == example["ids"]
    if passage.parts:
        assert passage.text.text == example["tokenizer_reads"]
    assert path.written(passage, example["model_writes"]).text == example["final"]
