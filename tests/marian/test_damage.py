"""Files of Marian that cannot be imported: one line names the file and the reason, and nothing is
written."""

import gzip
import os
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from sentencepiece import sentencepiece_model_pb2

from nmt_cli.errors import NmtError
from nmt_cli.export.importing.huggingface import import_huggingface
from nmt_cli.export.importing.marian import import_marian
from nmt_cli.export.marian import files
from tests.harness import nmt
from tests.marian.conftest import change, set_settings

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
# Seven lists of seven: as text, 5 million numbers.
BOMB = b"a0: &a0 [1,1,1,1,1,1,1]\n" + b"".join(
    b"a%d: &a%d [%s]\n" % (i, i, b",".join([b"*a%d" % (i - 1)] * 7)) for i in range(1, 8)
)
SIZES = {"dim-emb": 32, "dim-vocabs": [408, 408], "enc-depth": 2, "dec-depth": 2}
Damage = Callable[[Path], object]  # of a folder


def all_of(*damages: Damage) -> Damage:
    """Return a function that does several things."""
    return lambda folder: [damage(folder) for damage in damages]


def settings(text: bytes) -> Damage:
    """Return a function that replaces the settings of a model."""
    array = np.frombuffer(text, np.int8)
    return lambda folder: change(folder / "model.npz", **{files.SETTINGS: array})


def setting(**changes: Any) -> Damage:
    """Return a function that changes settings of a model."""
    return lambda folder: set_settings(folder / "model.npz", **changes)


def tensor(**changes: Any) -> Damage:
    """Return a function that changes tensors of a model."""
    return lambda folder: change(folder / "model.npz", **changes)


def member(name: str, content: bytes, method: int = zipfile.ZIP_STORED) -> Damage:
    """Return a function that adds a file to the archive of a model."""

    def add(folder: Path) -> None:
        with zipfile.ZipFile(folder / "model.npz", "a", method) as archive:
            archive.writestr(name, content)

    return add


def npy(shape: str) -> bytes:
    """Return the header of an array."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    return b"\x93NUMPY\x01\x00v\x00" + header.ljust(117).encode() + b"\n"


def decoder(**keys: Any) -> Damage:
    """Return a function that changes keys of decoder.yml."""

    def write(folder: Path) -> None:
        content = yaml.safe_load((folder / "decoder.yml").read_text(encoding="utf-8"))
        (folder / "decoder.yml").write_text(yaml.safe_dump({**content, **keys}), encoding="utf-8")

    return write


def text(name: str, content: str | bytes) -> Damage:
    """Return a function that replaces a file."""
    data = content.encode() if isinstance(content, str) else content
    return lambda folder: (folder / name).write_bytes(data)


def without(*names: str) -> Damage:
    """Return a function that removes files."""
    return lambda folder: [(folder / name).unlink() for name in names]


def packed(name: str) -> Damage:
    """Return a function that packs a file, as those in Mozilla's bucket are."""

    def pack(folder: Path) -> None:
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes(), 1))
        (folder / name).unlink()

    return pack


def pieces(change: Callable[[Any], object]) -> Damage:
    """Return a function that changes the vocabulary."""

    def write(folder: Path) -> None:
        model = sentencepiece_model_pb2.ModelProto.FromString((folder / "vocab.spm").read_bytes())
        change(model)
        (folder / "vocab.spm").write_bytes(model.SerializeToString())

    return write


def copy(name: str, *others: str) -> Damage:
    """Return a function that copies a file."""
    return lambda folder: [shutil.copy(folder / name, folder / other) for other in others]


def listed(content: str) -> Damage:
    """Return a function that replaces vocab.spm by a list, and models of SentencePiece."""

    return all_of(
        copy("vocab.spm", "source.spm", "target.spm"),
        text("vocab.yml", content),
        decoder(vocabs=["vocab.yml"] * 2),
    )


def pipe(name: str) -> Damage:
    """Return a function that replaces a file by a pipe, which would block."""
    return all_of(without(name), lambda folder: os.mkfifo(folder / name))


