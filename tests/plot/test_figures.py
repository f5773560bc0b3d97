"""Plots show the correct data and labels."""

import re
from pathlib import Path

import numpy as np
import pytest

from nmt_cli.data.batches import Batches
from nmt_cli.data.prepared import TokenArray
from nmt_cli.errors import InputError, NmtError, OutputError
from nmt_cli.plot.attention import alignment_figure, attention_figure
from nmt_cli.plot.figure import check_format, picture, write
from nmt_cli.plot.inputs import masks_figure, positions_figure
from nmt_cli.plot.training import (
    buckets_of,
    history_figure,
    lengths_figure,
    schedule_figure,
    steps_to_draw,
)
from nmt_cli.search.alignment import AttentionMaps
from nmt_cli.text.tokenizer import END_ID, START_ID, TokenizerPair

PIECES = ["<pad>", "<unk>", "<s>", "</s>", "▁a", "▁esta", "ção", "▁the", "▁sta", "tion"]


class Pieces:
    """A tokenizer of ten pieces."""

    vocab_size = len(PIECES)

    def tokens(self, ids):
        return [PIECES[each] for each in ids]

    def decode(self, sequences):
        return ["".join(self.tokens(each)).replace("▁", " ").strip() for each in sequences]

    def words(self, ids):
        groups = []
        for place, each in enumerate(self.tokens(ids)):
            if each.startswith("▁"):
                groups.append([])
            groups[-1].append(place)
        return groups


PAIR = TokenizerPair(Pieces(), Pieces())
SOURCE, TARGET = [4, 5, 6, END_ID], [7, 8, 9, END_ID]


def maps(layers: int = 2, heads: int = 3) -> AttentionMaps:
    rng = np.random.default_rng(0)

    def weights(rows: int, columns: int) -> np.ndarray:
        raw = rng.random((layers, heads, rows, columns))
        return (raw / raw.sum(axis=-1, keepdims=True)).astype(np.float32)

    return AttentionMaps(SOURCE, TARGET, weights(4, 4), encoder=weights(4, 4))


def labels(axes) -> tuple[list[str], list[str]]:
    return (
        [label.get_text() for label in axes.get_yticklabels()],
        [label.get_text() for label in axes.get_xticklabels()],
    )


def test_attention_has_a_panel_for_each_head():
    seen = maps()
    figure = attention_figure(seen, PAIR)
    panels = [axes for axes in figure.axes if axes.get_title()]
    titles = [f"layer {layer}, head {head}" for layer in (1, 2) for head in (1, 2, 3)]
    assert [axes.get_title() for axes in panels] == titles
    np.testing.assert_array_equal(panels[4].images[0].get_array(), seen.cross[1, 1])
    source = ["▁a", "▁esta", "ção", "</s>"]
    assert labels(panels[0]) == (["▁the", "▁sta", "tion", "</s>"], source)
    encoder = attention_figure(seen, PAIR, "encoder", layer=2, head=3)
    (panel,) = [axes for axes in encoder.axes if axes.get_title()]
    assert panel.get_title() == "layer 2, head 3"
    np.testing.assert_array_equal(panel.images[0].get_array(), seen.encoder[1, 2])
    assert labels(panel) == (source, source)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"part": "decoder"}, "the model provides no decoder self-attention"),
        ({"layer": 3}, "`layer=3`: the model has 2"),
        ({"head": 0}, "`head=0`: the model has 3"),
    ],
)
def test_missing_parts_are_refused(options, message):
    with pytest.raises(NmtError) as caught:
        attention_figure(maps(), PAIR, **options)
    assert caught.value.message == message
    assert caught.value.hint


