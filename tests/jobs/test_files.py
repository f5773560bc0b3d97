"""Inputs, shards, compression, and output files that appear only when complete."""

import gzip
import io
import itertools
import lzma
import os
import random
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.errors import NmtError, OptionError
from nmt_cli.jobs.files import (
    Job,
    Sink,
    check_free,
    check_outputs,
    file_sink,
    jobs_of,
    opened,
    shard_range,
)
from nmt_cli.jobs.options import TranslateOptions
from nmt_cli.jobs.records import CsvTable, Lines
from nmt_cli.search.options import DecodingOptions
from nmt_cli.text.lines import SUFFIXES, decode_lines, plain_name, writing


@given(st.integers(0, 10_000), st.integers(1, 50))
def test_shards_cover_the_file_with_nearly_equal_sizes(total: int, count: int) -> None:
    spans = [shard_range(f"{number}/{count}", total) for number in range(1, count + 1)]
    assert spans[0][0] == 0
    assert spans[-1][1] == total
    assert all(left[1] == right[0] for left, right in itertools.pairwise(spans))
    sizes = [end - start for start, end in spans]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "a/b", "1/0", "-1/4", ""])
def test_malformed_shards(text: str) -> None:
    with pytest.raises(OptionError, match="is not a shard such as 1/4"):
        shard_range(text, 9)


def test_a_folder_yields_its_visible_files(tmp_path: Path) -> None:
    for name in ("b.txt", "a/c.txt", ".git/x", "a/.hidden"):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).touch()
    out = tmp_path / "out"
    assert jobs_of([tmp_path / "in"], out) == [
        Job(tmp_path / "in" / "a" / "c.txt", out / "a" / "c.txt"),
        Job(tmp_path / "in" / "b.txt", out / "b.txt"),
    ]
    assert jobs_of([tmp_path / "in" / "b.txt"], None) == [Job(tmp_path / "in" / "b.txt", None)]
    (tmp_path / "empty").mkdir()
    with pytest.raises(NmtError, match="empty: contains no file"):
        jobs_of([tmp_path / "empty"], out)


def test_two_inputs_for_one_output(tmp_path: Path) -> None:
    with pytest.raises(
        NmtError, match="a/x.txt and .*b/x.txt would both be written to .*out/x.txt"
    ):
        files = [tmp_path / "a" / "x.txt", tmp_path / "b" / "x.txt"]
        check_outputs(jobs_of(files, tmp_path / "out"), Path.resolve)
    with pytest.raises(NmtError, match="x.txt: would overwrite itself"):
        check_outputs(jobs_of([tmp_path / "x.txt"], tmp_path), Path.resolve)


