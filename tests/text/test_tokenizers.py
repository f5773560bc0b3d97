import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from nmt_cli.data.vocabulary import learn_tokenizers
from nmt_cli.errors import NmtError
from nmt_cli.recipe.config import TokenizerConfig
from nmt_cli.text.sentence_piece import SentencePieceTokenizer
from nmt_cli.text.tokenizer import END_ID, PAD_ID, START_ID, UNK_ID, TokenizerSpec, load_tokenizers
from nmt_cli.text.word_piece import WordPieceTokenizer, split_words
from tests.made_up_text import ENGLISH, PORTUGUESE

UNIGRAM = TokenizerConfig(kind="sentencepiece", model="unigram", vocab_size=400)
BPE = TokenizerConfig(kind="sentencepiece", model="bpe", vocab_size=400)
CHARACTERS = TokenizerConfig(kind="character")
PIECES = ["[PAD]", "[UNK]", "[START]", "[END]", "a", "un", "##aff", "##able", "!", "aa", "##a"]


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer")
    learn_tokenizers(UNIGRAM, PORTUGUESE, ENGLISH, folder, seed=1)
    return folder


@pytest.fixture
def word_piece(tmp_path: Path) -> WordPieceTokenizer:
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join(PIECES) + "\n", encoding="utf-8")
    return WordPieceTokenizer(path, lowercase=True)


