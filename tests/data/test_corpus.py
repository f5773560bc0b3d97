"""Reading corpora: files, tables, the phrasebook and TensorFlow Datasets."""

import os
import tarfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from nmt_cli.data import corpus
from nmt_cli.data.corpus import Corpus, read_corpus
from nmt_cli.errors import NmtError
from nmt_cli.recipe.config import DataConfig
from nmt_cli.text.lines import SUFFIXES, writing

DATA = Path(os.environ.get("NMT_TEST_DATA", Path(__file__).parents[2] / ".." / "shared" / "data"))
TED = "ted_hrlr_translate/pt_to_en"


@pytest.fixture(scope="module", autouse=True)
def _quiet_tensorflow() -> None:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def config(root: Path | str = "", **others: object) -> DataConfig:
    return DataConfig(root=str(root), **others)  # type: ignore[arg-type]


def refusal(specification: str, settings: DataConfig) -> NmtError:
    with pytest.raises(NmtError) as caught:
        read_corpus(specification, settings)
    return caught.value


def test_two_files(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "v1.2.pt").write_text("um\u2028dois\r\n\r\ntrês", encoding="utf-8")
    (tmp_path / "sub" / "v1.2.en").write_text("\ufeffone two\n\nthree\n", encoding="utf-8")
    pairs = read_corpus("sub/v1.2", config(tmp_path))
    assert pairs == Corpus("v1.2", ["um\u2028dois", "", "três"], ["one two", "", "three"])
    assert len(pairs) == 3
    assert read_corpus(str(tmp_path / "sub" / "v1.2"), config("/elsewhere")) == pairs
    swapped = read_corpus("sub/v1.2", config(tmp_path, source="en", target="pt"))
    assert (swapped.source, swapped.target) == (pairs.target, pairs.source)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_compressed_files(tmp_path: Path, suffix: str) -> None:
    for name, text in {"a.pt": "um\n", "a.en": "one\n", "b.tsv": "um\tone\n"}.items():
        with writing(tmp_path / f"{name}{suffix}") as stream:
            stream.write(text.encode())
    assert read_corpus("a", config(tmp_path)) == Corpus("a", ["um"], ["one"])
    for name in ("b.tsv", f"b.tsv{suffix}"):
        assert read_corpus(name, config(tmp_path)) == Corpus("b", ["um"], ["one"])
    (tmp_path / "a.en").write_text("two\n")  # precedes the compressed one
    assert read_corpus("a", config(tmp_path)).target == ["two"]
    (tmp_path / f"a.pt{suffix}").write_bytes(b"um\n")
    assert "cannot be decompressed" in refusal("a", config(tmp_path)).message


def test_two_files_that_do_not_match(tmp_path: Path) -> None:
    (tmp_path / "a.pt").write_text("um\ndois\n")
    missing = refusal("a", config(tmp_path))
    assert missing.message == f"{tmp_path / 'a.en'}: no such file"
    assert "data.root" in missing.hint
    (tmp_path / "a.en").write_text("one\ntwo\nthree\n")
    error = refusal("a", config(tmp_path))
    assert error.message == f"{tmp_path / 'a.pt'} has 2 lines, {tmp_path / 'a.en'} has 3"
    assert "one sentence per line" in error.hint


@pytest.mark.parametrize("nothing", ["", ".", "/"])
def test_an_empty_specification(nothing: str) -> None:
    assert refusal(nothing, config()).message == f"'{nothing}' is not a corpus"


