"""Buckets and worst sentences."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF, TER

from nmt_cli.evaluate.evaluation import (
    Candidate,
    by_domain,
    by_length,
    evaluate_candidates,
    evaluate_systems,
    worst_sentences,
)
from nmt_cli.evaluate.scores import System, count
from nmt_cli.evaluate.texts import EvaluationText
from tests.evaluate.samples import REFERENCE, SECOND, SENTENCES, SYSTEMS


def counted(*references: list[str]) -> list[System]:
    return [System(name, text, count(text, references)) for name, text in SYSTEMS.items()]


ONE = counted(REFERENCE)


class TestBuckets:
    @pytest.mark.parametrize(
        ("words", "label"),
        [
            *((0, "0"), (1, "1-10"), (10, "1-10"), (11, "11-20"), (20, "11-20"), (21, "21-30")),
            *((30, "21-30"), (31, "31-50"), (50, "31-50"), (51, "51+"), (900, "51+")),
        ],
    )
    def test_edges(self, words: int, label: str) -> None:
        (bucket,) = by_length(["a " * words], [System("one", ["b"], count(["b"], [["b"]]))])
        assert (bucket.label, bucket.sentences) == (label, 1)

    def test_shortest_first_and_each_sentence_once(self) -> None:
        buckets = by_length(REFERENCE, ONE)
        assert [each.label for each in buckets] == ["1-10", "11-20", "21-30"]
        short = sum(len(line.split()) <= 10 for line in REFERENCE)
        assert buckets[0].sentences == short
        assert sum(each.sentences for each in buckets) == SENTENCES

    def test_words_are_separated_by_any_white_space(self) -> None:
        system = System("one", ["b"], count(["b"], [["b"]]))
        assert by_length(["\u3000" + "a\t\u00a0" * 11], [system])[0].label == "11-20"

    def test_a_buckets_scores_are_those_of_its_sentences(self) -> None:
        domains = [("news", "law", "talk")[row % 3] for row in range(SENTENCES)]
        buckets = by_domain(domains, ONE)
        assert [each.label for each in buckets] == ["news", "law", "talk"]
        for index, bucket in enumerate(buckets):
            for name, text in SYSTEMS.items():
                some = text[index::3], [REFERENCE[index::3]]
                metrics = {"BLEU": BLEU(), "chrF++": CHRF(word_order=2), "TER": TER()}
                expected = {key: each.corpus_score(*some).score for key, each in metrics.items()}
                assert bucket.scores[name] == pytest.approx(expected)

    @settings(max_examples=30)
    @given(domains=st.lists(st.sampled_from("abcd"), min_size=SENTENCES, max_size=SENTENCES))
    def test_every_sentence_has_one_domain(self, domains: list[str]) -> None:
        buckets = by_domain(domains, ONE[:1])
        assert {each.label: each.sentences for each in buckets} == {
            each: domains.count(each) for each in dict.fromkeys(domains)
        }


class TestWorst:
    def test_sentences_with_the_lowest_chrf(self) -> None:
        text = EvaluationText("text", None, [REFERENCE, SECOND])
        worst = worst_sentences(text, counted(REFERENCE, SECOND), 5)
        metric = CHRF(word_order=2)
        assert [sentence.system for sentence in worst] == [
            name for name in SYSTEMS for _ in range(5)
        ]
        for name, lines in SYSTEMS.items():
            pairs = zip(REFERENCE, SECOND, strict=True)
            scores = [
                metric.sentence_score(line, list(pair)).score
                for line, pair in zip(lines, pairs, strict=True)
            ]
            rows = sorted(range(SENTENCES), key=lambda row: scores[row])[:5]
            rows_found = [sentence for sentence in worst if sentence.system == name]
            assert [sentence.line for sentence in rows_found] == [row + 1 for row in rows]
            assert [sentence.score for sentence in rows_found] == pytest.approx(
                [scores[row] for row in rows]
            )

    def test_attributes(self) -> None:
        text = EvaluationText("text", ["gato", "cão"], [["cat", "dog"], ["kitten", "hound"]])
        lines = ["cat", "tree"]
        (worst,) = worst_sentences(text, [System("s", lines, count(lines, text.references))], 1)
        assert (worst.line, worst.source, worst.translation) == (2, "cão", "tree")
        assert worst.references == ["dog", "hound"]

    def test_blank_lines_are_skipped(self) -> None:
        text = EvaluationText("text", None, [["", "a", " "]])
        lines = [" ", "b", ""]
        worst = worst_sentences(text, [System("s", lines, count(lines, text.references))], 9)
        assert [sentence.line for sentence in worst] == [2]


def test_the_length_is_of_the_source_or_else_the_first_reference() -> None:
    text = EvaluationText("text", ["a " * 40], [["a " * 15], ["a " * 5]])
    bare = EvaluationText("text", None, text.references)
    for evaluated, label in ((text, "31-50"), (bare, "11-20")):
        evaluation = evaluate_systems(evaluated, {"s": ["a"]}, ["length"], 0)
        assert [bucket.label for bucket in evaluation.buckets["length"]] == [label]
        assert evaluation.worst == []


@pytest.mark.parametrize("ends", [100, 99])
def test_tokenized_text_is_reported(
    tmp_path: Path, ends: int, caplog: pytest.LogCaptureFixture
) -> None:
    lines = ["a ."] * ends + ["a."]
    (tmp_path / "s").write_text("\n".join(lines))
    text = EvaluationText("text", None, [lines], files=[tmp_path / "s"])
    evaluate_candidates([Candidate("s", tmp_path / "s")], [text])
    warning = 's: lines end in " .", as in tokenized text; BLEU expects plain text'
    assert caplog.messages == [warning] * (ends == 100)