DAMAGED = "model.npz: damaged, incomplete, or not a model of Marian ({}); copy it again"
UNREADABLE = "model.npz: its settings cannot be read ({})"
LFS = "{}: a Git LFS pointer in place of the file; fetch it, e.g. with git lfs pull"
GZIP = "{}.gz: is packed with gzip; unpack the files of the model: gunzip FOLDER/*.gz"
OTHER = "; the files are of different models, or one is incomplete"
ANSWER = "; put vocab.spm, or srcvocab.spm and trgvocab.spm, or decoder.yml, beside the model"
NESTED = "has aliases, or is nested too deeply"
CASES: dict[str, tuple[Damage, str]] = {
    # The archive of tensors.
    "an empty model": (text("model.npz", ""), DAMAGED.format("not an .npz archive")),
    "a page as model": (text("model.npz", "<html>"), DAMAGED.format("not an .npz archive")),
    "a pickle as model": (text("model.npz", b"\x80\x04N."), DAMAGED.format("not an .npz archive")),
    "a .npy as model": (text("model.npz", npy("(1,)")), DAMAGED.format("not an .npz archive")),
    "a pipe as model": (pipe("model.npz"), "has no 'model.npz', which decoder.yml names"),
    "pickled objects": (
        tensor(Wemb=np.array([{}], object)),
        DAMAGED.format("Object arrays cannot be loaded when allow_pickle=False"),
    ),
    "a bomb": (
        member("x.npy", npy("(16777216,)") + bytes(64 << 20), zipfile.ZIP_DEFLATED),
        DAMAGED.format("unpacks to *"),
    ),
    "a header of terabytes": (
        member("x.npy", npy("(1000000000000,)")),
        DAMAGED.format("Unable to allocate 3.64 TiB *"),
    ),
    "a negative shape": (
        member("x.npy", npy("(-1,)")),
        DAMAGED.format("negative dimensions are not allowed"),
    ),
    "a header that is no Python": (
        member("x.npy", npy("((((((((")),
        DAMAGED.format("('EOF in multi-line statement', (2, 0))"),
    ),
    "a text in the archive": (
        member("a.txt", b"hello"),
        DAMAGED.format("'a.txt' is of type |S5"),
    ),
    # Tensors.
    "texts as tensors": (tensor(x=np.array(["a"])), DAMAGED.format("'x' is of type <U1")),
    "complex tensors": (tensor(x=np.ones(2, "c8")), DAMAGED.format("'x' is of type complex64")),
    "integers": (tensor(x=np.ones(2, np.int8)), DAMAGED.format("'x' is of type int8")),
    "not a number": (
        tensor(encoder_l1_ffn_b1=np.full((1, 64), np.nan, np.float32)),
        "the values of encoder_0/feed_forward/inner/bias are not finite; copy the model again",
    ),
    "numbers beyond float32": (
        tensor(encoder_l1_ffn_b1=np.full((1, 64), 1e300)),
        "the values of encoder_0/feed_forward/inner/bias are not finite; copy the model again",
    ),
    "a missing tensor": (tensor(Wemb=None), "model.npz: has no Wemb, which its settings require"),
    "another shape": (
        tensor(Wemb=np.ones((408, 31), np.float32)),
        "model.npz: Wemb has shape [408, 31], but [408, 32] follows from its settings and "
        "vocabularies",
    ),
    "a number as tensor": (
        tensor(encoder_l1_ffn_W1=np.float32(1)),
        "model.npz: encoder_l1_ffn_W1 has shape [], but [32, 64] follows from its settings and "
        "vocabularies",
    ),
    "an unknown tensor": (
        tensor(**{"x\ny": np.ones(2, np.float32)}),
        r"model.npz: has 1 weights that nmt's model lacks, e.g. 'x\ny'",
    ),
    "positions that are a number": (
        tensor(Wpos=np.float32(1)),
        "model.npz: Wpos has shape [], but [1, 32] follows from its settings and vocabularies",
    ),
    # Settings.
    "no settings": (
        tensor(**{files.SETTINGS: None}),
        "model.npz: has no special:model.yml, Marian's settings; give a model file of Marian",
    ),
    "empty settings": (settings(b""), UNREADABLE.format("Expected object, got null")),
    "not UTF-8": (
        settings(b"a: \xe9\0"),
        UNREADABLE.format("unacceptable character #x*"),
    ),
    "a list as settings": (settings(b"- 1\0"), UNREADABLE.format("Expected object, got array")),
    "aliases": (settings(BOMB + b"type: *a7\n\0"), UNREADABLE.format(NESTED)),
    "deep lists": (settings(b"[" * 50_000), UNREADABLE.format(NESTED)),
    "a wrong tag": (settings(b"x: !!bool z\0"), UNREADABLE.format("'z'")),
    "a call of Python": (
        settings(b'x: !!python/object/apply:os.system ["touch /tmp/x"]\0'),
        UNREADABLE.format("could not determine a constructor for the tag *"),
    ),
    "large settings": (settings(b"x: 1\n" * 20_000), UNREADABLE.format("100,000 bytes")),
    "no width": (
        settings(yaml.safe_dump({**SIZES, "dim-emb": None}).encode()),
        UNREADABLE.format("Expected int, got null - at $.dim-emb"),
    ),
    "no depth": (
        settings(b"dim-emb: 32\ndim-vocabs: [408, 408]\nenc-depth: 2\n"),
        UNREADABLE.format("Object missing required field dec-depth"),
    ),
    "a width of 0": (
        setting(dim_emb=0),
        UNREADABLE.format("Expected int >= 2 - at $.dim-emb"),
    ),
    "old pre-norm": (
        setting(version="v1.9.56 2020", transformer_preprocess="n", transformer_postprocess="da"),
        "model.npz: Marian v1.9, which wrote it, did not normalize keys and values of pre-norm "
        "attention, as nmt does",
    ),
    "a version of many digits": (
        setting(version="v1." + "9" * 5000, enc_depth=0),
        "model.npz: model.encoder_layers must be between 1 and 1,000, not 0",
    ),
    "highways": (
        setting(version="v1.12.0 2023", transformer_postprocess="dhn"),
        "model.npz: postprocess: nmt has norms before or after all sub-layers, and layers of one "
        "kind",
    ),
    "no scale of inputs": (
        tensor(encoder_l1_ffn_W1_QuantMultA=np.zeros(1, np.float32)),
        "model.npz: encoder_l1_ffn_W1_QuantMultA is 0, which is no scale; copy it again",
    ),
    "infinite scales": (
        tensor(encoder_l1_ffn_W1_QuantMultA=np.full(1, np.inf, np.float32)),
        "model.npz: encoder_l1_ffn_W1_QuantMultA is inf, which is no scale; copy it again",
    ),
    "several scales": (
        tensor(encoder_l1_ffn_W1_QuantMultA=np.ones(3, np.float32)),
        "model.npz: encoder_l1_ffn_W1_QuantMultA has shape [3], but [1] follows from its settings "
        "and vocabularies",
    ),
    "three vocabularies": (
        setting(dim_vocabs=[408] * 3),
        UNREADABLE.format("Expected array of length <= 2 - at $.dim-vocabs"),
    ),
    "two sizes of tied embeddings": (
        setting(dim_vocabs=[408, 409]),
        f"vocab.spm: has 408 entries, but model.npz 409{OTHER}",
    ),
    "another depth": (
        setting(enc_depth=3),
        "model.npz: has no encoder_l3_self_Wq, which its settings require",
    ),
    "a thousand layers": (
        setting(enc_depth=1000, dec_depth=1000),
        "its settings need * weights, its files have 91,422 values; the files are damaged, or of "
        "different models",
    ),
    "a huge layer": (
        setting(transformer_dim_ffn=10**9),
        "its settings need 260,000,035,123 weights, its files have 91,422 values; the files are "
        "damaged, or of different models",
    ),
    "heads that do not divide": (
        setting(transformer_heads=3),
        "model.npz: model.d_model = 32 is not divisible by heads = 3; try model.heads=2, or set "
        "model.key_dim and model.value_dim",
    ),
    "norms elsewhere": (
        setting(transformer_preprocess="nd", transformer_postprocess="an"),
        "model.npz: postprocess: nmt has norms before or after all sub-layers, and layers of one "
        "kind",
    ),
    "tied layers that do not exist": (
        setting(transformer_tied_layers=[1, 9]),
        "model.npz: has no decoder_l9_rnn_bf, which its settings require",
    ),
    # decoder.yml.
    "an ensemble": (
        decoder(models=["model.npz", "model.npz"]),
        "one model of Marian is expected, found model.npz, model.npz; give the .npz or .bin file "
        "itself",
    ),
    "another model": (decoder(models=["a.npz"]), "has no 'a.npz', which decoder.yml names"),
    "a long name": (
        decoder(models=["x" * 999]),
        f"has no '{'x' * 99}', which decoder.yml names",
    ),
    "a number as models": (
        decoder(models=5),
        "decoder.yml: Expected array, got int - at $.models",
    ),
    "a missing vocabulary": (
        decoder(vocabs=["a.spm"] * 2),
        "has no 'a.spm', which decoder.yml names",
    ),
    "a vocabulary of three": (
        decoder(vocabs=["vocab.spm"] * 3),
        f"has no vocabularies, or those of several models{ANSWER}",
    ),
    "a beam of 0": (
        decoder(**{"beam-size": 0}),
        "decoder.yml: Expected int >= 1 - at $.beam-size",
    ),
    "a text as penalty": (
        decoder(normalize="x"),
        "decoder.yml: Expected float, got str - at $.normalize",
    ),
    "an empty decoder.yml": (text("decoder.yml", ""), "decoder.yml: Expected object, got null"),
    "aliases in decoder.yml": (
        text("decoder.yml", BOMB + b"models: *a7\n"),
        f"decoder.yml: cannot be read as YAML ({NESTED})",
    ),
    "deep lists in decoder.yml": (
        text("decoder.yml", b"[" * 50_000),
        f"decoder.yml: cannot be read as YAML ({NESTED})",
    ),
    "a large decoder.yml": (
        text("decoder.yml", b"#" * 70_000),
        "decoder.yml: cannot be read as YAML (larger than 65,536 bytes)",
    ),
    # Folders.
    "no model": (
        without("model.npz", "decoder.yml"),
        "one model of Marian is expected, found none; give the .npz or .bin file itself",
    ),
    "two models": (
        all_of(copy("model.npz", "other.npz"), without("decoder.yml")),
        "one model of Marian is expected, found model.npz, other.npz; give the .npz or .bin file "
        "itself",
    ),
    "no vocabulary": (
        without("vocab.spm", "decoder.yml"),
        f"has no vocabularies, or those of several models{ANSWER}",
    ),
    # Vocabularies.
    "an empty vocabulary": (
        text("vocab.spm", ""),
        "vocab.spm: has no unknown or no end token, which Marian needs",
    ),
    "a text as vocabulary": (
        text("vocab.spm", "hello"),
        "vocab.spm: is not a SentencePiece model, or is damaged (*); copy it again",
    ),
    "a cut vocabulary": (
        lambda folder: os.truncate(folder / "vocab.spm", 100_000),
        "vocab.spm: is not a SentencePiece model, or is damaged (it ends too early); copy it again",
    ),
    "a vocabulary of another size": (
        pieces(lambda model: model.pieces.pop()),
        f"vocab.spm: has 407 entries, but model.npz 408{OTHER}",
    ),
    "no end token": (
        pieces(lambda model: setattr(model.trainer_spec, "eos_id", -1)),
        "vocab.spm: has no unknown or no end token, which Marian needs",
    ),
    "one token for both": (
        pieces(lambda model: setattr(model.trainer_spec, "eos_id", 1)),
        "vocab.spm: has no unknown or no end token, which Marian needs",
    ),
    "a piece without text": (
        pieces(lambda model: setattr(model.pieces[300], "piece", "")),
        "its vocabulary is not a SentencePiece model, or is damaged; copy it again",
    ),
    "a vocabulary with factors": (
        all_of(copy("vocab.spm", "vocab.fsv"), decoder(vocabs=["vocab.fsv"])),
        "vocab.fsv: nmt has no factors",
    ),
    "a list without models": (
        all_of(listed("{}"), without("source.spm")),
        "source.spm: no such file; the folder is incomplete",
    ),
    "a short list": (
        listed('"</s>": 0\n"<unk>": 1\n'),
        f"vocab.yml: has 2 entries, but model.npz 408{OTHER}",
    ),
    "an empty list": (listed(""), "vocab.yml: not a vocabulary with <unk> and </s>"),
    "a list without ids": (
        listed("- </s>\n- <unk>\n"),
        "vocab.yml: not a vocabulary with <unk> and </s>",
    ),
    "ids that are words": (
        listed('"</s>": zero\n"<unk>": 1\n'),
        "vocab.yml: not a vocabulary with <unk> and </s>",
    ),
    "no unknown token": (
        listed('"</s>": 0\n"<UNK>": 1\n'),
        "vocab.yml: not a vocabulary with <unk> and </s>",
    ),
    "one list and one model": (
        all_of(listed("{}"), decoder(vocabs=["vocab.yml", "vocab.spm"])),
        "vocab.yml, FOLDER/vocab.spm: one is .spm, the other is not",
    ),
    # Files that are not there, but something in their place.
    "a pointer as model": (text("model.npz", POINTER), LFS.format("model.npz")),
    "a pointer as vocabulary": (text("vocab.spm", POINTER), LFS.format("vocab.spm")),
    "a pointer as decoder.yml": (text("decoder.yml", POINTER), LFS.format("decoder.yml")),
    "a pointer as list": (listed(POINTER), LFS.format("vocab.yml")),
    "a packed model": (packed("model.npz"), GZIP.format("model.npz")),
    "a packed vocabulary": (packed("vocab.spm"), GZIP.format("vocab.spm")),
    "all packed": (
        all_of(*map(packed, ("model.npz", "vocab.spm", "decoder.yml"))),
        GZIP.format("decoder.yml"),
    ),
    "a packed pointer": (
        all_of(text("model.npz.gz", POINTER), without("model.npz", "decoder.yml")),
        LFS.format("model.npz.gz"),
    ),
}


