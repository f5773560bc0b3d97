"""Runtime tokenizers and those in exported graphs give the same ids and text."""

import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.data.vocabulary import learn_tokenizers
from nmt_cli.errors import NmtError
from nmt_cli.recipe.config import TokenizerConfig
from nmt_cli.text.tokenizer import UNK_ID, Tokenizer, load_tokenizers
from nmt_cli.text.word_piece import RESERVED_TOKENS, split_words
from tests.made_up_text import ENGLISH, PORTUGUESE

tf = pytest.importorskip("tensorflow")
pytest.importorskip("tensorflow_text")

from nmt_cli.export.saved_model import GraphTokenizer  # noqa: E402

CONFIGS = {
    "unigram-joint": TokenizerConfig(vocab_size=500),
    "unigram-separate-no-bytes": TokenizerConfig(vocab_size=90, joint=False, byte_fallback=False),
    "bpe-separate": TokenizerConfig(vocab_size=360, model="bpe", joint=False),
    "characters": TokenizerConfig(kind="character", joint=False),
    "wordpiece-joint": TokenizerConfig(kind="wordpiece", vocab_size=200),
    "wordpiece-lowercase-separate": TokenizerConfig(
        kind="wordpiece", vocab_size=150, lowercase=True, joint=False
    ),
}

SLOW = ("bpe-separate", "wordpiece-joint")  # others have the same code paths

# Tags before synthetic sources.
TAGS = {"unigram-joint": "<BT>", "bpe-separate": "<b>"}

HARD = {
    "empty": "",
    "spaces": "   ",
    "all kinds of spaces": " \t\n\r\x0b\x0c\x85\u00a0\u1680\u2003\u2028\u2029\u202f\u3000",
    "no-break space inside": "três\u00a0maçãs\u202fà\u2003noite",
    "line separators": "a\u2028b\u2029c\x85d\re\nf",
    "zero width": "jan\u200bela\u200cab\u200dri\u2060u\ufeff a\u00adb",
    "control characters": "a\x01b\x1bc\x7fd\x9fe",
    "nul": "a\0b\0",
    "only nul": "\0",
    "composed": "canção às maçãs último",
    "decomposed": "canc\u0327a\u0303o a\u0300s mac\u0327a\u0303s u\u0301ltimo",
    "stacked marks": "a\u0301\u0323\u0302\u0327e\u0327\u0323\u0301",
    "marks in the wrong order": "a\u0301\u0327\u0323 \u302e\u1b44\U0001d165x",
    "only marks": "\u0301\u0327",
    "marks after a space": "a \u0301b",
    "iota subscript": "ᾳ α\u0345 ᾼ \u0345",
    "dotted and dotless i": "İstanbul ISPARTA ıspanak i\u0307 I\u0307",
    "sharp s": "Straße STRASSE ẞ",
    "final sigma": "ΟΔΥΣΣΕΥΣ Ὀδυσσεύς",
    "ligatures": "ﬁm eﬀort ﬃ ĳ ǆ ﷺ",
    "fullwidth": "Ｊｏãｏ １２３ ！？ ｶﾞ",
    "digits": "0123 ٣٤٥ ४५ ² ½ ① Ⅷ 1,000.50",
    "punctuation": "«a» “b” ‘c’ —d– e… ¿f? ¡g! h/i\\j {k} [l] <m> $n€ o^p`q~r|s=t+",
    "reserved words": "[PAD] [UNK] [START] [END] <pad> <unk> <s> </s> <0x41> ##ing # #",
    "meta space": "▁a ▁▁ b▁c",
    "tags": "<BT> <b> a<BT> <b>c ▁<BT> <BT><BT>\u3000<BT> ＜BT＞",
    "emoji": "😀👍🏽🇵🇹🇧🇷👩\u200d🚀👨\u200d👩\u200d👧\u200d👦❤️1️⃣",
    "flag made of tags": "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "chinese": "我爱你，中国。𠀀𪜀 a漢b",
    "japanese": "こんにちは カタカナ ガガ が",
    "hangul": "안녕하세요 \u1112\u1161\u11ab ㅎㅏㄴ ﾡ \u115f\u1160",
    "arabic": "السَّلَامُ عَلَيْكُمْ ـــ ﻻ \u061c\u200f",
    "hebrew": "שָׁלוֹם בְּרֵאשִׁית",
    "thai": "สวัสดีครับ น้ำ",
    "devanagari": "क्षत्रिय हिन्दी",
    "newer than unicode 14": "\U00011f00a\U00011f43 \U0001e030 \U00010d50 \ua7cb \u0897 \U00016121",
    "not assigned": "\u0378 \U000e1000 \ufffe \U0010ffff \ufffd \ue000",
    "1,000 letters": "a" * 1_000,
    "1,000 letters of two bytes": "ã" * 1_000,
    "20,000 letters": "janela" * 3_334,
    "20,000 marks": "a" + "\u0301" * 20_000,
    "100 bytes": "a" * 100 + " " + "é" * 50 + " " + "a" * 101 + " " + "é" * 50 + "a",
}