def test_words_are_aligned_by_the_layer_before_the_last():
    cross = np.zeros((3, 2, 4, 4), np.float32)
    cross[[0, 2]] = 0.25  # layers that are not used
    cross[1, 0] = [[1, 0, 0, 0], [0, 0.5, 0.5, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    cross[1, 1] = [[0, 0, 0, 1], [0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]]
    source, target = [("a", [0]), ("estação", [1, 2])], [("the", [0]), ("station", [1, 2])]
    aligned = AttentionMaps(SOURCE, TARGET, cross, source_words=source, target_words=target)
    # Half of the weight of "the" went to the end token, which is left out.
    np.testing.assert_allclose(aligned.word_weights, [[1, 0], [0, 1]])
    (panel, _) = alignment_figure(aligned).axes
    assert labels(panel) == (["the", "station"], ["a", "estação"])
    assert panel.get_title()
    assert panel.get_xlabel() == "source"


def test_long_labels_are_cut():
    cross = np.ones((1, 1, 1, 1), np.float32)
    sides = {"source_words": [("a" * 20, [0])], "target_words": [("b" * 21, [0])]}
    panel, _ = alignment_figure(AttentionMaps([4], [7], cross, **sides)).axes
    assert labels(panel) == (["b" * 19 + "…"], ["a" * 20])


def test_an_empty_translation_has_no_alignment():
    weights = np.full((1, 1, 1, 4), 0.25, np.float32)
    words = [("a", [0]), ("b", [1, 2])]
    aligned = AttentionMaps(SOURCE, [END_ID], weights, source_words=words)
    assert aligned.word_weights.shape == (0, 2)
    with pytest.raises(InputError, match="there are no words to align"):
        alignment_figure(aligned)


def test_masks_of_a_batch():
    figure = masks_figure([[4], [7, 8, 9, END_ID]], [[START_ID, 4, 5], [START_ID, 7]], Pieces())
    panels = {axes.get_title(): axes for axes in figure.axes if axes.get_title()}
    assert list(panels) == [
        "source mask",
        "causal mask",
        "target mask, sentence 1",
        "target mask, sentence 2",
    ]
    drawn = {title: axes.images[0].get_array().astype(int) for title, axes in panels.items()}
    assert drawn["source mask"].tolist() == [[1, 0, 0, 0], [1, 1, 1, 1]]
    assert drawn["causal mask"].tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert drawn["target mask, sentence 2"].tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 0]]
    assert labels(panels["target mask, sentence 2"])[0] == ["<s>", "▁the", "<pad>"]
    hidden, _, target, *_ = masks_figure([[4, 5, 0, 6]], [[2, 7]], pad_ids=(0, 4)).axes
    assert hidden.images[0].get_array().astype(int).tolist() == [[0, 1, 0, 1]]
    assert labels(target) == (["2", "7"], ["2", "7"])


def test_positions():
    table = np.arange(40, dtype=np.float32).reshape(5, 8)
    heat, curves, *_ = positions_figure(table, "made up", [0, 7]).axes
    np.testing.assert_array_equal(heat.images[0].get_array(), table)
    assert (heat.get_xlabel(), heat.get_ylabel()) == ("dimension", "position")
    assert [line.get_label() for line in curves.lines] == ["dimension 0", "dimension 7"]
    np.testing.assert_array_equal(curves.lines[1].get_ydata(), table[:, 7])
    default = positions_figure(np.zeros((5, 64), np.float32), "made up").axes[1]
    assert [line.get_label() for line in default.lines] == [
        f"dimension {dimension}" for dimension in (0, 8, 16, 24)
    ]
    rows = positions_figure(table, "made up", curves="positions").axes[1]
    np.testing.assert_array_equal([line.get_ydata() for line in rows.lines], table)
    every = positions_figure(table, "made up", curves="all").axes[1]
    wanted = table.T / table.max() / 2 + np.arange(8)[:, None]
    np.testing.assert_allclose([line.get_ydata() for line in every.lines], wanted)
    assert (rows.get_xlabel(), every.get_xlabel()) == ("dimension", "position")