class TestSampling:
    SCRIPT = (
        "import sys; from pathlib import Path\n"
        "from nmt_cli.text.sentence_piece import SentencePieceTokenizer\n"
        "from tests.made_up_text import PORTUGUESE\n"
        "tokenizer = SentencePieceTokenizer(Path(sys.argv[1]))\n"
        "print([tokenizer.sample(PORTUGUESE, 0.2, seed) for seed in (1, 2)])\n"
    )

    @pytest.mark.parametrize("config", [UNIGRAM, BPE], ids=lambda config: config.model)
    @pytest.mark.train
    def test_samples_depend_only_on_the_seed(self, config: TokenizerConfig, tmp_path: Path) -> None:
        learn_tokenizers(config, PORTUGUESE, ENGLISH, tmp_path, seed=1)
        path = tmp_path / "joint.model"
        command = [sys.executable, "-c", self.SCRIPT, str(path)]
        outputs = {subprocess.check_output(command, text=True) for _ in range(2)}
        tokenizer = SentencePieceTokenizer(path)
        samples = [tokenizer.sample(PORTUGUESE, 0.2, seed) for seed in (1, 2)]
        assert outputs == {f"{samples}\n"}
        unsampled = tokenizer.encode(PORTUGUESE)
        assert samples[0] != samples[1] != unsampled != samples[0]
        assert tokenizer.decode(samples[0]) == tokenizer.decode(unsampled)

    @pytest.mark.train
    def test_a_tag_is_not_split(self, tmp_path: Path) -> None:
        learn_tokenizers(UNIGRAM, PORTUGUESE, ENGLISH, tmp_path, seed=1, tag="<BT>")
        tokenizer = SentencePieceTokenizer(tmp_path / "joint.model", "<BT>")
        (tag,) = tokenizer.encode(["<BT>"])[0]
        tagged = tokenizer.sample([f"<BT> {line}" for line in PORTUGUESE] + ["sem"], 0.1, 1)
        assert all(ids[0] == tag and tag not in ids[1:] for ids in tagged[:-1])
        assert tag not in tagged[-1]

    def test_a_library_without_reproducible_samples_is_refused(
        self, learned: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("sentencepiece.__version__", "0.2.3")
        tokenizer = load_tokenizers(learned).source
        with pytest.raises(NmtError, match=r"0\.2\.3 draws .*; pip install 'sentencepiece<0"):
            tokenizer.sample(["o gato"], 0.2, 1)  # type: ignore[attr-defined]


class TestSentencePiece:
    def test_decode_returns_the_text(self, learned: Path) -> None:
        tokenizer = load_tokenizers(learned).source
        lines = [*PORTUGUESE, *ENGLISH, "漢字 👩‍🚀", ""]
        assert tokenizer.decode(tokenizer.encode(lines)) == lines

    def test_drops_framing_ids_wherever_they_are(self, learned: Path) -> None:
        tokenizer = load_tokenizers(learned).target
        [ids] = tokenizer.encode(["opened the window"])
        framed = [START_ID, ids[0], PAD_ID, *ids[1:], END_ID, PAD_ID]
        assert tokenizer.decode([framed, [END_ID], []]) == ["opened the window", "", ""]
        assert tokenizer.decode([]) == []

    @pytest.mark.parametrize("config", [UNIGRAM, BPE])
    def test_a_tag_is_one_id_that_is_never_text(
        self, config: TokenizerConfig, tmp_path: Path
    ) -> None:
        pair = learn_tokenizers(config, PORTUGUESE, ENGLISH, tmp_path, seed=1, tag="<BT>")
        tokenizer = pair.source
        plain, tagged = tokenizer.encode(["A minha avó", "<BT> A minha avó"])
        [tag_id] = tagged[: len(tagged) - len(plain)]
        assert tagged == [tag_id, *plain]
        assert tokenizer.tokens([tag_id]) == ["▁<BT>"]
        # Wherever the model outputs it.
        assert tokenizer.decode([tagged, [*plain[:1], tag_id, *plain[1:], tag_id], [tag_id]]) == [
            "A minha avó",
            "A minha avó",
            "",
        ]

    def test_only_the_source_vocabulary_has_the_tag(self, tmp_path: Path) -> None:
        config = replace(UNIGRAM, joint=False)
        pair = learn_tokenizers(config, PORTUGUESE, ENGLISH, tmp_path, seed=1, tag="<BT>")
        assert [len(side.encode(["<BT>"])[0]) == 1 for side in (pair.source, pair.target)] == [
            True,
            False,
        ]
        [ids] = pair.target.encode(["my <BT> house"])
        assert pair.target.decode([ids]) == ["my <BT> house"]

    def test_frames_the_source_with_an_end(self, learned: Path) -> None:
        assert load_tokenizers(learned).source.with_special_tokens([7, 8]) == [7, 8, END_ID]

    def test_invalid_utf8_becomes_replacement_characters(self, learned: Path) -> None:
        tokenizer = load_tokenizers(learned).source
        [smiley] = tokenizer.encode(["😀"])
        assert tokenizer.decode([smiley[:-1]]) == ["\ufffd" * 3]

    def test_shows_its_pieces(self, learned: Path) -> None:
        tokenizer = load_tokenizers(learned).source
        [ids] = tokenizer.encode(["a janela"])
        assert "".join(tokenizer.tokens(ids)) == "▁a▁janela"

    def test_ids_are_below_the_vocabulary_size(self, learned: Path) -> None:
        tokenizer = load_tokenizers(learned).source
        assert max(max(ids) for ids in tokenizer.encode(PORTUGUESE)) < tokenizer.vocab_size

    def test_refuses_other_files(self, tmp_path: Path) -> None:
        path = tmp_path / "joint.model"
        path.write_text("not a model")
        with pytest.raises(NmtError, match=r"joint\.model: is not a SentencePiece model"):
            SentencePieceTokenizer(path)
        path.write_bytes(b"")
        with pytest.raises(NmtError, match="is not a SentencePiece model"):
            SentencePieceTokenizer(path)

    def test_refuses_a_model_with_different_control_ids(self, tmp_path: Path) -> None:
        import sentencepiece

        path = tmp_path / "unsampled.model"
        with path.open("wb") as out:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(ENGLISH), model_writer=out, vocab_size=60, minloglevel=2
            )
        with pytest.raises(NmtError, match=r"ids are \(-1, 0, 1, 2\)"):
            SentencePieceTokenizer(path)