# Long texts are slow: only one test uses them.
NOT_LONG = [text for text in HARD.values() if len(text) < 10_000]


@dataclass(frozen=True)
class Side:
    """Both implementations of the tokenizer of one side, and its folder."""

    runtime: Tokenizer
    graph: GraphTokenizer
    folder: Path


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in CONFIGS
    ],
)
def sides(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Side, Side]:
    folder = tmp_path_factory.mktemp("tokenizer")
    tag = TAGS.get(request.param, "")
    learn_tokenizers(CONFIGS[request.param], PORTUGUESE, ENGLISH, folder, seed=1, tag=tag)
    pair = load_tokenizers(folder)
    return (
        Side(pair.source, GraphTokenizer(folder, "source"), folder),
        Side(pair.target, GraphTokenizer(folder, "target"), folder),
    )


def ragged(sequences: Sequence[Sequence[int]]) -> tf.RaggedTensor:
    return tf.ragged.constant(sequences, tf.int32, ragged_rank=1)


def texts(strings: tf.Tensor) -> list[str]:
    return [content.decode() for content in strings.numpy()]


def random_ids(vocab_size: int, count: int) -> list[list[int]]:
    """Return random sequences; half of the ids are low: control symbols, and bytes if any."""
    chance = random.Random(vocab_size)
    bounds = [min(vocab_size, 4 + 256), vocab_size]
    return [
        [chance.randrange(chance.choice(bounds)) for _ in range(chance.randrange(16))]
        for _ in range(count)
    ]


def test_hard_text(sides: tuple[Side, Side]) -> None:
    lines = list(HARD.values())
    for side in sides:
        ids = side.runtime.encode(lines)
        encoded = side.graph.encode(tf.constant(lines))
        assert named(ids) == named(encoded.to_list())
        assert named(side.runtime.decode(ids)) == named(texts(side.graph.decode(encoded)))


def named(results: Sequence[object]) -> dict[str, object]:
    """Name the result of each hard text, so that a failure shows which text it is."""
    return dict(zip(HARD, results, strict=True))


@pytest.mark.parametrize("lines", [[], [""], ["", "a", ""], PORTUGUESE, ENGLISH])
def test_batches(sides: tuple[Side, Side], lines: list[str]) -> None:
    for side in sides:
        ids = side.runtime.encode(lines)
        encoded = side.graph.encode(tf.constant(lines, tf.string))
        assert encoded.dtype == tf.int32
        assert encoded.to_list() == ids
        framed = side.graph.with_special_tokens(encoded).to_list()
        assert framed == [side.runtime.with_special_tokens(sequence) for sequence in ids]
        assert texts(side.graph.decode(ragged(ids))) == side.runtime.decode(ids)


def save(tokenizer: GraphTokenizer, folder: Path) -> None:
    module = tf.Module()
    module.tokenizer = tokenizer

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def encode(text: tf.Tensor) -> tf.RaggedTensor:
        return tokenizer.with_special_tokens(tokenizer.encode(text))

    @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.int32)])
    def decode(ids: tf.RaggedTensor) -> tf.Tensor:
        return tokenizer.decode(ids)

    module.encode, module.decode = encode, decode
    tf.saved_model.save(module, str(folder))


