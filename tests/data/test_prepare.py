"""nmt prepare: its output, when it runs again, and the state after a failure."""

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt_cli.data.batches import Batches
from nmt_cli.data.prepare import prepare
from nmt_cli.data.prepared import Prepared
from nmt_cli.errors import ModelError, NmtError
from nmt_cli.recipe.config import Recipe
from nmt_cli.recipe.reading import load_recipe, recipe_from
from nmt_cli.text.tokenizer import END_ID
from tests.data.conftest import Preparing
from tests.made_up_text import ENGLISH, PORTUGUESE
from tests.test_docs import ROOT

PAIRS = list(zip(PORTUGUESE, ENGLISH, strict=True))


def write(prefix: Path, pairs: list[tuple[str, str]]) -> None:
    prefix.parent.mkdir(parents=True, exist_ok=True)
    for side, language in enumerate(("pt", "en")):
        text = "".join(f"{pair[side]}\n" for pair in pairs)
        prefix.with_name(f"{prefix.name}.{language}").write_text(text, encoding="utf-8")


def recipe(root: Path, tokenizer: dict[str, Any] | None = None, **data: Any) -> Recipe:
    tree = {
        "data": {"root": str(root), "train": ["train"], "dev": ["dev"], **data},
        "tokenizer": {"vocab_size": 400, **(tokenizer or {})},
    }
    return recipe_from(tree, "test")


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    folder = tmp_path / "texts"
    write(folder / "train", PAIRS[:80])
    write(folder / "dev", PAIRS[80:90])
    write(folder / "test", PAIRS[90:])
    return folder


def refusal(recipe: Recipe, folder: Path) -> NmtError:
    with pytest.raises(NmtError) as caught:
        prepare(recipe, folder)
    return caught.value


def snapshot(folder: Path) -> dict[Path, tuple[int, int]]:
    return {
        path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in (folder, *folder.rglob("*"))
    }


def test_the_prepared_folder_is_complete(texts: Path, tmp_path: Path, run: Preparing) -> None:
    write(texts / "train", [*PAIRS[:80], PAIRS[0], ("", "nothing"), ("a" * 30, "b")])
    prepared, messages = run(recipe(texts, test=["test", "dev", "test"]), tmp_path / "out")
    source, target = prepared.arrays("train")
    tokenizers = prepared.tokenizers()
    assert len(source) == len(target) == 80
    for row in (0, 79):
        assert source[row][-1] == END_ID
        assert END_ID not in target[row]
        assert tokenizers.source.decode([source[row]]) == [PAIRS[row][0]]
        assert tokenizers.target.decode([target[row]]) == [PAIRS[row][1]]
    assert [len(side) for side in prepared.arrays("dev")] == [10, 10]
    dev = prepared.text("dev")
    assert list(zip(dev.source, dev.target, strict=True)) == PAIRS[80:90]
    assert prepared.languages == ("pt", "en")
    assert prepared.tests == ("test", "dev-2", "test-2")  # "dev" is taken by data.dev
    assert prepared.text("dev-2").source == dev.source
    assert prepared.text("test-2").target == ENGLISH[90:]
    counts = json.loads((tmp_path / "out" / "prepared.json").read_text())["counts"]
    assert {key: count for key, count in counts.items() if count} == {
        "read": 83,
        "empty": 1,
        "ratio": 1,
        "duplicate": 1,
        "kept": 80,
    }
    assert "pairs kept                        80" in messages
    assert messages[-1] == f"prepared 80 pairs in {tmp_path / 'out'}"


def test_the_other_direction_is_the_same_with_sides_swapped(
    texts: Path, tmp_path: Path, run: Preparing
) -> None:
    prepared, _ = run(recipe(texts, source="en", target="pt"), tmp_path / "out")
    assert prepared.languages == ("en", "pt")
    assert prepared.text("dev").source == ENGLISH[80:90]
    source, _ = prepared.arrays("train")
    assert prepared.tokenizers().source.decode([source[0]]) == [ENGLISH[0]]