def test_a_table_in_either_direction(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("um\tone\tx\ndois\t\n", encoding="utf-8")
    assert read_corpus("a.tsv", config(tmp_path)) == Corpus("a", ["um", "dois"], ["one", ""])
    # Without tsv_columns, the columns are source and target, whatever the languages.
    backwards = config(tmp_path, source="en", target="pt")
    assert read_corpus("a.tsv", backwards).source == ["um", "dois"]


def test_the_columns_of_a_table_have_languages(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("1\tone\tum\n2\ttwo\tdois\n")
    columns = ("id", "en", "pt")
    pairs = read_corpus("a.tsv", config(tmp_path, tsv_columns=columns))
    assert pairs == Corpus("a", ["um", "dois"], ["one", "two"])
    swapped = read_corpus("a.tsv", config(tmp_path, tsv_columns=columns, source="en", target="pt"))
    assert swapped == Corpus("a", ["one", "two"], ["um", "dois"])
    error = refusal("a.tsv", config(tmp_path, tsv_columns=("en", "de")))
    assert "data.tsv_columns ['en', 'de'] has no column 'pt'" in error.message
    assert 'data.tsv_columns=["pt", "en"]' in error.hint


def test_a_line_of_a_table_with_too_few_columns(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("um\tone\ndois two\n")
    error = refusal("a.tsv", config(tmp_path))
    assert error.message == f"{tmp_path / 'a.tsv'}, line 2: 1 column(s), 2 needed"
    (tmp_path / "b.tsv").write_bytes(b"um\tone\na\xe7\xe3o\taction\n")
    assert "b.tsv, line 2: invalid UTF-8 at byte 2" in refusal("b.tsv", config(tmp_path)).message


def test_the_phrasebook(monkeypatch: pytest.MonkeyPatch) -> None:
    dev = read_corpus("phrasebook:dev", config())
    assert dev.name == "phrasebook.dev"
    assert len(dev) == len(dev.target) == 300
    swapped = read_corpus("phrasebook:dev", config(source="en", target="pt"))
    assert (swapped.source, swapped.target) == (dev.target, dev.source)
    error = refusal("phrasebook:all", config())
    assert str(error) == "phrasebook:all: no such split; choose train, dev or test"
    error = refusal("phrasebook:dev", config(source="de"))
    assert error.message == "the phrasebook is in pt and en, not de and en"


@pytest.mark.parametrize(
    "malformed",
    ["tfds:", "tfds:name", "tfds::train", "tfds:name:", "tfds:name[:9]", "tfds:[:9]", "tfds::[:9]"],
)
def test_malformed_names_of_data_sets(malformed: str) -> None:
    assert refusal(malformed, config()).message == f"{malformed}: not of the form tfds:NAME:SPLIT"


def records(*given: dict[str, bytes]) -> SimpleNamespace:
    """Return a fake builder with everything that reading its records needs."""
    dataset = SimpleNamespace(as_numpy_iterator=lambda: iter(given))
    return SimpleNamespace(
        name="fake",
        data_path="/data/fake",
        info=SimpleNamespace(features={"pt": "text", "en": "text"}),
        as_dataset=lambda split: dataset,
    )


def test_records_of_several_lines_stay_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    builder = records({"pt": b"um\r\ndois", "en": b"one\n\ntwo\x0c"}, {"pt": b"a", "en": b"b"})
    monkeypatch.setattr(corpus, "_tfds_builder", lambda *_: builder)
    pairs = read_corpus("tfds:a/b:train", config())
    assert pairs == Corpus("a-b.train", ["um dois", "a"], ["one two\x0c", "b"])


@pytest.mark.parametrize(
    ("specification", "name", "split"),
    [
        ("a/b:train[:90%]", "a/b", "train[:90%]"),
        ("a/b:1.0.0:train[10:20]", "a/b:1.0.0", "train[10:20]"),
        ("a:train[:50%]+test[5:]+dev", "a", "train[:50%]+test[5:]+dev"),
        ("a:train+test[-5:]", "a", "train+test[-5:]"),
        ("a:train[", "a", "train["),  # TensorFlow Datasets reports what is wrong
        ("a:train[:5]:x", "a", "train[:5]:x"),
    ],
)
def test_slices_of_splits(
    specification: str, name: str, split: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = records({"pt": b"um", "en": b"one"})
    built = []
    monkeypatch.setattr(corpus, "_tfds_builder", lambda *given: built.append(given[:2]) or builder)
    pairs = read_corpus(f"tfds:{specification}", config())
    assert built == [(name, split)]
    assert pairs == Corpus(f"{name.replace('/', '-')}.{split}", ["um"], ["one"])


def test_records_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    builder = records({"pt": b"\xff", "en": b"one"})
    monkeypatch.setattr(corpus, "_tfds_builder", lambda *_: builder)
    error = refusal("tfds:a:train", config())
    assert error.message.startswith("/data/fake: split 'train' cannot be read (")
    assert "can't decode byte 0xff" in error.message
    error = refusal("tfds:a:train", config(source="de"))
    assert error.message == "fake has no language 'de' (it has pt, en)"


def test_a_data_set_that_cannot_be_downloaded(tmp_path: Path) -> None:
    pytest.importorskip("tensorflow_datasets")
    # An unknown name fails before any download; a known one would retry for minutes.
    bogus = tmp_path / "bogus"
    error = refusal("tfds:no_such_set:train", config(tfds_dir=str(bogus)))
    assert error.message.startswith("TensorFlow Datasets cannot get no_such_set (")
    assert "data.tfds_dir" in error.hint
    assert "nmt train phrasebook works offline" in error.hint
    assert "\n" not in str(error)
    assert not bogus.exists()


def test_a_download_that_succeeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """TensorFlow Datasets unpacks and converts a small archive in place of the real one."""
    pytest.importorskip("tensorflow_datasets")
    from tensorflow_datasets.datasets.ted_hrlr_translate import (
        ted_hrlr_translate_dataset_builder as ted,
    )

    texts = tmp_path / "datasets" / "pt_to_en"
    texts.mkdir(parents=True)
    for split, count in (("train", 3), ("dev", 1), ("test", 2)):
        for language in ("pt", "en"):
            lines = [f"{language} {split} {number} ação .\n" for number in range(count)]
            (texts / f"{language}.{split}").write_text("".join(lines), encoding="utf-8")
    with tarfile.open(tmp_path / "archive.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "datasets", "datasets")
    monkeypatch.setattr(ted, "_DATA_URL", str(tmp_path / "archive.tar.gz"))
    settings = config(tfds_dir=str(tmp_path / "tfds"))
    pairs = read_corpus(f"tfds:{TED}:train", settings)
    assert sorted(pairs.source) == [f"pt train {number} ação ." for number in range(3)]
    assert pairs.target == [line.replace("pt", "en", 1) for line in pairs.source]
    (tmp_path / "archive.tar.gz").unlink()  # what was downloaded stays
    assert read_corpus(f"tfds:{TED}:validation", settings).target == ["en dev 0 ação ."]
    for split, wanted in (
        ("train[:67%]", pairs.target[:2]),
        ("train[67%:]", pairs.target[2:]),
        ("train[1:2]", pairs.target[1:2]),
        ("train[:1]+validation", [pairs.target[0], "en dev 0 ação ."]),
    ):
        part = read_corpus(f"tfds:{TED}:{split}", settings)
        assert (part.name, part.target) == (f"{TED.replace('/', '-')}.{split}", wanted)
    for split, reason in (
        ("nonesuch", "Unknown split 'nonesuch'. Should be one of ['train', 'validation', 'test']"),
        ("train[:5]", "Requested slice [:5] incompatible with 3 examples"),
        ("train[:", "Error parsing split 'train[:'. See format at: https:"),
        ("train[1:1]", "it is empty"),
    ):
        error = refusal(f"tfds:{TED}:{split}", settings)
        assert f"/1.0.0 has no split '{split}' ({reason}" in error.message


def test_the_real_records() -> None:
    pytest.importorskip("tensorflow_datasets")
    folder = DATA / "tfds"
    if not (folder / TED).is_dir():
        pytest.skip(f"no {TED} under {folder}: set NMT_TEST_DATA to a folder that contains it")
    settings = config(tfds_dir=str(folder))
    pairs = read_corpus(f"tfds:{TED}:validation", settings)
    assert pairs.name == "ted_hrlr_translate-pt_to_en.validation"
    assert len(pairs) == len(pairs.target) == 1193
    assert pairs.source[0] == "tinham comido peixe com batatas fritas ?"
    assert pairs.target[0] == "did they eat fish and chips ?"
    error = refusal(f"tfds:{TED}:nonesuch", settings)
    assert f"{TED} in " in error.message
    assert "has no split 'nonesuch' (Unknown split 'nonesuch'. Should be one of " in error.message
    assert "validation" in error.message
    kept = read_corpus(f"tfds:{TED}:validation[:90%]", settings)
    rest = read_corpus(f"tfds:{TED}:validation[90%:]", settings)
    assert (kept.source + rest.source, len(rest)) == (pairs.source, 119)
    error = refusal(f"tfds:{TED}:validation", config(tfds_dir=str(folder), source="fr"))
    assert error.message == "ted_hrlr_translate has no language 'fr' (it has pt, en)"