class TestCharacters:
    HOSTILE = (
        "  dois  espaços ",
        "漢字 👩‍🚀 e\u0301 ﬁ",
        "<s> <0x41> ▁▁ a",
        "\u200b\ufeff\ufffd",
        "",
        "▁",
        "a" * 999,
    )

    @pytest.fixture(scope="class")
    @staticmethod
    def characters(tmp_path_factory: pytest.TempPathFactory) -> SentencePieceTokenizer:
        folder = tmp_path_factory.mktemp("characters")
        pair = learn_tokenizers(CHARACTERS, PORTUGUESE, ENGLISH, folder, seed=1, tag="<BT>")
        assert isinstance(pair.source, SentencePieceTokenizer)
        return pair.source

    def test_each_character_and_each_space_is_a_token(
        self, characters: SentencePieceTokenizer
    ) -> None:
        [ids] = characters.encode(["avó, o gato"])
        assert characters.tokens(ids) == list("▁avó,▁o▁gato")
        assert characters.words(ids) == [[0, 1, 2, 3, 4], [5, 6], [7, 8, 9, 10, 11]]
        assert characters.decode([ids]) == ["avó, o gato"]
        spans = characters.decode_spans(ids)[1]
        assert spans == [(0, 0), *((start, start + 1) for start in range(11))]

    def test_hostile_text_survives(self, characters: SentencePieceTokenizer) -> None:
        # SentencePiece normalizes text once; what it returns must then stay the same.
        once = characters.decode(characters.encode(self.HOSTILE))
        assert once[:2] == ["dois espaços", "漢字 👩‍🚀 é fi"]
        assert once[-1] == "a" * 999
        assert characters.decode(characters.encode(once)) == once
        assert not any(UNK_ID in ids for ids in characters.encode(self.HOSTILE))

    def test_all_characters_are_in_a_vocabulary_that_is_large_enough(
        self, characters: SentencePieceTokenizer, tmp_path: Path
    ) -> None:
        text = set("▁" + "".join(PORTUGUESE + ENGLISH)) - {" "}
        assert set(characters.tokens(range(characters.vocab_size))) >= text
        config = replace(CHARACTERS, byte_fallback=False, vocab_size=20)
        pair = learn_tokenizers(config, PORTUGUESE, ENGLISH, tmp_path, seed=1)
        assert pair.source.vocab_size == 20
        assert UNK_ID in pair.source.encode(["Ç"])[0]

    def test_a_tag_is_one_token(self, characters: SentencePieceTokenizer, tmp_path: Path) -> None:
        [ids] = characters.encode(["<BT> sim"])
        assert characters.tokens(ids) == ["▁<BT>", *"▁sim"]


class TestWordPiece:
    def test_splits_at_the_longest_known_prefix(self, word_piece: WordPieceTokenizer) -> None:
        [ids] = word_piece.encode(["Unaffable aaa! unknown a"])
        assert word_piece.tokens(ids) == ["un", "##aff", "##able", "aa", "##a", "!", "[UNK]", "a"]

    def test_joins_words_with_spaces(self, word_piece: WordPieceTokenizer) -> None:
        sequences = [[START_ID, 5, 6, PAD_ID, 7, UNK_ID, 8, END_ID], [], [6, 4], [999]]
        assert word_piece.decode(sequences) == ["unaffable [UNK] !", "", "##aff a", "[UNK]"]

    def test_frames_the_source_on_both_sides(self, word_piece: WordPieceTokenizer) -> None:
        assert word_piece.with_special_tokens([4]) == [START_ID, 4, END_ID]

    def test_a_word_of_more_than_100_bytes_is_unknown(self, word_piece: WordPieceTokenizer) -> None:
        [longest, longer] = word_piece.encode(["a" * 100, "a" * 101])
        assert UNK_ID not in longest
        assert longer == [UNK_ID]

    @pytest.mark.parametrize(
        ("content", "problem"),
        [
            (b"a\nb\n", "is not a WordPiece vocabulary"),
            ("\n".join(PIECES).encode("utf-16"), "not a vocabulary in UTF-8"),
            ("\n".join([*PIECES, "a"]).encode(), "line 12: 'a' is also on line 5"),
            ("\n".join([*PIECES, "", "b"]).encode(), "line 12: an empty piece"),
        ],
    )
    def test_refuses_a_damaged_vocabulary(
        self, tmp_path: Path, content: bytes, problem: str
    ) -> None:
        path = tmp_path / "vocab.txt"
        path.write_bytes(content)
        with pytest.raises(NmtError, match=problem):
            WordPieceTokenizer(path, lowercase=False)


