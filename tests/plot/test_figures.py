"""Plots show the correct data and labels."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.text import Text

from nmt_cli.data.batches import Batches
from nmt_cli.data.prepared import TokenArray
from nmt_cli.errors import InputError, NmtError, OutputError
from nmt_cli.plot.attention import alignment_figure, attention_figure
from nmt_cli.plot.embeddings import embeddings_figure
from nmt_cli.plot.figure import check_format, new_figure, picture, wrapped, write
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
        kept = [[each for each in ids if each > END_ID] for ids in sequences]
        return ["".join(self.tokens(ids)).replace("▁", " ").strip() for ids in kept]

    def words(self, ids):
        groups = []
        for place, each in enumerate(self.tokens(ids)):
            if each.startswith("▁"):
                groups.append([])
            groups[-1].append(place)
        return groups


MODEL = SimpleNamespace(tokenizers=TokenizerPair(Pieces(), Pieces()), path=Path("runs/toy-pt-en"))
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
    figure = attention_figure(seen, MODEL)
    panels = [axes for axes in figure.axes if axes.get_title()]
    titles = [f"layer {layer}, head {head}" for layer in (1, 2) for head in (1, 2, 3)]
    assert [axes.get_title() for axes in panels] == titles
    np.testing.assert_array_equal(panels[4].images[0].get_array(), seen.cross[1, 1])
    source = ["▁a", "▁esta", "ção", "</s>"]
    assert labels(panels[0]) == (["▁the", "▁sta", "tion", "</s>"], source)
    encoder = attention_figure(seen, MODEL, "encoder", layer=2, head=3)
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
        attention_figure(maps(), MODEL, **options)
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
    (panel, _) = alignment_figure(aligned, MODEL).axes
    assert labels(panel) == (["the", "station"], ["a", "estação"])
    assert panel.get_xlabel() == "source"


def test_long_labels_are_cut():
    cross = np.ones((1, 1, 1, 1), np.float32)
    sides = {"source_words": [("a" * 20, [0])], "target_words": [("b" * 21, [0])]}
    panel, _ = alignment_figure(AttentionMaps([4], [7], cross, **sides), MODEL).axes
    assert labels(panel) == (["b" * 19 + "…"], ["a" * 20])


def test_an_empty_translation_has_no_alignment():
    weights = np.full((1, 1, 1, 4), 0.25, np.float32)
    words = [("a", [0]), ("b", [1, 2])]
    aligned = AttentionMaps(SOURCE, [END_ID], weights, source_words=words)
    assert aligned.word_weights.shape == (0, 2)
    with pytest.raises(InputError, match="there are no words to align"):
        alignment_figure(aligned, MODEL)


def test_masks_of_a_batch():
    sources, targets = [[4], [7, 8, 9, END_ID]], [[START_ID, 4, 5], [START_ID, 7]]
    figure = masks_figure(sources, targets, MODEL.tokenizers, model="toy: ")
    assert figure.get_suptitle() == "toy: masks of a batch, whose rows attend to columns"
    first, second = figure.subfigs
    assert first.get_suptitle() == "sentence 1: a → a esta"
    assert second.get_suptitle() == "sentence 2: the station → the"
    source, padding, causal, target = second.axes
    titles = ["padding mask of the source", "padding mask of the target"]
    assert [axes.get_title() for axes in second.axes] == [
        *titles,
        "causal mask",
        "target mask: both",
    ]
    drawn = [axes.images[0].get_array().astype(int).tolist() for axes in second.axes]
    assert drawn[:2] == [[[1, 1, 1, 1]], [[1, 1, 0]]]
    assert drawn[2:] == [[[1, 0, 0], [1, 1, 0], [1, 1, 1]], [[1, 0, 0], [1, 1, 0], [1, 1, 0]]]
    assert first.axes[0].images[0].get_array().astype(int).tolist() == [[1, 0, 0, 0]]
    assert labels(first.axes[0])[1] == ["▁a", "<pad>", "<pad>", "<pad>"]
    assert labels(source)[1] == ["▁the", "▁sta", "tion", "</s>"]
    written = ["<s>", "▁the", "<pad>"]
    assert labels(padding)[1] == written
    assert labels(causal) == labels(target) == (written, written)


def test_masks_of_ids():
    (only,) = masks_figure([[4, 5, 0, 6]], [[2, 7]], pad_ids=(0, 4)).subfigs
    assert only.get_suptitle() == "sentence 1"
    assert only.axes[0].images[0].get_array().astype(int).tolist() == [[0, 1, 0, 1]]
    assert labels(only.axes[3]) == (["2", "7"], ["2", "7"])


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
    assert [line.get_marker() for line in curves.lines] == [".", "."]  # positions are marked
    every = positions_figure(table, "made up", curves="all").axes[1]
    wanted = table.T / table.max() / 2 + np.arange(8)[:, None]
    np.testing.assert_allclose([line.get_ydata() for line in every.lines], wanted)
    assert every.get_xlabel() == "position"


def test_curves_of_positions_are_stacked():
    table = np.arange(100 * 8, dtype=np.float32).reshape(100, 8)
    heat, curves, *_ = positions_figure(table, "made up", curves="positions").axes
    drawn = [number * 99 // 15 for number in range(16)]
    assert len(curves.lines) == 16
    for offset, (line, position) in enumerate(zip(curves.lines, drawn, strict=True)):
        np.testing.assert_allclose(line.get_ydata(), offset + table[position] / 799 / 2, rtol=1e-6)
    names = [str(position) for position in drawn]
    assert labels(curves)[0] == labels(heat)[0] == names
    assert (curves.get_xlabel(), curves.get_ylabel()) == (
        "dimension",
        "position, and half its value",
    )
    chosen = positions_figure(table, "made up", (3, 1), "positions").axes[1]
    assert labels(chosen)[0] == ["3", "1"]
    assert len(positions_figure(table[:5], "made up", curves="positions").axes[1].lines) == 5


@pytest.mark.parametrize(
    ("chosen", "curves", "message"),
    [
        ((8,), "dimensions", "`dimension=8`: the table has 8"),
        ((1, 5), "positions", "`position=5`: the table has 5"),
    ],
)
def test_curves_that_a_table_lacks(chosen, curves, message):
    with pytest.raises(NmtError) as caught:
        positions_figure(np.zeros((5, 8), np.float32), "made up", chosen, curves)
    assert caught.value.message == message


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
    assert bleu.get_ylim()[0] == 0
    assert bleu.get_ylim()[1] > 1  # the curve's marker is not cut
    assert {axes.get_xlim()[0] for axes in figure.axes} == {0}
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
    figure = alignment_figure(AttentionMaps([5], [8], cross, **words), MODEL)
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
    one, two = (picture(attention_figure(maps(), MODEL), kind) for _ in range(2))
    assert one == two


def test_ids_of_start_and_end():
    assert PIECES[START_ID] == "<s>"
    assert PIECES[END_ID] == "</s>"


LONG = "O gato que estava na cozinha custa $5 ou $6, e a menina não gosta dele. " * 5
SENTENCES = ["Sim.", LONG, "猫が好きです。" * 40, "W" * 300, "a_b^c $x^2$ \\frac{1}{2} 😀"]
NAMES = ["toy", "a-run-with-a-very-long-name-" * 6, "模型" * 60]


def outside(figure) -> list[str]:
    """Return the texts of a figure that do not lie within it."""
    figure.draw_without_rendering()
    width, height = figure.bbox.max
    texts = [text for text in figure.findobj(Text) if re.search(r"[^\W\d]", text.get_text())]
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts]
    return [
        name for name, box in boxes if box.x0 < 0 or box.y0 < 0 or box.x1 > width or box.y1 > height
    ]


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize(
    ("number", "heads", "tokens"),
    [(0, 8, 2), (1, 1, 1), (1, 1, 60), (2, 8, 2), (3, 1, 1), (4, 1, 60)],
    ids=["short", "long, small", "long, large", "cjk", "wide", "formula"],
)
def test_titles_lie_within_the_figure(number, heads, tokens):
    sentence, name = SENTENCES[number], NAMES[(number + heads + tokens) % 3]
    words = [(word, [0]) for word in sentence.split()]
    weights = np.full((1, heads, tokens, tokens), 1 / tokens, np.float32)
    drawn = AttentionMaps([4] * tokens, [7] * tokens, weights, None, None, words, words)
    model = SimpleNamespace(tokenizers=MODEL.tokenizers, path=Path("runs") / name)
    for figure in (attention_figure(drawn, model), alignment_figure(drawn, model)):
        assert outside(figure) == []
        title = figure.get_suptitle()
        assert title.startswith(name[:15])
        assert sentence[:8] in title
        assert len(title.splitlines()) <= 4
        if len(sentence) > 100 and figure.get_figwidth() < 8:
            assert title.endswith("…")


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize("name", NAMES, ids=["short", "long", "cjk"])
def test_titles_of_other_plots_lie_within_the_figure(name):
    masks = masks_figure([[4], [7] * 30], [[START_ID, 4], [START_ID]], MODEL.tokenizers, model=name)
    ids = masks_figure([[4]], [[5]], model=name)
    positions = positions_figure(np.ones((8, 8), np.float32), name)
    history = history_figure(dict.fromkeys((name, f"{name}2"), RECORDS))
    rates = schedule_figure({name: (np.arange(3), np.ones(3, np.float32))})
    source = TokenArray.of([[5] * 3, [5] * 8])
    lengths = lengths_figure(Batches(source, source, batch_tokens=24, seed=1), ("pt", "en"), name)
    words = embeddings_figure(VECTORS, Words(), name, ["gato", "casa"])
    for figure in (masks, ids, positions, history, rates, lengths, words):
        assert outside(figure) == []
        assert name[:15] in figure.get_suptitle()


def test_long_titles_are_wrapped_between_words():
    lines = wrapped(LONG, 4, 11).split("\n")
    assert len(lines) == 2
    assert LONG.startswith(f"{lines[0]} {lines[1][:-1]}")
    assert wrapped("Bom dia!", 4, 11) == "Bom dia!"
    assert wrapped("Bom\ndia!", 4, 11) == "Bom dia!"
    assert wrapped("", 4, 11) == ""
    assert wrapped("木", 0.1, 11) == "木"
    many = wrapped("木" * 500, 4, 11, lines=3).split("\n")
    assert [line[-1] for line in many] == ["木", "木", "…"]


def test_a_dollar_begins_no_formula(tmp_path: Path):
    words = [("$5", [0]), ("$6", [1])]
    weights = np.full((1, 1, 2, 2), 0.5, np.float32)
    drawn = AttentionMaps([4, 5], [7, 8], weights, None, None, words, words)
    text = picture(alignment_figure(drawn, MODEL), "svg").decode()
    assert ">$5 $6 → $5 $6<" in text
    assert ">$5<" in text


def test_characters_without_a_font_are_reported(caplog, recwarn):
    figure = alignment_figure(maps_of("\U000f0000"), MODEL)
    picture(figure, "svg")
    assert not caplog.messages
    picture(figure, "png")
    hint = "install Noto Sans CJK, or write an SVG file"
    assert caplog.messages == [f"no font has \U000f0000; {hint}"]
    assert not recwarn.list


def maps_of(word: str) -> AttentionMaps:
    words = [(word, [0])]
    return AttentionMaps([4], [7], np.ones((1, 1, 1, 1), np.float32), None, None, words, words)


def test_large_figures_have_fewer_dots():
    png = picture(new_figure(300, 3, "made up"), "png")
    assert int.from_bytes(png[16:20]) == 10_000  # its width


# A vocabulary of words, of a suffix, and of single bytes; two dimensions, and a common third one.
TEXTS = ["", "", "", "", " gato", " gata", " casa", " lar", "s", " x", " 12", "\ud83d", " a"]
VECTORS = np.array(
    [[0, 0, 9]] * 4
    + [[1, 0, 9], [1, 0.1, 9], [-1, 0, 9], [-1, 0.2, 9], [0, 5, 9]]
    + [[3, 3, 9]] * 4,
    np.float32,
)


class Words:
    """A tokenizer of whole words and the suffix "s"; others are bytes, or unknown if capitals."""

    def surfaces(self):
        return [b"\xf0" if text == "\ud83d" else text.encode() for text in TEXTS]

    def encode(self, lines):
        return [self._ids(line) for line in lines]

    def _ids(self, word):
        if f" {word}" in TEXTS:
            return [TEXTS.index(f" {word}")]
        if f" {word[:-1]}" in TEXTS and word.endswith("s"):
            return [TEXTS.index(f" {word[:-1]}"), TEXTS.index("s")]
        return [1] if word.isupper() else [11]


def test_neighbours_of_words():
    figure = embeddings_figure(VECTORS, Words(), "toy: source embeddings", ["gato", "casas"])
    scatter, table = figure.axes
    assert labels(table)[0] == ["gato", "casas (2 tokens)"]
    cells = [text.get_text().split("\n") for text in table.texts]
    # The mean of the four words is left out: gato and casa are opposite, not alike.
    assert [word for word, _ in cells[:3]] == ["gata", "casa", "lar"]
    assert float(cells[0][1]) > 0.99
    assert float(cells[1][1]) < -0.9
    # Of casa and its suffix, (-0.5, 2.5).
    assert [word for word, _ in cells[3:]] == ["lar", "casa", "gata"]
    assert [text.get_text() for text in scatter.texts] == ["gato", "casas", "gata", "casa", "lar"]
    assert "%" in scatter.get_xlabel()


def test_words_of_a_vocabulary():
    (scatter,) = embeddings_figure(VECTORS, Words(), "toy").axes
    assert [text.get_text() for text in scatter.texts] == ["gato", "gata", "casa", "lar"]


def test_labels_of_words_do_not_overlap():
    rng = np.random.default_rng(0)
    names = ["".join(rng.choice(list("abcdefgh"), 8)) for _ in range(100)]
    words = SimpleNamespace(surfaces=lambda: [f" {name}".encode() for name in names])
    figure = embeddings_figure(rng.normal(size=(100, 8)).astype(np.float32), words, "toy")
    figure.draw_without_rendering()
    (scatter,) = figure.axes
    boxes = [Text.get_window_extent(text) for text in scatter.texts]
    assert len(boxes) > 80
    for number, box in enumerate(boxes):
        assert not box.count_overlaps(boxes[:number])


@pytest.mark.parametrize(
    ("words", "unknown"),
    [(["gato", "CAO"], "CAO"), (["木", "casa", "XY"], "木, XY"), (["木", "木"], "木")],
)
def test_words_that_a_vocabulary_lacks(words, unknown):
    with pytest.raises(InputError) as caught:
        embeddings_figure(VECTORS, Words(), "toy", words)
    assert caught.value.message == f"not in the vocabulary: {unknown}"


def test_a_vocabulary_without_words():
    pieces = SimpleNamespace(surfaces=lambda: [b"", b"a", b"\xff", b" 1"])
    with pytest.raises(InputError, match="not in the vocabulary: words of letters"):
        embeddings_figure(np.ones((4, 2), np.float32), pieces, "toy")