def test_a_second_run_does_nothing(texts: Path, tmp_path: Path, run: Preparing) -> None:
    settings, out = recipe(texts, test=["test"]), tmp_path / "out"
    first, _ = run(settings, out)
    before = snapshot(out)
    again, messages = run(settings, out)
    assert again == first
    assert messages == [f"{out} is up to date"]
    assert snapshot(out) == before
    # Settings that do not affect the data do not matter.
    other = dataclasses.replace(
        settings, name="x", model=dataclasses.replace(settings.model, d_model=64)
    )
    run(other, out)
    assert snapshot(out) == before
    forced, _ = run(settings, out, force=True)
    assert forced == first
    assert snapshot(out) != before
    content = {path.name for path in before if path.is_file()}
    assert content == {path.name for path in out.rglob("*") if path.is_file()}


def test_moved_text_is_not_prepared_again(texts: Path, tmp_path: Path, run: Preparing) -> None:
    out = tmp_path / "out"
    run(recipe(texts), out)
    before = snapshot(out)
    texts.rename(tmp_path / "moved")
    for path in (tmp_path / "moved").iterdir():
        os.utime(path, (1, 1))
    run(recipe(tmp_path / "moved"), out)
    run(recipe(tmp_path, train=["moved/train"], dev=["moved/dev"]), out)
    assert snapshot(out) == before


class TestWithoutTheCorpora:
    """A prepared folder on a machine without the text it was prepared from."""

    def test_it_is_used_as_it_is(self, texts: Path, tmp_path: Path, run: Preparing) -> None:
        first, _ = run(recipe(texts, test=["test"]), tmp_path / "out")
        (tmp_path / "out").rename(tmp_path / "copied")
        gone, keys = tmp_path / "gone", list[str]()
        again, messages = run(recipe(gone, test=["test"]), tmp_path / "copied", check=keys.append)
        assert (again.key, keys) == (first.key, [first.key])
        reason = f"is used as it was prepared: {gone / 'train.pt'}: no such file"
        assert messages == [f"{tmp_path / 'copied'} {reason}"]
        (texts / "test.en").unlink()  # one file is enough
        assert run(recipe(texts, test=["test"]), tmp_path / "copied")[0] == again

    @pytest.mark.parametrize(
        "changes",
        [
            {"train": ["other"]},
            {"dev": []},
            {"max_tokens": 60},
            {"source": "en", "target": "pt"},
            {"tokenizer": {"vocab_size": 380}},
        ],
    )
    def test_another_recipe_is_refused(
        self, texts: Path, tmp_path: Path, changes: dict[str, Any], run: Preparing
    ) -> None:
        out = tmp_path / "out"
        run(recipe(texts), out)
        error = refusal(recipe(tmp_path / "gone", **changes), out)
        assert error.message.endswith(
            f"no such file, and {out} was prepared from other corpora or settings"
        )
        assert error.hint == "run nmt prepare --force where the corpora are"

    def test_other_tokenizers_are_refused(
        self, texts: Path, tmp_path: Path, run: Preparing
    ) -> None:
        """Those of a run to start from: the ids would mean other pieces."""
        run(recipe(texts, {"vocab_size": 380}), tmp_path / "other")
        run(recipe(texts), tmp_path / "out", tokenizers=tmp_path / "other" / "tokenizer")
        gone = recipe(tmp_path / "gone")
        used, _ = run(gone, tmp_path / "out", tokenizers=tmp_path / "other" / "tokenizer")
        assert used.key
        assert "other corpora or settings" in refusal(gone, tmp_path / "out").message

    def test_force_and_an_empty_folder_need_the_text(
        self, texts: Path, tmp_path: Path, run: Preparing
    ) -> None:
        run(recipe(texts), tmp_path / "out")
        gone = recipe(tmp_path / "gone")
        with pytest.raises(NmtError, match=r"no such file; set the folder of the corpora"):
            prepare(gone, tmp_path / "out", force=True)
        assert "was prepared from" not in refusal(gone, tmp_path / "empty").message

    def test_text_that_cannot_be_read_is_not_missing(
        self, texts: Path, tmp_path: Path, run: Preparing
    ) -> None:
        run(recipe(texts), tmp_path / "out")
        (texts / "train.en").write_text("one line\n", encoding="utf-8")
        assert "80 lines" in refusal(recipe(texts), tmp_path / "out").message