def refused(path: Path, folder: Path) -> str:
    """Return the message about a file or a folder."""
    before = {each: each.stat().st_size for each in folder.parent.rglob("*")}
    with pytest.raises(NmtError) as caught:
        import_marian(path, folder.parent / "run")
    assert {each: each.stat().st_size for each in folder.parent.rglob("*")} == before
    message = str(caught.value)
    assert "\n" not in message
    return message.replace(str(folder), "FOLDER")


def assert_matches(message: str, expected: str) -> None:
    """Compare a message with one in which * is any text."""
    start, star, end = expected.partition("*")
    if star:
        assert message.startswith(start)
        assert message.endswith(end)
    else:
        assert message == expected


@pytest.fixture
def folder(written: Callable[..., Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(written("ssru"), tmp_path / "small-pt-en"))


@pytest.mark.parametrize("name", CASES)
def test_what_is_wrong_is_named(name: str, folder: Path) -> None:
    damage, message = CASES[name]
    damage(folder)
    found = refused(folder, folder).removeprefix("FOLDER/").removeprefix("FOLDER: ")
    assert_matches(found, message)


def zipped(folder: Path, *extra: str) -> Path:
    """Pack a folder, and empty files of other names."""
    path = folder.parent / "opus-pt-en.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in folder.iterdir():
            archive.write(file, file.name)
        for name in extra:
            archive.writestr(name, "")
    return path


NOT_AN_ARCHIVE = "FOLDER: not an archive, or damaged ({}); copy it again"
ARCHIVES: dict[str, tuple[Damage, Callable[[Path], object], str]] = {
    # What happens to the folder, and then to its archive.
    "a damaged model": (
        text("model.npz", "hello"),
        lambda path: None,
        f"FOLDER/{DAMAGED.format('not an .npz archive')}",
    ),
    "a model of another depth": (
        setting(enc_depth=0),
        lambda path: None,
        "FOLDER/model.npz: model.encoder_layers must be between 1 and 1,000, not 0",
    ),
    "no model": (
        without("model.npz", "decoder.yml"),
        lambda path: None,
        "FOLDER: one model of Marian is expected, found none; give the .npz or .bin file itself",
    ),
    "a bomb": (
        text("bomb", bytes(64 << 20)),
        lambda path: None,
        NOT_AN_ARCHIVE.format("unpacks to 4 files of *"),
    ),
    "many files": (
        lambda folder: None,
        lambda path: zipped(path.with_name("small-pt-en"), *map(str, range(1001))),
        NOT_AN_ARCHIVE.format("unpacks to 1,004 files of *"),
    ),
    "a file as folder": (
        lambda folder: None,
        lambda path: zipped(path.with_name("small-pt-en"), "vocab.spm/x"),
        NOT_AN_ARCHIVE.format("[Errno 20] Not a directory: *"),
    ),
    "a pointer": (lambda folder: None, lambda path: path.write_text(POINTER), LFS.format("FOLDER")),
    "a text": (
        lambda folder: None,
        lambda path: path.write_text("hello"),
        NOT_AN_ARCHIVE.format("File is not a zip file"),
    ),
    "a cut archive": (
        lambda folder: None,
        lambda path: path.write_bytes(path.read_bytes()[:-100]),
        NOT_AN_ARCHIVE.format("File is not a zip file"),
    ),
    "a changed archive": (
        lambda folder: None,
        lambda path: path.write_bytes(
            path.read_bytes().replace(path.read_bytes()[5000:5009], bytes(9))
        ),
        NOT_AN_ARCHIVE.format("*"),
    ),
    "no archive": (
        lambda folder: None,
        Path.unlink,
        NOT_AN_ARCHIVE.format("[Errno 2] No such file or directory: 'FOLDER'"),
    ),
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_what_is_wrong_with_an_archive_is_named(name: str, folder: Path) -> None:
    damage, more, message = ARCHIVES[name]
    damage(folder)
    path = zipped(folder)
    more(path)
    assert_matches(refused(path, path), message)


@pytest.mark.parametrize("name", ["config.json", "vocab.json", "source.spm", "model.safetensors"])
def test_pointers_in_folders_of_hugging_face_are_named(name: str, tmp_path: Path) -> None:
    with tarfile.open(Path(__file__).parents[1] / "huggingface" / "models.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    (tmp_path / "shared" / name).write_text(POINTER, encoding="utf-8")
    with pytest.raises(NmtError) as caught:
        import_huggingface(tmp_path / "shared", tmp_path / "run")
    assert str(caught.value) == LFS.format(tmp_path / "shared" / name)


def test_the_command_prints_one_line(folder: Path, tmp_path: Path) -> None:
    def message(*words: object) -> str:
        done = nmt("import", *words, cwd=tmp_path)
        assert (done.code, done.out) == (1, b"")
        assert done.err.count("\n") == 1
        return done.message

    assert message("small-pt-en/nothing.npz") == (
        "nmt: small-pt-en/nothing.npz: no such file, folder or installed model"
    )
    (tmp_path / "file").touch()
    assert message("small-pt-en", "-o", "file/run") == (
        "nmt: file/run: cannot be written (File exists); check the path, its permissions and "
        "the free disk space"
    )
    (folder / "model.npz").write_text(POINTER, encoding="utf-8")
    assert message("small-pt-en") == f"nmt: {LFS.format('small-pt-en/model.npz')}"
    assert {path.name for path in tmp_path.iterdir()} == {"small-pt-en", "file"}