@pytest.mark.parametrize(
    ("line", "kept", "folded"),
    [
        ("O gato, não?", ["O", "gato", ",", "não", "?"], ["o", "gato", ",", "nao", "?"]),
        ("Straße İstanbul", ["Straße", "İstanbul"], ["strasse", "istanbul"]),
        ("ﬁm Ｆｕｌｌ①", ["ﬁm", "Ｆｕｌｌ①"], ["fim", "full1"]),
        ("a\0b\tc\u200bd\u00ade", ["a", "b", "c", "d", "e"], ["a", "b", "cde"]),
        ("a\u00a0b\u2028c", ["a\u00a0b\u2028c"], ["a", "b\u2028c"]),
        ("日本x", ["日", "本", "x"], ["日", "本", "x"]),
        (" \t\n", [], []),
    ],
)
def test_words(line: str, kept: list[str], folded: list[str]) -> None:
    assert split_words(line, lowercase=False) == kept
    assert split_words(line, lowercase=True) == folded


class TestSpecification:
    def test_survives_writing(self, tmp_path: Path) -> None:
        spec = TokenizerSpec("wordpiece", "vocab.txt", "vocab.txt", lowercase=True)
        (tmp_path / "vocab.txt").touch()
        spec.write(tmp_path)
        assert TokenizerSpec.read(tmp_path) == spec
        tagged = TokenizerSpec(
            "sentencepiece", "vocab.txt", "vocab.txt", tag="<BT>", punctuation="de"
        )
        tagged.write(tmp_path)
        assert TokenizerSpec.read(tmp_path) == tagged

    def test_two_sides_share_one_tokenizer_of_one_file(self, learned: Path) -> None:
        pair = load_tokenizers(learned)
        assert pair.source is pair.target

    def test_missing_folder(self, tmp_path: Path) -> None:
        with pytest.raises(NmtError, match=r"tokenizer\.json: cannot be read"):
            load_tokenizers(tmp_path / "nowhere")

    @pytest.mark.parametrize("text", ["", "{", "[]", '"sentencepiece"', "\xff", "[" * 100_000])
    def test_not_an_object(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "tokenizer.json").write_bytes(text.encode("latin-1"))
        with pytest.raises(NmtError, match=r"tokenizer\.json: is damaged"):
            load_tokenizers(tmp_path)

    @pytest.mark.parametrize(
        ("key", "value", "problem"),
        [
            ("kind", "morphemes", r"sentencepiece\|wordpiece.* - at \$\.kind"),
            ("kind", ["wordpiece"], r"Expected str, got array - at \$\.kind"),
            ("lowercase", "yes", r"Expected bool, got str - at \$\.lowercase"),
            ("tag", 3, r"Expected str, got int - at \$\.tag"),
            ("tag", "<BT>", r"joint\.model: has no piece for the tag '<BT>'"),
            ("source", "gone.model", r"gone\.model: no such file"),
            ("source", None, r"Expected str, got null - at \$\.source"),
            ("target", "../joint.model", r"Expected str matching regex .* - at \$\.target"),
            ("target", "/etc/passwd", r"Expected str matching regex .* - at \$\.target"),
            ("target", "..", r"Expected str matching regex .* - at \$\.target"),
            ("target", "C:\\joint.model", r"Expected str matching regex .* - at \$\.target"),
        ],
    )
    def test_wrong_content(
        self, learned: Path, tmp_path: Path, key: str, value: object, problem: str
    ) -> None:
        shutil.copytree(learned, tmp_path, dirs_exist_ok=True)
        path = tmp_path / "tokenizer.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
        with pytest.raises(NmtError, match=problem):
            load_tokenizers(tmp_path)