@pytest.mark.parametrize("name", ["train", "dev", "test"])
def test_changed_text_is_prepared_again(
    texts: Path, tmp_path: Path, name: str, run: Preparing
) -> None:
    settings, out = recipe(texts, test=["test"]), tmp_path / "out"
    first, _ = run(settings, out)
    path = texts / f"{name}.en"
    path.write_text(path.read_text(encoding="utf-8")[:-1] + "!\n", encoding="utf-8")
    again, messages = run(settings, out)
    assert again.key != first.key
    assert messages[-1].startswith("prepared")
    if name != "train":
        assert again.text(name).target[-1].endswith("!")


@pytest.mark.parametrize(
    "changes",
    [
        {"max_ratio": 3.0},
        {"max_tokens": 60},
        {"max_characters": 500},
        {"over_max_tokens": "trim"},
        {"tokenizer": {"kind": "character"}},
        {"tokenizer": {"vocab_size": 380}},
        {"tokenizer": {"model": "bpe"}},
        {"train": ["train", "test"]},
        {"dev": ["test"]},
        {"source": "en", "target": "pt"},
    ],
)
def test_changed_settings_are_prepared_again(
    texts: Path, tmp_path: Path, changes: dict[str, Any], run: Preparing
) -> None:
    first, _ = run(recipe(texts), tmp_path / "out")
    assert run(recipe(texts, **changes), tmp_path / "out")[0].key != first.key


def test_without_a_development_set_training_pairs_are_held_out(
    texts: Path, tmp_path: Path, run: Preparing
) -> None:
    prepared, messages = run(recipe(texts, dev=[]), tmp_path / "out")
    dev = prepared.text("dev")
    held = list(zip(dev.source, dev.target, strict=True))
    assert held == [PAIRS[19], PAIRS[39], PAIRS[59], PAIRS[79]]
    assert "data.dev is empty: 4 training pairs are held out instead" in messages
    source, _ = prepared.arrays("train")
    trained = prepared.tokenizers().source.decode([source[row] for row in range(len(source))])
    assert trained == [pair[0] for pair in PAIRS[:80] if pair not in held]


def test_the_recipe_for_spanish_reads_pairs_with_a_third_column(
    tmp_path: Path, run: Preparing
) -> None:
    pairs = [(f"Dog {number} sings.", f"El perro {number} canta: ¿oyes?") for number in range(40)]
    attribution = "CC-BY 2.0 (France) Attribution: tatoeba.org #1"
    lines = "".join(f"{english}\t{spanish}\t{attribution}\n" for english, spanish in pairs)
    (tmp_path / "spa.tsv").write_text(lines, encoding="utf-8")
    path = ROOT / "recipes" / "tatoeba-en-es.toml"
    spanish = load_recipe(path, [f"data.root={tmp_path}", "tokenizer.vocab_size=320"])
    prepared, _ = run(spanish, tmp_path / "out")
    assert prepared.languages == ("en", "es")
    dev, (source, target) = prepared.text("dev"), prepared.arrays("train")
    assert list(zip(dev.source, dev.target, strict=True)) == [pairs[19], pairs[39]]
    tokenizers = prepared.tokenizers()
    assert len(source) == len(target) == 38
    assert tokenizers.source.decode([source[0]]) == [pairs[0][0]]
    assert tokenizers.target.decode([target[0]]) == [pairs[0][1]]


def test_too_little_text_to_hold_out_from(texts: Path, tmp_path: Path, run: Preparing) -> None:
    for count in (1, 19):
        write(texts / "train", PAIRS[:count])
        error = refusal(recipe(texts, dev=[]), tmp_path / "out")
        assert f"{count} training pairs are too few to hold any out" in error.message
        assert error.hint == "set data.dev, or give at least 20 training pairs"
    write(texts / "train", PAIRS[:20])
    assert len(run(recipe(texts, dev=[]), tmp_path / "out")[0].text("dev")) == 1
    write(texts / "dev", [])
    assert "data.dev has none" in refusal(recipe(texts), tmp_path / "out2").message