def test_schedules_start_at_step_one():
    steps = steps_to_draw(5)
    assert steps.tolist() == [0, 1, 2, 3, 4]
    assert len(steps_to_draw(10**6)) == 2000
    (axes,) = schedule_figure({"one": (steps, steps * 0.1), "two": (steps, steps * 0.2)}).axes
    assert [line.get_label() for line in axes.lines] == ["one", "two"]
    assert axes.lines[0].get_xdata().tolist() == [1, 2, 3, 4, 5]
    assert axes.get_legend()


RECORDS = [
    {"step": 5, "loss": 3.0, "accuracy": 0.1, "learning_rate": 0.1},
    {"step": 10, "loss": 2.0, "accuracy": 0.2, "learning_rate": 0.2},
    {"step": 10, "validation_loss": 2.5, "validation_accuracy": 0.15, "validation_bleu": 1.0},
]


def test_histories_of_several_runs_share_panels():
    figure = history_figure({"a": RECORDS, "b": RECORDS[:2]})
    loss, _, bleu, rate = figure.axes
    assert [line.get_label() for line in loss.lines] == [
        "a, training",
        "a, validation",
        "b, training",
        "b, validation",
    ]
    assert list(loss.lines[0].get_ydata()) == [3.0, 2.0]
    assert list(loss.lines[1].get_xdata()) == [10]
    assert list(bleu.lines[0].get_ydata()) == [1.0]
    assert rate.get_ylabel() == "rate"
    assert loss.lines[0].get_color() != loss.lines[2].get_color()


def test_buckets_by_hand():
    """Widths 8 and 9; batches of 24 tokens have three rows of width 8 or two of width 9."""
    source = TokenArray.of([[5] * 3, [5] * 8, [5] * 9, [5] * 2])
    target = TokenArray.of([[5] * 3, [5] * 5, [5], [5] * 7])
    batches = Batches(source, target, batch_tokens=24, seed=1)
    buckets = buckets_of(batches)
    tokens = [3 + 4 + 8 + 6 + 2 + 8, 9 + 2]
    assert list(zip(*buckets, strict=True)) == [
        (8, 3, tokens[0], 2 * 24),
        (9, 1, tokens[1], 2 * 18),  # one row is padding
    ]
    figure = lengths_figure(batches, ("pt", "en"), "made-up")
    left, right, share = figure.axes
    assert [text.get_text() for text in left.get_legend().get_texts()] == [
        "pt: mean 5.5, longest 9",
        "en: mean 5.0, longest 8",
    ]
    assert right.get_title() == f"buckets: {sum(tokens) / 84:.1%} filled overall"
    np.testing.assert_allclose(share.lines[0].get_ydata(), [3100 / 48, 1100 / 36])


def test_images_are_png_or_svg(tmp_path: Path):
    cross = np.ones((1, 1, 1, 1), np.float32)
    words = {"source_words": [("estação", [0])], "target_words": [("naïve", [0])]}
    figure = alignment_figure(AttentionMaps([5], [8], cross, **words))
    write(figure, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    write(figure, tmp_path / "a.SVG")
    in_a_notebook = figure._repr_png_()
    assert in_a_notebook.startswith(b"\x89PNG")
    assert len(in_a_notebook) < len((tmp_path / "a.png").read_bytes())
    text = (tmp_path / "a.SVG").read_text(encoding="utf-8")
    for word in ("estação", "naïve", "source"):  # as searchable text
        assert re.search(f">{word}<", text)
    with pytest.raises(OutputError, match=r"a\.jpg: unknown image format"):
        check_format(tmp_path / "a.jpg")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.SVG", "a.png"]


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_images_are_reproducible(kind):
    one, two = (picture(attention_figure(maps(), PAIR), kind) for _ in range(2))
    assert one == two


def test_ids_of_start_and_end():
    assert PIECES[START_ID] == "<s>"
    assert PIECES[END_ID] == "</s>"