class TestLearning:
    @pytest.mark.parametrize("config", [UNIGRAM, BPE])
    def test_same_text_gives_the_same_bytes(self, config: TokenizerConfig, tmp_path: Path) -> None:
        for name in ("one", "two"):
            learn_tokenizers(config, iter(PORTUGUESE), iter(ENGLISH), tmp_path / name, seed=5)
        first, second = ((tmp_path / name / "joint.model").read_bytes() for name in ("one", "two"))
        assert first == second
        assert len(list((tmp_path / "one").iterdir())) == 2

    def test_separate_vocabularies(self, tmp_path: Path) -> None:
        config = replace(UNIGRAM, joint=False, byte_fallback=False, vocab_size=90)
        pair = learn_tokenizers(config, PORTUGUESE, ENGLISH, tmp_path, seed=1)
        assert pair.target is not pair.source
        assert pair.target.encode(["maçã"]) != pair.source.encode(["maçã"])
        assert "⁇" in pair.target.decode(pair.target.encode(["maçã"]))[0]

    def test_unigram_accepts_a_smaller_vocabulary(self, tmp_path: Path) -> None:
        pair = learn_tokenizers(replace(UNIGRAM, vocab_size=9000), ["Olá!"], ["Hi!"], tmp_path, 1)
        assert pair.source.vocab_size < 9000
        assert pair.source.decode(pair.source.encode(["Olá!"])) == ["Olá!"]

    @pytest.mark.parametrize(
        "config",
        [
            replace(BPE, vocab_size=50_000),
            replace(BPE, vocab_size=20),
            replace(UNIGRAM, vocab_size=20),
        ],
    )
    def test_impossible_sizes_name_the_key(self, config: TokenizerConfig, tmp_path: Path) -> None:
        expected = r"change tokenizer\.vocab_size; (vocabulary size|the characters need)"
        with pytest.raises(NmtError, match=expected):
            learn_tokenizers(config, PORTUGUESE, ENGLISH, tmp_path, seed=1)

    @pytest.mark.parametrize("lines", [[], [""], ["  ", ""], ["\u3000", "\u200b\u200d"]])
    def test_no_text(self, lines: list[str], tmp_path: Path) -> None:
        with pytest.raises(NmtError, match=r"joint\.model: no text to learn"):
            learn_tokenizers(UNIGRAM, lines, lines, tmp_path, seed=1)

    def test_no_line_is_too_long(self, tmp_path: Path) -> None:
        long_line = "só aqui há ź " * 1000
        config = replace(UNIGRAM, byte_fallback=False, vocab_size=80, character_coverage=1.0)
        pair = learn_tokenizers(config, [*PORTUGUESE, long_line], ENGLISH, tmp_path, seed=1)
        assert UNK_ID not in pair.source.encode(["ź"])[0]

    def test_is_silent(self, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        learn_tokenizers(UNIGRAM, PORTUGUESE, ENGLISH, tmp_path, seed=1)
        assert capfd.readouterr() == ("", "")


def test_tokenizing_needs_no_tensorflow() -> None:
    code = (
        "import sys, nmt_cli.text.tokenizer, nmt_cli.text.sentence_piece, nmt_cli.text.word_piece;"
        "sys.exit('tensorflow' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