def test_pairs_with_too_many_tokens_are_dropped_and_counted(
    texts: Path, tmp_path: Path, run: Preparing
) -> None:
    long = " ".join(["O padeiro perdeu o último comboio"] * 8)
    write(texts / "train", [*PAIRS[:40], (long, ENGLISH[0]), (PORTUGUESE[0], long), *PAIRS[40:80]])
    prepared, messages = run(recipe(texts, max_tokens=40, max_ratio=99), tmp_path / "out")
    source, target = prepared.arrays("train")
    assert len(source) == 80
    assert max(source.lengths.max(), target.lengths.max() + 1) <= 40
    assert "dropped, too many tokens           2" in messages
    error = refusal(recipe(texts, max_tokens=2), tmp_path / "none")
    assert str(error) == "every pair is longer than data.max_tokens = 2"
    write(texts / "dev", [(long, long)])
    error = refusal(recipe(texts, max_tokens=40), tmp_path / "none")
    assert str(error) == "every development pair is longer than data.max_tokens = 40"


@pytest.mark.train
@pytest.mark.parametrize("turn", [{}, {"tokenizer": {"kind": "wordpiece", "vocab_size": 200}}])
def test_pairs_with_too_many_tokens_are_trimmed_and_counted(
    texts: Path, tmp_path: Path, run: Preparing, turn: dict[str, Any]
) -> None:
    long = " ".join(["O padeiro perdeu o último comboio"] * 8)
    pairs = [*PAIRS[:40], (long, ENGLISH[0]), (PORTUGUESE[0], long), *PAIRS[40:80]]
    write(texts / "train", pairs)
    write(texts / "dev", [(long, long)])
    settings = recipe(texts, max_tokens=40, max_ratio=99, over_max_tokens="trim", **turn)
    prepared, messages = run(settings, tmp_path / "out")
    source, target = prepared.arrays("train")
    tokenizers = prepared.tokenizers()
    text = prepared.text("train")
    assert list(zip(text.source, text.target, strict=True)) == pairs  # untrimmed
    expected = tokenizers.source.encode([long])[0], tokenizers.target.encode([long])[0]
    special = len(tokenizers.source.with_special_tokens([]))
    # END counts on both sides, and START where a tokenizer adds it.
    cut = tokenizers.source.with_special_tokens(expected[0][: 40 - special])
    assert source[40].tolist() == cut
    assert (len(cut), cut[-1]) == (40, END_ID)
    assert target[41].tolist() == expected[1][:39]
    assert target[40].tolist() == tokenizers.target.encode([ENGLISH[0]])[0]
    assert "dropped, too many tokens           0" in messages
    assert "kept, a side trimmed               2" in messages
    assert [len(side) for side in prepared.arrays("dev")] == [1, 1]
    batches = Batches(source, target, 400, seed=1)
    assert max(batches.widths) == 40
    batch = batches.make(40, np.array([41]))
    assert batch.target_out[0, -2:].tolist() == [expected[1][38], END_ID]


def test_the_token_limit_includes_start_and_end(
    texts: Path, tmp_path: Path, run: Preparing
) -> None:
    # The vocabulary does not depend on the limit, so the first run has the lengths.
    for turn in ({}, {"source": "en", "target": "pt"}):
        source, target = run(recipe(texts, **turn), tmp_path / "out")[0].arrays("train")
        needed = [max(pair) for pair in zip(source.lengths, target.lengths + 1, strict=True)]
        for limit in (max(needed), max(needed) - 1):
            prepared, _ = run(recipe(texts, max_tokens=int(limit), **turn), tmp_path / "out")
            assert len(prepared.arrays("train")[0]) == sum(length <= limit for length in needed)