@pytest.mark.parametrize("suffix", ["", *SUFFIXES])
def test_compressed_files_are_read_back_and_reproducible(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"text.txt{suffix}"
    text = b"um\ndois\n" * 5000 + "três".encode()
    contents = []
    for _ in range(2):
        with writing(path) as stream:
            stream.write(text)
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]
    with opened(path) as read:
        assert read.read() == text
    assert plain_name(path).name == "text.txt"


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("damage", ["cut", "foreign", "flipped"])
def test_damaged_files(tmp_path: Path, suffix: str, damage: str) -> None:
    path = tmp_path / f"text{suffix}"
    with writing(path) as stream:
        stream.write(random.Random(0).randbytes(100_000))
    content = bytearray(path.read_bytes())
    if damage == "cut":
        content = content[:-5]
    elif damage == "flipped":
        content[len(content) // 2] ^= 255
        content[-3] ^= 255  # where a checksum is kept
    else:
        content = bytearray(b"plain text\n" * 10)
    path.write_bytes(content)
    with (
        pytest.raises(NmtError, match=rf"text\{suffix}: cannot be decompressed"),
        opened(path) as read,
    ):
        list(read)


def test_standard_tools_read_compressed_files(tmp_path: Path) -> None:
    for suffix, library in ((".gz", gzip), (".xz", lzma)):
        with writing(tmp_path / f"x{suffix}") as stream:
            stream.write(b"abc\n")
        assert library.decompress((tmp_path / f"x{suffix}").read_bytes()) == b"abc\n"


@pytest.mark.parametrize(
    ("on_error", "expected"),
    [("replace", ["ok", "a\ufffdb", "\ufffd\ufffd\ufffd"]), ("skip-line", ["ok", "", ""])],
)
def test_invalid_bytes(
    on_error: str, expected: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    raw = [b"\xef\xbb\xbfok\r\n", b"a\xffb\n", b"\xed\xa0\x80"]  # the last is half a surrogate pair
    assert list(decode_lines(raw, "in.txt", on_error)) == expected
    assert caplog.messages[0].startswith("in.txt, line 2: invalid UTF-8 at byte 2; ")
    assert caplog.messages[1].startswith("in.txt: 2 lines with invalid UTF-8 in total; ")
    with pytest.raises(
        NmtError, match=r"in\.txt, line 2: invalid UTF-8 at byte 2; convert the file"
    ):
        list(decode_lines(raw, "in.txt"))


def completed(each: int) -> Callable[[Iterable[bytes]], tuple[int, int]]:
    options = TranslateOptions(decoding=DecodingOptions(n_best=each))
    return Lines(options).completed


def write(
    path: Path,
    lines: list[str],
    settings: str = "s",
    each: int = 1,
    resume: bool = False,
    force: bool = False,
) -> int:
    """Write the missing lines; return how many input lines were already done."""
    check_free(path, force or resume)
    with file_sink(path, completed(each), settings, resume) as sink:
        for start in range(sink.done * each, len(lines), each):
            sink.write(lines[start : start + each])
        return sink.done


class Stopped(Exception):
    pass


def interrupted(path: Path, lines: list[str], each: int = 1) -> None:
    with pytest.raises(Stopped), file_sink(path, completed(each), "s", False) as sink:
        for start in range(0, len(lines), each):
            sink.write(lines[start : start + each])
        raise Stopped


def test_a_file_appears_only_when_complete(tmp_path: Path) -> None:
    path = tmp_path / "new" / "out.txt"
    write(path, ["a", "", "ç"])
    assert path.read_bytes() == "a\n\nç\n".encode()
    assert [entry.name for entry in path.parent.iterdir()] == ["out.txt"]
    with pytest.raises(NmtError, match="out.txt: exists; replace it with `force`"):
        write(path, ["b"])
    write(path, ["b"], force=True)
    assert path.read_bytes() == b"b\n"


@given(st.lists(st.text("ab ", max_size=3), max_size=12), st.data(), st.integers(1, 3))
def test_a_part_cut_anywhere_can_be_resumed(
    lines: list[str], data: st.DataObject, each: int
) -> None:
    import tempfile

    lines = lines[: len(lines) // each * each]
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "out.txt"
        interrupted(path, lines, each)
        part = Path(name) / "out.txt.part"
        if not lines:
            assert not list(Path(name).iterdir())
            return
        content = part.read_bytes()
        cut = content[: data.draw(st.integers(0, len(content)))]
        part.write_bytes(cut)
        done = write(path, lines, each=each, resume=True)
        assert done == cut.count(b"\n") // each
        assert path.read_bytes() == content
        assert [one.name for one in Path(name).iterdir()] == ["out.txt"]


@given(st.data())
def test_csv_cut_anywhere_loses_only_its_last_record(data: st.DataObject) -> None:
    form = CsvTable(TranslateOptions(input_format="csv", field="1"))
    records = [b"a\r\n", b'"b\nc",""\r\n', b'"",d\n', b'"""\n"""\n']
    content = b"".join(records)
    cut = content[: data.draw(st.integers(0, len(content)))]
    done, size = form.completed(io.BytesIO(cut))
    assert cut[:size] == b"".join(records[:done])
    assert len(cut) < len(b"".join(records[: done + 1])) or done == len(records)


def test_a_part_is_not_overwritten_by_accident(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    interrupted(path, ["a", "b"])
    with pytest.raises(
        NmtError,
        match="out.txt.part: left by an interrupted translation; continue it with `resume`",
    ):
        write(path, ["x"])
    with pytest.raises(
        NmtError, match="was started with another model, other options or another input"
    ):
        write(path, ["x"], settings="other", resume=True)
    (tmp_path / "out.txt.part.json").unlink()
    with pytest.raises(NmtError, match="was started with another model"):
        write(path, ["x"], resume=True)
    assert (tmp_path / "out.txt.part").read_bytes() == b"a\nb\n"
    write(path, ["x"], force=True)
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.txt"]


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link, real = tmp_path / "out.txt", tmp_path / "there" / "real.txt"
    link.symlink_to(real)
    interrupted(link, ["x"])
    assert (tmp_path / "there" / "real.txt.part").exists()
    with pytest.raises(NmtError, match="real.txt.part: left by an interrupted translation"):
        check_free(link, force=False)
    write(link, ["a"], force=True)
    real.unlink()
    write(link, ["a"])
    assert link.is_symlink()
    assert real.read_bytes() == b"a\n"
    write(link, ["b"], force=True)
    assert link.is_symlink()
    assert real.read_bytes() == b"b\n"
    assert [entry.name for entry in real.parent.iterdir()] == ["real.txt"]


@pytest.mark.parametrize("name", ["out.txt.part", "out.txt.part.json"])
@pytest.mark.parametrize("plant", [Path.symlink_to, Path.hardlink_to])
def test_no_planted_link_is_followed(
    tmp_path: Path, name: str, plant: Callable[[Path, Path], None]
) -> None:
    path, planted, private = tmp_path / "out.txt", tmp_path / name, tmp_path / "private"
    interrupted(path, ["a"])
    (tmp_path / name).rename(private)  # what resuming accepts
    plant(planted, private)
    before = private.read_bytes()
    with pytest.raises(NmtError, match=f"{name}: is a link, or another user's file; remove it"):
        write(path, ["a", "b"], resume=True)
    write(path, ["a", "b"], force=True)
    assert private.read_bytes() == before
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["out.txt", "private"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_a_part_of_another_user_is_not_continued(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    interrupted(path, ["theirs"])
    os.chown(tmp_path / "out.txt.part", 12345, -1)
    with pytest.raises(NmtError, match="part: is a link, or another user's file"):
        write(path, ["a", "b"], resume=True)
    os.unlink(tmp_path / "out.txt.part")
    os.mkfifo(tmp_path / "out.txt.part")
    with pytest.raises(NmtError, match="part: is a link, or another user's file"):
        write(path, ["a", "b"], resume=True)


@pytest.mark.parametrize("resume", [False, True])
def test_pipes_and_devices_are_written_to_directly(tmp_path: Path, resume: bool) -> None:
    with file_sink(Path("/dev/null"), completed(1), "s", resume) as sink:
        sink.write(["a"])
    assert Path("/dev/null").is_char_device()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    with file_sink(pipe, completed(1), "s", resume) as sink:
        sink.write(["a"])
        sink.write(["ç"])
    reader.join(timeout=10)
    assert read == ["a\nç\n".encode()]
    assert [entry.name for entry in tmp_path.iterdir()] == ["pipe"]


def test_a_full_device(tmp_path: Path) -> None:
    with (
        pytest.raises(NmtError, match="/dev/full: cannot be written .No space left on device"),
        file_sink(Path("/dev/full"), completed(1), "s", False) as sink,
    ):
        sink.write(["a"])


def test_each_line_is_handed_to_the_system_at_once() -> None:
    reading, writing = os.pipe()
    with open(reading, "rb", buffering=0) as stream, open(writing, "wb") as pipe:
        sink = Sink(pipe)
        for line in ("a", "ç"):
            sink.write([line, "x"])
            assert stream.read(100) == f"{line}\nx\n".encode()


def test_a_terminal_gets_no_control_characters() -> None:
    class Terminal(io.BytesIO):
        def isatty(self) -> bool:
            return True

    lines = ["\x1b[2Ja\tb\r", "\x9b2J\rá"]
    plain, terminal = io.BytesIO(), Terminal()
    for stream in (plain, terminal):
        Sink(stream).write(lines)
    assert plain.getvalue().decode() == "\x1b[2Ja\tb\r\n\x9b2J\rá\n"
    assert terminal.getvalue().decode() == "\\u001b[2Ja\tb\r\n\\u009b2J\\u000dá\n"


def test_a_complete_file_is_compressed(tmp_path: Path) -> None:
    path = tmp_path / "out.gz"
    interrupted(path, ["a"])
    assert write(path, ["a", "b"], resume=True) == 1
    assert gzip.decompress(path.read_bytes()) == b"a\nb\n"
