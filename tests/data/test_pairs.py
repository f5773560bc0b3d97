"""Synthetic pairs: drawing, mixing with real pairs, and preparing both."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.data.batches import training_batches
from nmt_cli.data.corpus import Corpus
from nmt_cli.data.pairs import draw, mix, without_held_out
from nmt_cli.data.prepare import prepare
from nmt_cli.data.prepared import Prepared
from nmt_cli.errors import ModelError, RecipeError
from nmt_cli.recipe.config import Recipe
from nmt_cli.recipe.reading import recipe_from
from tests.data.conftest import Preparing
from tests.made_up_text import ENGLISH, PORTUGUESE

PAIRS = list(zip(PORTUGUESE, ENGLISH, strict=True))
MADE = [(f"feito {source}", target) for source, target in PAIRS]


def corpus(count: int) -> Corpus:
    return Corpus("made", [f"s{row}" for row in range(count)], [f"t{row}" for row in range(count)])


@given(st.integers(0, 50), st.integers(0, 50), st.floats(0, 1e308), st.integers(0))
def test_draw_respects_the_ratio_and_keeps_the_order(
    count: int, real: int, ratio: float, seed: int
) -> None:
    made = corpus(count)
    drawn = draw(made, real, ratio, seed)
    assert len(drawn) == (min(count, int(min(count, ratio * real))) if ratio else count)
    pairs = list(zip(drawn.source, drawn.target, strict=True))
    assert pairs == sorted(set(pairs), key=lambda pair: made.source.index(pair[0]))
    assert all(source[1:] == target[1:] for source, target in pairs)
    assert drawn == draw(made, real, ratio, seed)


def test_the_draw_depends_on_the_seed() -> None:
    draws = {tuple(draw(corpus(100), 10, 1.0, seed).source) for seed in range(5)}
    assert len(draws) == 5


def test_synthetic_pairs_that_share_a_held_out_sentence_are_dropped() -> None:
    made = Corpus("made", ["a", "b", "c"], ["x", "y", "z"])
    assert without_held_out(made, Corpus("dev", ["a"], ["z"])) == Corpus("made", ["b"], ["y"])
    assert without_held_out(made, Corpus("dev", ["x"], ["a"])) == made


def test_real_pairs_come_first_and_synthetic_sources_are_tagged() -> None:
    real, made = Corpus("train", ["a"], ["x"]), Corpus("made", ["b", "c"], ["y", "z"])
    assert mix(real, made, "<BT>") == Corpus("train", ["a", "<BT> b", "<BT> c"], ["x", "y", "z"])
    assert mix(real, made, "") == Corpus("train", ["a", "b", "c"], ["x", "y", "z"])
    assert real.source == ["a"]


@pytest.mark.parametrize("place", range(4))
def test_a_tag_that_occurs_in_the_text_is_refused(place: int) -> None:
    sides = [["a"], ["x"], ["b"], ["y"]]
    sides[place].append("some <b>bold</b> word")
    sides[place ^ 1].append("other")
    with pytest.raises(RecipeError, match="<b> occurs in the text: 'some <b>bold") as caught:
        mix(Corpus("train", *sides[:2]), Corpus("made", *sides[2:]), "<b>")
    assert caught.value.hint == "choose a tag that does not"


def write(prefix: Path, pairs: list[tuple[str, str]]) -> None:
    prefix.parent.mkdir(parents=True, exist_ok=True)
    for side, language in enumerate(("pt", "en")):
        text = "".join(f"{pair[side]}\n" for pair in pairs)
        prefix.with_name(f"{prefix.name}.{language}").write_text(text, encoding="utf-8")


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    folder = tmp_path / "texts"
    write(folder / "train", PAIRS[:60])
    write(folder / "dev", PAIRS[60:70])
    write(folder / "made", MADE[70:100])
    return folder


def recipe(root: Path, seed: int = 1, **data: Any) -> Recipe:
    tree = {
        "seed": seed,
        "data": {"root": str(root), "train": ["train"], "dev": ["dev"], **data},
        "tokenizer": {"vocab_size": 400},
    }
    return recipe_from(tree, "test")


def trained(prepared: Prepared) -> list[tuple[str, str]]:
    """Return the training pairs as text."""
    source, target = prepared.arrays("train")
    tokenizers, rows = prepared.tokenizers(), range(len(source))
    return list(
        zip(
            tokenizers.source.decode([source[row] for row in rows]),
            tokenizers.target.decode([target[row] for row in rows]),
            strict=True,
        )
    )


@pytest.mark.parametrize("kind", [{}, {"model": "bpe"}, {"joint": False}])
def test_tagged_pairs_follow_real_ones(
    texts: Path, tmp_path: Path, kind: dict[str, Any], run: Preparing
) -> None:
    tree = {
        "data": {
            "root": str(texts),
            "train": ["train"],
            "dev": ["dev"],
            "synthetic": ["made"],
            "synthetic_tag": "<BT>",
        },
        "tokenizer": {"vocab_size": 400, **kind},
        "model": {"embeddings": "none"},
    }
    prepared, messages = run(recipe_from(tree, "test"), tmp_path / "out")
    assert trained(prepared) == [*PAIRS[:60], *MADE[70:100]]  # decoding drops the tag
    source, target = prepared.arrays("train")
    [[tag]] = prepared.tokenizers().source.encode(["<BT>"])
    assert [Counter(source[row].tolist())[tag] for row in range(90)] == [0] * 60 + [1] * 30
    assert all(source[row][0] == tag for row in range(60, 90))
    pair = prepared.tokenizers()
    assert pair.source is pair.target or all(tag not in target[row] for row in range(90))
    assert "learning the sentencepiece vocabulary from 90 pairs" in messages
    assert messages[-1] == f"prepared 90 pairs in {tmp_path / 'out'}"


def test_tokenizers_with_a_tag_serve_text_without_one(texts: Path, tmp_path: Path) -> None:
    tagged = recipe(texts, synthetic=["made"], synthetic_tag="<BT>")
    tokenizers = prepare(tagged, tmp_path / "tagged").folder / "tokenizer"
    prepared = prepare(recipe(texts), tmp_path / "plain", tokenizers=tokenizers)
    assert trained(prepared) == PAIRS[:60]
    other = recipe(texts, synthetic=["made"], synthetic_tag="<S>")
    with pytest.raises(RecipeError, match=r"tokenizer: its tag is not data.synthetic_tag = '<S>'"):
        prepare(other, tmp_path / "other", tokenizers=tokenizers)


def test_the_report_counts_both_kinds(texts: Path, tmp_path: Path, run: Preparing) -> None:
    long = " ".join(["O padeiro perdeu o último comboio"] * 8)
    write(texts / "train", [*PAIRS[:60], PAIRS[0], (long, long)])
    write(texts / "made", [*MADE[70:100], PAIRS[0], ("", "x"), MADE[70], (f"{long}!", long)])
    prepared, messages = run(
        recipe(texts, synthetic=["made"], synthetic_tag="<BT>", max_tokens=60), tmp_path / "out"
    )
    assert len(trained(prepared)) == 90
    for line in (
        "pairs read                        62",
        "pairs kept                        60",
        "synthetic pairs read              34",
        "synthetic pairs kept              30",
    ):
        assert line in messages
    assert messages.count("dropped, too many tokens           1") == 2
    record = json.loads((tmp_path / "out" / "prepared.json").read_text())
    assert (record["counts"]["duplicate"], record["counts"]["kept"]) == (1, 60)
    counts = record["synthetic_counts"]
    assert [
        counts[reason] for reason in ("read", "empty", "duplicate", "too_many_tokens", "kept")
    ] == [
        34,
        1,
        2,
        1,
        30,
    ]


def test_the_ratio_and_the_seed(texts: Path, tmp_path: Path, run: Preparing) -> None:
    drawn = []
    for seed in (1, 1, 2):
        prepared, messages = run(
            recipe(texts, seed, synthetic=["made"], synthetic_ratio=0.25), tmp_path / "out"
        )
        assert "data.synthetic_ratio: 15 of 30 synthetic pairs are drawn" in messages
        pairs = trained(prepared)
        assert pairs[:60] == PAIRS[:60]
        assert len(pairs) == 75
        drawn.append(pairs[60:])
        (tmp_path / "out" / "prepared.json").unlink()
        (tmp_path / "out").rename(tmp_path / f"out{len(drawn)}")
    assert drawn[0] == drawn[1] != drawn[2]
    prepared, messages = run(
        recipe(texts, synthetic=["made"], synthetic_ratio=9.0), tmp_path / "out"
    )
    assert len(trained(prepared)) == 90
    assert not any("synthetic_ratio" in line for line in messages)


def test_only_real_pairs_are_held_out(texts: Path, tmp_path: Path, run: Preparing) -> None:
    # The fourth synthetic pair has a held-out target, the fifth a held-out source.
    write(texts / "made", [*MADE[70:73], ("feito", PAIRS[19][1]), (PAIRS[39][0], "made")])
    prepared, _ = run(recipe(texts, dev=[], synthetic=["made"]), tmp_path / "out")
    dev = prepared.text("dev")
    held = list(zip(dev.source, dev.target, strict=True))
    assert held == [PAIRS[19], PAIRS[39], PAIRS[59]]
    assert trained(prepared) == [*(pair for pair in PAIRS[:60] if pair not in held), *MADE[70:73]]


def test_the_key_has_synthetic_settings_only_if_used(
    texts: Path, tmp_path: Path, run: Preparing
) -> None:
    def key(**data: Any) -> str:
        return run(recipe(texts, **data), tmp_path / "out")[0].key

    plain = key()
    assert key(synthetic_tag="<BT>", synthetic_ratio=2.0) == plain
    made = key(synthetic=["made"])
    keys = [
        plain,
        made,
        key(synthetic=["made"], synthetic_tag="<BT>"),
        key(synthetic=["made"], synthetic_ratio=0.1),
        key(synthetic=["made", "dev"]),
        key(train=["train", "made"]),
    ]
    assert len(set(keys)) == len(keys)
    write(texts / "made", MADE[70:99])
    assert key(synthetic=["made"]) != made


def test_an_unused_tag_is_not_in_the_vocabulary(
    texts: Path, tmp_path: Path, run: Preparing
) -> None:
    plain, _ = run(recipe(texts), tmp_path / "plain")
    tagless, _ = run(recipe(texts, synthetic_tag="<BT>"), tmp_path / "tagless")
    for name in ("joint.model", "tokenizer.json"):
        first, second = (prepared.folder / "tokenizer" / name for prepared in (plain, tagless))
        assert first.read_bytes() == second.read_bytes()


def test_a_refused_tag_leaves_no_files(texts: Path, tmp_path: Path, run: Preparing) -> None:
    write(texts / "made", [*MADE[70:80], ("um <BT> dois", "one two")])
    with pytest.raises(RecipeError):
        run(recipe(texts, synthetic=["made"], synthetic_tag="<BT>"), tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["texts"]


def test_weights_follow_their_pairs(texts: Path, tmp_path: Path, run: Preparing) -> None:
    write(texts / "more", PAIRS[70:90])
    long = ("muito " * 200, "very " * 200)  # dropped when tokens are counted
    write(texts / "train", [PAIRS[0], ("", "empty"), long, *PAIRS[1:60]])
    data = {"train": ["train", "more"], "synthetic": ["made"], "max_characters": 2000}
    config = recipe(texts, weights={"more": 2.5, "made": 0.5}, **data)
    prepared, _ = run(config, tmp_path / "out")
    assert prepared.weights().tolist() == [1.0] * 60 + [2.5] * 20 + [0.5] * 30
    assert prepared.pairs == {"train": 60, "more": 20, "made": 30}
    assert len(trained(prepared)) == 110
    batches = training_batches(config, prepared)
    drawn = np.concatenate([rows for _, rows in batches.order(0)])
    assert set(np.bincount(drawn, minlength=110)[60:80]) == {2, 3}
    plain, _ = run(recipe(texts, **data), tmp_path / "plain")
    assert plain.weights() is None
    assert plain.key != prepared.key


def test_a_damaged_file_of_weights_is_refused(texts: Path, tmp_path: Path, run: Preparing) -> None:
    prepared, _ = run(recipe(texts, weights={"train": 2}), tmp_path / "out")
    path = prepared.folder / "train.weights.npy"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ModelError, match=r"train\.weights\.npy: damaged") as caught:
        prepared.weights()
    assert caught.value.hint == "run nmt prepare --force"


def test_weights_of_an_unknown_corpus_are_refused(
    texts: Path, tmp_path: Path, run: Preparing
) -> None:
    with pytest.raises(
        RecipeError, match="data.weights: no training corpus is called 'tran'"
    ) as error:
        run(recipe(texts, synthetic=["made"], weights={"tran": 2.0}), tmp_path / "out")
    assert error.value.hint == "use made, train"
    assert not (tmp_path / "out").exists()


def test_variants_are_what_is_trained_on(texts: Path, tmp_path: Path, run: Preparing) -> None:
    prepared, _ = run(recipe(texts, uppercase=1.0), tmp_path / "out")
    text = prepared.text("train")
    changed = [source == pair[0].upper() for source, pair in zip(text.source, PAIRS, strict=False)]
    assert sum(changed) > 40  # the others have numbers with signs, and the like
    assert trained(prepared) == list(zip(text.source, text.target, strict=True))
    assert prepared.text("dev").source[0] == PAIRS[60][0]
