"""BLEU tokenizes Chinese, Japanese, Korean and Thai as sacreBLEU does for these languages."""

import importlib.util
import logging
from pathlib import Path

import pytest
from sacrebleu.metrics import BLEU, TER

from nmt_cli.evaluate import scores
from nmt_cli.evaluate.evaluation import Candidate, evaluate_candidates
from nmt_cli.evaluate.scores import bleu_tokenizer, count, evaluate
from nmt_cli.evaluate.texts import read_text

CHINESE = (["今天的天气真的很好。", "我喜欢读书。"], ["今天的天气真的不错。", "我很喜欢读书。"])
MECAB = {"ja-mecab": "MeCab", "ko-mecab": "mecab_ko"}


@pytest.mark.parametrize(
    ("language", "name"),
    [
        ("zh", "zh"), ("zh-Hant", "zh"), ("zh_CN", "zh"), ("zho_Hans", "zh"), ("cmn", "zh"),
        ("th", "char"), ("tha_Thai", "char"), ("my", "char"), ("ja", "ja-mecab"),
        ("ko-KR", "ko-mecab"), ("en", "13a"), ("", "13a"), ("zhx", "13a"), ("pt-BR", "13a"),
    ],
)  # fmt: skip
def test_tokenizers_by_language(language: str, name: str) -> None:
    if name in MECAB and importlib.util.find_spec(MECAB[name]) is None:
        name = "char"
    assert bleu_tokenizer(language) == name


def test_scores_are_sacrebleus() -> None:
    hypotheses, references = CHINESE
    expected = BLEU(tokenize="zh")
    value = expected.corpus_score(hypotheses, [references]).score
    ours, _ = evaluate(hypotheses, references, "zh")
    assert (ours.value, ours.signature) == (value, str(expected.get_signature()))
    assert "tok:zh" in ours.signature
    bleu, _, ter = count(hypotheses, [references], language="zh")
    assert bleu.score_of() == pytest.approx(value)
    # Two of 10 characters are others, and one of 7 is missing.
    assert ter.score_of() == pytest.approx(100 * 3 / 17)
    edits = TER(normalized=True, asian_support=True)
    assert ter.score_of() == edits.corpus_score(hypotheses, [references]).score
    assert evaluate(hypotheses, references)[0].value == 0.0  # each sentence is one word


def test_a_missing_package_is_reported_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class WithoutMecab(BLEU):
        def __init__(self, *args: object, tokenize: str = "13a", **options: object) -> None:
            if "mecab" in tokenize:
                raise RuntimeError("\nJapanese tokenization requires extra dependencies\n")
            super().__init__(tokenize=tokenize)

    monkeypatch.setattr(scores, "BLEU", WithoutMecab)
    caplog.set_level(logging.WARNING)
    bleu_tokenizer.cache_clear()
    for _ in range(2):
        assert "tok:char" in evaluate(["猫です。"], ["犬です。"], "ja")[0].signature
    assert caplog.messages == [
        "BLEU counts characters: ja-mecab is not installed; pip install 'sacrebleu[ja]'"
    ]
    bleu_tokenizer.cache_clear()


def test_the_language_of_files(tmp_path: Path) -> None:
    for name, lines in zip(("a.zh", "b.zh"), CHINESE, strict=True):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        (tmp_path / name).with_suffix(".txt").write_bytes((tmp_path / name).read_bytes())

    def signature(suffix: str, language: str | None, of_model: str = "") -> str:
        text = read_text(None, [tmp_path / f"b{suffix}"], None)
        systems = [Candidate("a", tmp_path / f"a{suffix}", None, of_model)]
        [evaluation] = evaluate_candidates(systems, [text], language=language)
        return evaluation.results[0].signature

    assert "tok:zh" in signature(".zh", None)
    assert "tok:13a" in signature(".txt", None)
    assert "tok:zh" in signature(".txt", "zh")
    assert "tok:13a" in signature(".zh", "en")
    assert "tok:char" in signature(".zh", None, of_model="th")