def test_too_little_text(texts: Path, tmp_path: Path) -> None:
    error = refusal(recipe(texts, train=[]), tmp_path / "out")
    assert "recipe 'model' has no training text" in error.message
    assert "PREFIX.pt and PREFIX.en" in error.hint
    write(texts / "train", [])
    error = refusal(recipe(texts), tmp_path / "out")
    assert error.message == "data.train: no lines in train"
    write(texts / "train", [("", "a"), ("b", " ")])
    assert refusal(recipe(texts), tmp_path / "out").message.startswith("none of 2 pairs is left")
    assert [path.name for path in tmp_path.iterdir()] == ["texts"]


@pytest.mark.parametrize(
    ("tokenizer", "message"),
    [
        ({"model": "bpe", "vocab_size": 99_999}, "a vocabulary of 99999 pieces cannot be learned"),
        ({"vocab_size": 20}, "a vocabulary of 20 pieces cannot be learned"),
    ],
)
def test_a_vocabulary_too_large_for_the_text_leaves_the_old_folder(
    texts: Path, tmp_path: Path, tokenizer: dict[str, Any], message: str, run: Preparing
) -> None:
    out = tmp_path / "out"
    run(recipe(texts), out)
    before = snapshot(out)
    error = refusal(recipe(texts, tokenizer), out)
    assert message in error.message
    assert error.hint.startswith("change tokenizer.vocab_size; ")
    assert "--" not in error.hint  # the library that raises it does not know options
    assert snapshot(out) == before
    assert {path.name for path in tmp_path.iterdir()} == {"texts", "out"}


def test_unigram_accepts_a_smaller_vocabulary(texts: Path, tmp_path: Path, run: Preparing) -> None:
    prepared, messages = run(recipe(texts, {"vocab_size": 99_999}), tmp_path / "out")
    size = prepared.tokenizers().source.vocab_size
    assert 260 < size < 1000
    assert f"the text yields {size} pieces, fewer than tokenizer.vocab_size = 99,999" in messages


def test_folders_that_cannot_be_opened(texts: Path, tmp_path: Path, run: Preparing) -> None:
    out = tmp_path / "out"
    with pytest.raises(ModelError):
        Prepared.open(out)
    first, _ = run(recipe(texts), out)
    path = out / "prepared.json"
    whole = path.read_text()
    for content in (whole[:-20], whole.replace('"format": 2', '"format": 99')):
        path.write_text(content)
        with pytest.raises(ModelError):
            Prepared.open(out)
        assert run(recipe(texts), out)[0] == first  # it is prepared again


def test_a_folder_with_other_files_is_not_replaced(texts: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("years")
    assert "contains something else" in refusal(recipe(texts), tmp_path / "thesis").message
    assert [path.name for path in (tmp_path / "thesis").iterdir()] == ["chapter.txt"]


class TestLanguages:
    """Corpora whose sides are not in the recipe's languages."""

    def test_swapped_files_are_reported(self, texts: Path, tmp_path: Path, run: Preparing) -> None:
        swapped = recipe(texts, train=["swapped"])
        write(texts / "swapped", [(english, portuguese) for portuguese, english in PAIRS])
        _, messages = run(swapped, tmp_path / "out")
        expected = "swapped: Portuguese and English seem to be swapped: compare the names of"
        assert [line for line in messages if expected in line] == [f"{expected} its files"]

    def test_one_side_in_another_language(
        self, texts: Path, tmp_path: Path, run: Preparing
    ) -> None:
        write(texts / "same", [(english, english) for _, english in PAIRS])
        _, messages = run(recipe(texts, train=["same"]), tmp_path / "out")
        warning = (
            "same: the source side looks like English, but the recipe says Portuguese; "
            "data.language_check = false hides this warning"
        )
        assert warning in messages

    def test_right_languages_and_the_switch(
        self, texts: Path, tmp_path: Path, run: Preparing
    ) -> None:
        assert "look" not in str(run(recipe(texts), tmp_path / "right")[1])
        write(texts / "same", [(english, english) for _, english in PAIRS])
        off = recipe(texts, train=["same"], language_check=False)
        prepared, messages = run(off, tmp_path / "off")
        assert "looks like" not in str(messages)
        on = dataclasses.replace(off, data=dataclasses.replace(off.data, language_check=True))
        # The same data: nothing is prepared or checked again.
        assert run(on, tmp_path / "off")[0].key == prepared.key
