"""Damaged and hostile vocabularies: one line, and never the end of the process."""

import json
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from sentencepiece import sentencepiece_model_pb2

from nmt_cli.errors import NmtError
from nmt_cli.text.sentence_piece import SentencePieceTokenizer
from nmt_cli.text.tokenizer import load_tokenizers
from nmt_cli.text.word_piece import RESERVED_TOKENS, WordPieceTokenizer

ROOT = Path(__file__).parents[2]
INTACT = (ROOT / "exports/pt-en/tokenizer/joint.model").read_bytes()
# Uses every tokenizer of a folder; prints the error of each.
SCRIPT = """
import json, sys
from pathlib import Path
from nmt_cli.errors import NmtError
from nmt_cli.text.sentence_piece import SentencePieceTokenizer
for path in sorted(Path(sys.argv[1]).iterdir()):
    message = ""
    print(json.dumps(path.name), end=" ", flush=True)
    try:
        tokenizer = SentencePieceTokenizer(path)
        lines = ["Ol\u00e1, \ufb01 \u2460 \u6f22", "a" * 3000, "".join(map(chr, range(32, 3000)))]
        tokenizer.decode(tokenizer.encode(lines))
        [tokenizer.spans(line) for line in lines]
        tokenizer.decode([[id_] for id_ in range(tokenizer.vocab_size)])
        tokenizer.surfaces()
    except NmtError as error:
        message = str(error)
    print(json.dumps(message), flush=True)
"""


def changed(change: Callable[..., object]) -> bytes:
    model = sentencepiece_model_pb2.ModelProto.FromString(INTACT)
    change(model)
    return model.SerializeToString()


def rules(units: list[int], texts: bytes) -> bytes:
    """Rules of normalization with a trie of these units."""
    units += [0] * (256 - len(units))
    content = struct.pack("<I256I", 1024, *units) + texts
    return changed(
        lambda model: setattr(model.normalizer_spec, "precompiled_charsmap", content),
    )


def vocabulary(**pieces: object) -> bytes:
    """The model with other values of piece 1000."""
    return changed(
        lambda model: [setattr(model.pieces[1000], name, value) for name, value in pieces.items()],
    )


# Files, and what the message says.
DAMAGED = {
    "long": (vocabulary(piece="a" * 60_000), "a piece has more than 1,000 bytes"),
    "long-word": (vocabulary(piece="a" * 60_000, type=4), "a piece has more than 1,000 bytes"),
    "overlong-key": (b"\x8a\x80\x80\x80\x10\xf0\x2e" + b"a" * 6000, "more than 1,000 bytes"),
    "text": (
        vocabulary(piece="QQQQ").replace(b"QQQQ", b"QQQ\xff"),
        "pieces that are not valid UTF-8",
    ),
    "empty": (changed(lambda model: model.ClearField("pieces")), "is damaged"),
    # Newer releases of the library load it, and then nmt finds another unknown id.
    "no-unknown": (changed(lambda model: setattr(model.pieces[1], "type", 1)), ""),
    "twice": (vocabulary(piece="\u2581"), "is damaged"),
    "byte": (vocabulary(type=6), "is damaged"),
    "no-padding": (
        changed(lambda model: setattr(model.trainer_spec, "pad_piece", "x")),
        "ids are (-1",
    ),
    "short": (INTACT[: len(INTACT) // 2], "it ends too early"),
    "size": (b"\x0a" + b"\xff" * 9 + b"\x01", "it ends too early"),
    "numbers": (b"\x80" * 100_000, "is damaged"),
    "group": (b"\x0b\x00\x0c", "it has fields of unknown types"),
    "no-rules": (rules([], b""), "rules of normalization cannot"),
    "two-rules": (
        INTACT + b"\x1a\x09\x12\x07" + b"\0\4\0\0" + b"a\0\0",
        "rules of normalization cannot",
    ),
    "trie": (rules([1 << 30], b"a\0"), "rules of normalization cannot"),
    "texts": (rules([1 << 10 | 0x100, 0xFFFFFFFF], b"a\0"), "rules of normalization cannot"),
    "much-text": (rules([], b"a" * 2000 + b"\0"), "rules of normalization cannot"),
    "invalid-text": (rules([], b"\xff\0"), "can't decode byte 0xff"),
    "decoding": (
        changed(lambda model: setattr(model.denormalizer_spec, "precompiled_charsmap", b"x")),
        "rules of normalization cannot",
    ),
}


def test_damaged_models(tmp_path: Path) -> None:
    for name, (content, _) in DAMAGED.items():
        (tmp_path / name).write_bytes(content)
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    decoder, messages = json.JSONDecoder(), {}
    for line in done.stdout.splitlines():
        name, end = decoder.raw_decode(line)
        messages[name] = json.loads(line[end:])
    for name, (_, expected) in DAMAGED.items():
        assert messages[name].startswith(f"{tmp_path / name}: "), name
        assert expected in messages[name], name


def test_counts_that_the_library_ignores(tmp_path: Path) -> None:
    model = sentencepiece_model_pb2.ModelProto.FromString(INTACT)
    model.trainer_spec.vocab_size, model.trainer_spec.unk_id = 2**31 - 1, -1
    path = tmp_path / "joint.model"
    path.write_bytes(model.SerializeToString())
    assert SentencePieceTokenizer(path).vocab_size == 16000


def test_word_pieces_are_short(tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join([*RESERVED_TOKENS, "a" * 1001]) + "\n")
    with pytest.raises(NmtError, match="line 5: has 1,001 characters, at most 1,000"):
        WordPieceTokenizer(path, lowercase=True)


@pytest.mark.parametrize(
    "name", ["../joint.model", "/etc/passwd", "C:a", "a\\b", "a\n", "\x1b[2J", "..", "", "Ω" * 200]
)
def test_names_of_vocabularies(tmp_path: Path, name: str) -> None:
    (tmp_path / "joint.model").write_bytes(INTACT)
    content = {"kind": "sentencepiece", "source": name, "target": "joint.model"}
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(
        NmtError, match=r"json: is damaged \(Expected|no such file, but tokenizer\.j"
    ):
        load_tokenizers(tmp_path)