def test_after_saving(sides: tuple[Side, Side], tmp_path: Path) -> None:
    lines = NOT_LONG
    for number, side in enumerate(sides):
        copy, saved = tmp_path / f"tokenizer{number}", tmp_path / f"saved{number}"
        shutil.copytree(side.folder, copy)
        save(GraphTokenizer(copy, "source" if number == 0 else "target"), saved)
        shutil.rmtree(copy)  # a SavedModel must not need its tokenizer files
        loaded = tf.saved_model.load(str(saved))
        framed = loaded.encode(tf.constant(lines))
        runtime = side.runtime
        assert framed.to_list() == [
            runtime.with_special_tokens(ids) for ids in runtime.encode(lines)
        ]
        assert texts(loaded.decode(framed)) == runtime.decode(framed.to_list())


def test_decoding_random_ids(sides: tuple[Side, Side]) -> None:
    for side in sides:
        sequences = [[], [0, 2, 3], *random_ids(side.runtime.vocab_size, 5_000)]
        assert side.runtime.decode(sequences) == texts(side.graph.decode(ragged(sequences)))


@settings(max_examples=max(20, settings.default.max_examples // 16))
@given(lines=st.lists(st.text(st.characters(codec="utf-8")), min_size=1))
def test_random_text(sides: tuple[Side, Side], lines: list[str]) -> None:
    for side in sides:
        ids = side.runtime.encode(lines)
        encoded = side.graph.encode(tf.constant(lines))
        assert encoded.to_list() == ids
        assert texts(side.graph.decode(encoded)) == side.runtime.decode(ids)


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize(
    ("first", "last"),
    [(0x0, 0x1FFFF), pytest.param(0x20000, 0x10FFFF, marks=pytest.mark.slow)],
)
def test_words_with_every_code_point(first: int, last: int, lowercase: bool) -> None:
    from tensorflow_text.python.ops.bert_tokenizer import BasicTokenizer

    points = (point for point in range(first, last + 1) if not 0xD800 <= point < 0xE000)
    characters = [chr(point) for point in points]
    lines = [
        " ".join(f"{character} a{character}b" for character in characters[start : start + 512])
        for start in range(0, len(characters), 512)
    ]
    words = BasicTokenizer(lower_case=lowercase).tokenize(tf.constant(lines))
    for line, expected in zip(lines, words, strict=True):
        assert split_words(line, lowercase=lowercase) == texts(expected)


@pytest.mark.parametrize("lowercase", [False, True])
def test_the_vocabulary_matches_the_tutorial(lowercase: bool, tmp_path: Path) -> None:
    from tensorflow_text.tools.wordpiece_vocab.bert_vocab_from_dataset import (
        bert_vocab_from_dataset,
    )

    config = TokenizerConfig(kind="wordpiece", vocab_size=150, joint=False, lowercase=lowercase)
    learn_tokenizers(config, PORTUGUESE, ENGLISH, tmp_path, seed=1)
    expected = bert_vocab_from_dataset(
        tf.data.Dataset.from_tensor_slices(PORTUGUESE).batch(1000),
        vocab_size=150,
        reserved_tokens=list(RESERVED_TOKENS),
        bert_tokenizer_params={"lower_case": lowercase},
    )
    assert (tmp_path / "source.vocab.txt").read_text().splitlines() == expected


@pytest.mark.parametrize("size", [106, 110, 118, 130, 180])
def test_word_piece_vocabularies_respect_their_size(size: int, tmp_path: Path) -> None:
    config = TokenizerConfig(kind="wordpiece", vocab_size=size)
    pair = learn_tokenizers(config, PORTUGUESE, ENGLISH, tmp_path, seed=1)
    assert pair.source.vocab_size <= size
    assert all(UNK_ID not in ids for ids in pair.source.encode(PORTUGUESE + ENGLISH))


def test_a_word_piece_vocabulary_needs_all_characters(tmp_path: Path) -> None:
    config = TokenizerConfig(kind="wordpiece", vocab_size=40)
    with pytest.raises(NmtError, match=r"change tokenizer\.vocab_size; the characters, at"):
        learn_tokenizers(config, PORTUGUESE, ENGLISH, tmp_path, seed=1)
    with pytest.raises(NmtError, match="no text to learn"):
        learn_tokenizers(config, [], [" \n"], tmp_path, seed=1)
