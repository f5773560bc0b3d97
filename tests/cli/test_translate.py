"""nmt translate as a real process: lines, files, formats and options."""

import gzip
import json
import os
import pty
import re
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.cli.conftest import NMT, assert_fails, nmt, snapshot

RUN, BUNDLE = "runs/toy-pt-en", "exports/toy-pt-en"
PT_EN = Path(__file__).parents[2] / "exports" / "pt-en"
TEXT = "o gato está aqui.\n\na mesa custa dez euros!\no pão já não existe hoje.\n".encode()


def lines_of(out: bytes) -> list[str]:
    """Split at LF only: a barely trained model may output any other character."""
    return out.decode().removesuffix("\n").split("\n")


class TestLines:
    def test_line_buffered_writes_each_line_at_once(self, workdir: Path) -> None:
        words = [*NMT, "translate", "--line-buffered"]
        with subprocess.Popen(
            words, cwd=workdir, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as on:
            assert on.stdin
            assert on.stdout
            for line in TEXT.splitlines(keepends=True):
                on.stdin.write(line)
                on.stdin.flush()
                assert on.stdout.readline().endswith(b"\n")
            on.stdin.close()
            assert on.wait(60) == 0

    @pytest.mark.parametrize(("number", "wait"), [(signal.SIGINT, 0.1), (signal.SIGTERM, 4.0)])
    def test_a_signal_leaves_complete_lines(
        self, workdir: Path, number: signal.Signals, wait: float
    ) -> None:
        (workdir / "long.txt").write_bytes(TEXT * 2000)
        words = [*NMT, "translate", "long.txt", "--beam-size", "1", "--line-buffered"]
        command = subprocess.Popen(
            words, cwd=workdir, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        with command as process:
            assert process.stdout
            first = process.stdout.readline()
            time.sleep(wait)  # the second wait is long enough to fill the pipe
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
            assert process.returncode == 130
        assert (first + out).endswith(b"\n")
        assert b"Traceback" not in err

    @pytest.mark.parametrize(
        ("policy", "blank"), [("replace", [False, False, True]), ("skip-line", [False, True, True])]
    )
    def test_invalid_bytes(self, workdir: Path, policy: str, blank: list[bool]) -> None:
        text = b"o gato\no c\xe3o\n\n"
        result = nmt("translate", "-m", BUNDLE, "--errors", policy, cwd=workdir, stdin=text)
        assert result.code == 0, result.err
        assert [not line for line in result.out.split(b"\n")[:-1]] == blank
        assert result.err.startswith("standard input, line 2: invalid UTF-8 at byte 4; ")
        assert_fails(
            nmt("translate", cwd=workdir, stdin=text), "standard input, line 2: invalid UTF-8"
        )


class TestFiles:
    def write_inputs(self, workdir: Path) -> None:
        (workdir / "in" / "sub").mkdir(parents=True)
        (workdir / "in" / "a.txt").write_bytes(TEXT)
        (workdir / "in" / "sub" / "b.txt.gz").write_bytes(gzip.compress(TEXT))

    def test_a_folder_to_a_folder(self, workdir: Path) -> None:
        self.write_inputs(workdir)
        plain = nmt("translate", cwd=workdir, stdin=TEXT).out
        result = nmt("translate", "in", "-o", "out", cwd=workdir)
        assert result.code == 0, result.err
        assert result.message.startswith("translated 8 lines (6 sentences, ")
        assert (workdir / "out" / "a.txt").read_bytes() == plain
        assert gzip.decompress((workdir / "out" / "sub" / "b.txt.gz").read_bytes()) == plain
        assert len(list((workdir / "out").rglob("*"))) == 3
        # A second time, complete files stay, and nothing is overwritten without --force.
        assert_fails(nmt("translate", "in", "-o", "out", cwd=workdir), "a.txt: exists", "--force")
        again = nmt("translate", "in", "-o", "out", "--resume", cwd=workdir)
        assert again.code == 0
        assert again.err.count("already complete") == 2
        both = nmt("translate", "in/a.txt", "in/sub/b.txt.gz", cwd=workdir)
        assert both.out == plain * 2

    def test_an_interrupted_file_can_be_resumed(self, workdir: Path) -> None:
        text = TEXT * 800
        (workdir / "long.txt").write_bytes(text)
        words = ["translate", "long.txt", "-m", BUNDLE, "--beam-size", "1", "-o", "long.en"]
        with subprocess.Popen([*NMT, *words], cwd=workdir, stderr=subprocess.DEVNULL) as process:
            part = workdir / "long.en.part"
            deadline = time.monotonic() + 120
            while not (part.exists() and part.stat().st_size) and process.poll() is None:
                assert time.monotonic() < deadline
                time.sleep(0.02)
            process.kill()
        assert not (workdir / "long.en").exists()
        assert part.exists()
        assert_fails(nmt(*words, cwd=workdir), "long.en.part: left by an interrupted", "--resume")
        other = nmt(*words[:-2], "--resume", "--length-penalty", 1, "-o", "long.en", cwd=workdir)
        assert_fails(other, "was started with another model, other options or another input")
        assert other.err.count("\n") == 1
        result = nmt(*words, "--resume", cwd=workdir)
        assert result.code == 0, result.err
        assert "continuing after line " in result.err
        assert (workdir / "long.en").read_bytes() == nmt(*words[:-2], cwd=workdir).out
        assert not part.exists()

    def test_lines_are_written_before_many_are_read(self, workdir: Path) -> None:
        text = TEXT * 200  # fewer lines than the most that are read ahead
        words = ["translate", "--beam-size", "1", "-o", "out.en"]
        with subprocess.Popen([*NMT, *words], cwd=workdir, stdin=subprocess.PIPE) as process:
            assert process.stdin
            process.stdin.write(text)
            process.stdin.flush()
            part = workdir / "out.en.part"
            deadline = time.monotonic() + 120
            while not (part.exists() and part.stat().st_size) and process.poll() is None:
                assert time.monotonic() < deadline
                time.sleep(0.02)
            process.kill()  # while it waits for more lines
        written = part.read_bytes()
        result = nmt(*words, "--resume", cwd=workdir, stdin=text)
        assert result.code == 0, result.err
        expected = nmt(*words[:-2], cwd=workdir, stdin=text).out
        assert (workdir / "out.en").read_bytes() == expected
        assert expected.startswith(written)

    @pytest.mark.parametrize("extra", [[], ["--sample", "--n-best", "2", "--seed", "5"]])
    def test_concatenated_shards_are_the_whole_output(
        self, workdir: Path, extra: list[str]
    ) -> None:
        whole = nmt("translate", "toy.pt", *extra, cwd=workdir)
        parts = [
            nmt("translate", "toy.pt", "--shard", f"{number}/3", *extra, cwd=workdir).out
            for number in (1, 2, 3)
        ]
        assert b"".join(parts) == whole.out
        assert len({part.count(b"\n") for part in parts}) <= 2

    def test_a_shard_reads_no_line_of_another(self, workdir: Path) -> None:
        (workdir / "in.jsonl").write_text('not JSON\n{"text": ""}\n', encoding="utf-8")
        words = ["translate", "in.jsonl", "--input-format", "jsonl", "--field", "text", "--shard"]
        assert_fails(nmt(*words, "1/2", cwd=workdir), "in.jsonl, line 1: is not JSON")
        assert nmt(*words, "2/2", cwd=workdir).out == b'{"text": ""}\n'

    def test_records(self, workdir: Path) -> None:
        (workdir / "t.tsv").write_text("id\ttext\n1\to gato\n2\t\n", encoding="utf-8")
        plain = nmt("translate", cwd=workdir, stdin=b"o gato\n").out.decode().rstrip("\n")
        words = ["translate", "t.tsv", "--input-format", "tsv", "--field", "text"]
        result = nmt(*words, cwd=workdir)
        assert result.out.decode() == f"id\ttext\n1\t{plain}\n2\t\n"
        assert nmt(*words, "--shard", "3/3", cwd=workdir).out == b"2\t\n"
        (workdir / "r.jsonl").write_text('{"n": 1.0, "text": "o gato"}\n\n', encoding="utf-8")
        words = ["translate", "r.jsonl", "--input-format", "jsonl", "--field"]
        result = nmt(*words, "text", cwd=workdir)
        assert (
            result.out.decode()
            == f'{{"n": 1.0, "text": {json.dumps(plain, ensure_ascii=False)}}}\n\n'
        )
        assert_fails(nmt(*words, "body", cwd=workdir), "r.jsonl, line 1: has no field 'body'")
        extended = nmt(*words, "text", "--json", cwd=workdir).out.decode()
        assert extended.startswith('{"n": 1.0, "text": "o gato", "translation": ')
        assert extended.endswith("\n\n")
        (workdir / "r.jsonl").write_text('{"score": 1, "text": "o gato"}\n', encoding="utf-8")
        clash = nmt(*words, "text", "--json", cwd=workdir)
        assert_fails(clash, "r.jsonl, line 1: already has a field 'score', which an option would")

    def test_pipes_and_devices(self, workdir: Path) -> None:
        """A pipe as input, without a line count for the progress bar; devices as output."""
        (workdir / "in.txt").write_bytes(TEXT)
        plain = nmt("translate", "in.txt", cwd=workdir).out
        script = (
            'mkfifo pipe; cat in.txt > pipe & "$@" translate pipe -o out.txt || exit; '
            '"$@" translate <(cat in.txt) -o >(cat > copy.txt) || exit; '
            '"$@" translate in.txt -o /dev/null || exit; '
            '"$@" translate in.txt -o /dev/stdout | cat > through.txt'
        )
        controller, other = pty.openpty()
        done = subprocess.run(
            ["bash", "-c", script, "bash", *NMT],
            cwd=workdir,
            stderr=other,
            timeout=120,
            check=False,
        )
        os.close(other)
        os.close(controller)
        assert done.returncode == 0
        time.sleep(0.2)  # bash does not wait for the reader of >(...)
        for name in ("out.txt", "copy.txt", "through.txt"):
            assert (workdir / name).read_bytes() == plain, name
        assert Path("/dev/null").is_char_device()
        os.mkfifo(workdir / "other")
        refused = nmt("translate", "other", "--shard", "1/2", cwd=workdir)
        assert_fails(refused, "other: is a pipe or a device; --shard reads its input twice")

    def test_warnings_name_the_files_of_a_folder(self, workdir: Path) -> None:
        (workdir / "in").mkdir()
        for name in ("a.txt", "b.txt"):
            (workdir / "in" / name).write_text("o gato, " * 400 + "\n", encoding="utf-8")
        result = nmt("translate", "in", cwd=workdir)
        assert "in/a.txt, line 1: has a sentence longer than" in result.err
        assert "in/b.txt, line 1: has a sentence longer than" in result.err

    def test_lines_before_a_bad_line_are_written(self, workdir: Path) -> None:
        text = TEXT * 600 + b"o c\xe3o\n"
        result = nmt("translate", "--beam-size", 1, cwd=workdir, stdin=text)
        assert_fails(result, "standard input, line 2401: invalid UTF-8")
        assert result.out.count(b"\n") == 2400
        second = nmt("translate", cwd=workdir, stdin=b"o gato\no c\xe3o\n")
        assert_fails(second, "standard input, line 2: invalid UTF-8")
        assert second.out == nmt("translate", cwd=workdir, stdin=b"o gato\n").out
        words = ["translate", "--constraints", "--max-length", 8]
        third = nmt(*words, cwd=workdir, stdin=b"o gato\no gato\t" + b"the house " * 9 + b"\n")
        assert_fails(third, "line 2: prefix and constraints take")
        assert third.out.count(b"\n") == 1

    def test_records_keep_their_line_ends(self, workdir: Path) -> None:
        plain = nmt("translate", cwd=workdir, stdin=b"o gato\n").out.rstrip(b"\n")
        words = ["translate", "--input-format", "tsv", "--field"]
        text = b"o gato\tb\r\no gato\tb\n"
        expected = plain + b"\tb\r\n" + plain + b"\tb\n"
        assert nmt(*words, "1", cwd=workdir, stdin=text).out == expected
        named = nmt(*words, "pt", cwd=workdir, stdin=b"n\tpt\r\n1\to gato\r\n\r\n")
        assert named.out == b"n\tpt\r\n1\t" + plain + b"\r\n\r\n"
        words = ["translate", "--input-format", "jsonl", "--field", "a", "--scores"]
        result = nmt(*words, cwd=workdir, stdin=b'{"a": "o gato"}\r\n')
        assert result.out.endswith(b"}\r\n")
        assert json.loads(result.out)["a"] == plain.decode()

    def test_closed_and_full_stderr(self, workdir: Path) -> None:
        plain = nmt("translate", "toy.pt", cwd=workdir).out
        closed, full = (
            ["bash", "-c", f'"$@" {to}', "bash", *NMT] for to in ("2>&-", "2>/dev/full")
        )
        result = nmt("translate", "toy.pt", cwd=workdir, command=closed)
        assert (result.code, result.out) == (0, plain)
        written = nmt("translate", "toy.pt", "-o", "o.en", cwd=workdir, command=full)
        assert (written.code, (workdir / "o.en").read_bytes()) == (0, plain)

    def test_documents_in_utf_16_and_of_android(self, workdir: Path) -> None:
        text = '\ufeff/* c */\r\n"k" = "o gato";\r\n'
        resources = (
            '<resources><string name="a">o gato</string><color name="b">o</color></resources>\n'
        )
        for encoding in ("utf-16-le", "utf-16-be"):
            (workdir / "a.strings").write_bytes(text.encode(encoding))
            (workdir / "a.xml").write_text(resources)
            words = ["translate", "a.strings", "a.xml", "--format", "auto", "-o", "o", "--force"]
            result = nmt(*words, cwd=workdir)
            assert result.code == 0, result.err
            new = (workdir / "o" / "a.strings").read_bytes().decode(encoding)
            assert re.fullmatch('\ufeff/\\* c \\*/\r\n"k" = ".+";\r\n', new)
            assert (
                (workdir / "o" / "a.xml")
                .read_text()
                .endswith('<color name="b">o</color></resources>\n')
            )
        (workdir / "a.strings").write_bytes(text.encode("utf-16-le")[:-1])
        result = nmt("translate", "a.strings", "--format", "auto", cwd=workdir)
        assert_fails(result, "a.strings: invalid UTF-16; convert the file to UTF-8")

    def test_standard_output_by_name(self, workdir: Path) -> None:
        plain = nmt("translate", "toy.pt", cwd=workdir).out
        assert nmt("translate", "toy.pt", "-o", "-", cwd=workdir).out == plain
        (workdir / "log").write_bytes(b"kept\n")
        shell = ["bash", "-c", '"$@" >> log', "bash", *NMT]
        result = nmt("translate", "toy.pt", "-o", "/dev/stdout", cwd=workdir, command=shell)
        assert (result.code, (workdir / "log").read_bytes()) == (0, b"kept\n" + plain)

    def test_documents(self, workdir: Path) -> None:
        (workdir / "d").mkdir()
        (workdir / "d" / "a.md").write_bytes("# o gato\r\n\r\n- `o cão`\r\n".encode())
        (workdir / "d" / "b.srt").write_bytes(b"1\n00:00:01,000 --> 00:00:02,000\no gato\n")
        result = nmt("translate", "d", "--format", "auto", "-o", "e", cwd=workdir)
        assert result.code == 0, result.err
        assert (workdir / "e" / "a.md").read_bytes().endswith("\r\n\r\n- `o cão`\r\n".encode())
        assert (
            (workdir / "e" / "b.srt").read_bytes().startswith(b"1\n00:00:01,000 --> 00:00:02,000\n")
        )
        assert_fails(
            nmt("translate", "toy.pt", "--format", "auto", cwd=workdir),
            "toy.pt: unknown document format",
        )
        result = nmt("translate", "d/a.md", "-o", "lines", cwd=workdir)
        assert "d/a.md: translated as lines of text; --format auto keeps its markup" in result.err
        assert result.code == 0
        (workdir / "d" / "c.po.gz").write_bytes(gzip.compress(b'msgid "a"\n'))
        words = ["translate", "toy.pt", "d/c.po.gz", "d/b.srt", "-o", "lines2"]
        result = nmt(*words, cwd=workdir)
        assert "d/c.po.gz and 1 more: translated as lines of text; --format auto" in result.err

    def test_zipped_documents(self, workdir: Path) -> None:
        name, text = "content.xml", "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
        part = f'<a xmlns:text="{text}"><text:p>o gato</text:p><b>é</b></a>'
        with ZipFile(workdir / "a.odt", "w") as archive:
            archive.writestr("mimetype", "a\r\nb")
            archive.writestr(name, part)
        result = nmt("translate", "a.odt", "--format", "auto", "-o", "b.odt", cwd=workdir)
        assert result.code == 0, result.err
        with ZipFile(workdir / "b.odt") as archive:
            assert archive.namelist() == ["mimetype", name]
            assert archive.read("mimetype") == b"a\r\nb"
            new = archive.read(name).decode()
            assert re.sub("(?<=:p>).+?(?=</text)", "o gato", new) == part
        data = (workdir / "a.odt").read_bytes()
        result = nmt("translate", "--format", "odt", cwd=workdir, stdin=data)
        assert result.out == (workdir / "b.odt").read_bytes()
        words = ["translate", "-m", PT_EN, "a.odt", "-o", "a.tmx"]
        assert nmt(*words, cwd=workdir).code == 0
        assert "<seg>o gato</seg>" in (workdir / "a.tmx").read_text(encoding="utf-8")
        for words in (["a.odt"], ["toy.pt", "a.odt", "-o", "f"]):
            result = nmt("translate", *words, cwd=workdir)
            assert_fails(result, "a.odt: is a document, not lines of text; add --format auto")
        result = nmt("translate", "toy.pt", "--format", "docx", cwd=workdir)
        assert_fails(result, "toy.pt: cannot be read as a zip archive")


class TestResults:
    def test_tags_go_with_their_words(self, workdir: Path) -> None:
        text = "<p>o <b>gato</b> está <i>aqui</i>.</p>"
        words = ["translate", "-m", PT_EN]
        marked_up = nmt(*words, "--format", "html", cwd=workdir, stdin=text.encode()).out.decode()
        assert Counter(re.findall("<.*?>", marked_up)) == Counter(re.findall("<.*?>", text))
        plain = nmt(*words, cwd=workdir, stdin=b"o gato est\xc3\xa1 aqui.\n").out.decode()
        assert re.sub("<.*?>", "", marked_up).strip() == plain.strip()

    def test_json_contains_everything(self, workdir: Path, with_attention: Path) -> None:
        words = ["translate", "-m", with_attention, "--json", "--n-best", "3", "--alignments"]
        result = nmt(*words, cwd=workdir, stdin=TEXT)
        assert result.code == 0, result.err
        records = [json.loads(line) for line in result.out.splitlines()]
        assert [each["source"] for each in records] == TEXT.decode().splitlines()
        plain = lines_of(nmt("translate", cwd=workdir, stdin=TEXT).out)
        assert [each["translation"] for each in records] == plain
        first, blank = records[:2]
        assert next(each["translation"] for each in first["n_best"]) == first["translation"]
        assert len(first["n_best"]) == len(blank["n_best"]) == 3
        scores = [each["score"] for each in first["n_best"]]
        assert scores == sorted(scores, reverse=True)
        assert len(first["tokens"]) == len(first["token_scores"])
        assert all(pair.count("-") == 1 for pair in first["alignment"])
        assert first["seconds"] > 0
        assert first["quality"] in range(101)
        assert blank["quality"] is None

    def test_columns(self, workdir: Path, with_attention: Path) -> None:
        words = [
            "translate",
            "-m",
            with_attention,
            "--scores",
            "--tokens",
            "--alignments",
            "--n-best",
            "2",
        ]
        result = nmt(*words, cwd=workdir, stdin=TEXT)
        rows = [line.split("\t") for line in result.out.decode().split("\n")[:-1]]
        assert len(rows) == 8
        assert all(len(row) == 4 for row in rows)
        assert rows[0][0] == nmt("translate", cwd=workdir, stdin=TEXT).out.decode().split("\n")[0]
        assert [row[0] for row in rows[2:4]] == ["", ""]

    def test_prefix_suppressed_words_and_constraints(self, workdir: Path) -> None:
        result = nmt("translate", "--prefix", "the dog", cwd=workdir, stdin=TEXT)
        lines = lines_of(result.out)
        assert [line.startswith("the dog") for line in lines] == [True, False, True, True]
        text = b"o gato\tthe house\tbread\no gato\n"
        result = nmt("translate", "--constraints", cwd=workdir, stdin=text)
        first, second = lines_of(result.out)
        assert "the house" in first
        assert "bread" in first
        assert second == nmt("translate", cwd=workdir, stdin=b"o gato\n").out.decode().rstrip("\n")
        words = ["translate", "toy.pt", "--sample"]
        free, without = (
            nmt(*words, *more, cwd=workdir).out for more in ([], ["--suppress", "the"])
        )
        assert " the " in free.decode()
        assert " the " not in without.decode()

    def test_an_ensemble(self, workdir: Path) -> None:
        words = ["translate", "-m", BUNDLE, "-m", BUNDLE]
        assert (
            nmt(*words, cwd=workdir, stdin=TEXT).out
            == nmt("translate", cwd=workdir, stdin=TEXT).out
        )

    @pytest.mark.train
    def test_a_run_supports_the_same_options_as_its_bundle(
        self, workdir: Path, with_attention: Path
    ) -> None:
        options = "--n-best 2 --scores --alignments --min-length 3 --no-repeat-ngram 2 "
        options += "--repetition-penalty 1.2 --coverage-penalty 0.1 --suppress the --prefix a"
        words = ["translate", *options.split(), "-m"]
        from_run, from_bundle = (
            nmt(*words, each, cwd=workdir, stdin=TEXT) for each in (RUN, with_attention)
        )
        assert from_run.code == from_bundle.code == 0, from_run.err + from_bundle.err
        for one, other in zip(from_run.out.splitlines(), from_bundle.out.splitlines(), strict=True):
            text, score, _ = one.split(b"\t")
            # A run aligns with other heads, of which none were chosen.
            assert other.split(b"\t")[0] == text
            assert abs(float(score) - float(other.split(b"\t")[1])) < 1e-3


class TestInteractive:
    def test_piped_lines_are_answered(self, workdir: Path) -> None:
        result = nmt("translate", "--interactive", cwd=workdir, stdin=TEXT)
        assert result.code == 0, result.err
        assert result.out == nmt("translate", cwd=workdir, stdin=TEXT).out

    def test_piped_lines_that_are_not_valid_utf8(self, workdir: Path) -> None:
        text = b"o gato\n\xff\no gato\n"
        result = nmt("translate", "--interactive", cwd=workdir, stdin=text)
        assert_fails(result, "standard input, line 2: invalid UTF-8 at byte 1")
        assert result.out == nmt("translate", cwd=workdir, stdin=b"o gato\n").out
        result = nmt("translate", "--interactive", "--errors", "replace", cwd=workdir, stdin=text)
        assert result.code == 0, result.err
        assert result.out.count(b"\n") == 3

    def test_a_prompt_with_a_history(self, workdir: Path) -> None:
        expected = nmt("translate", cwd=workdir, stdin=b"o gato\n").out.decode().strip()
        leader, follower = pty.openpty()
        environment = {**os.environ, "XDG_STATE_HOME": str(workdir / "state"), "TERM": "dumb"}
        words = [*NMT, "translate", "--interactive"]
        with subprocess.Popen(
            words, cwd=workdir, stdin=follower, stdout=follower, stderr=follower, env=environment
        ) as process:
            os.close(follower)
            shown = read_until(leader, "> ")
            assert "Ctrl-D ends" in shown
            os.write(leader, b"o gato\r")
            shown = read_until(leader, "> ", times=1)
            assert expected in shown
            os.write(leader, b"\x1b[A\r")  # arrow up recalls the previous line
            assert expected in read_until(leader, "> ", times=1)
            os.write(leader, b"\x04")
            assert process.wait(60) == 0
        os.close(leader)
        assert (workdir / "state" / "nmt" / "history").read_text().splitlines()[-1] == "o gato"


def read_until(leader: int, end: str, times: int = 1) -> str:
    shown = ""
    while shown.count(end) < times or not shown.endswith(end):
        shown += os.read(leader, 1024).decode()
    return shown


class TestMisuse:
    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ("--n-best 9", "--n-best 9 needs a beam of that size; use --beam-size 9"),
            ("--sample --beam-size 2", "sampling uses no beam: omit --beam-size or --sample"),
            (
                "--min-length 40",
                "--min-length 40 leaves no room for the end token",
            ),
            ("--constraints --sample", "--constraints and --sample cannot be combined"),
            ("--format srt --json", "--format and --json cannot be combined"),
            ("--interactive toy.pt", "--interactive and FILE cannot be combined"),
            ("--field 2", "--field needs --input-format"),
            ("--resume", "--resume needs --output"),
            ("--resume --force -o x", "--resume and --force cannot be combined"),
            ("--shard 1/2", "--shard and standard input cannot be combined"),
            ("--suppress=", "--suppress needs a word or phrase"),
            ("s3://a/b -o x", "--engine ray is needed for URLs such as s3:/a/b"),
        ],
    )
    def test_conflicting_options(self, workdir: Path, words: str, message: str) -> None:
        before = snapshot(workdir)
        result = nmt("translate", *words.split(), cwd=workdir, stdin=TEXT)
        assert result.code == 2
        assert f"Error: {message}" in result.err
        assert snapshot(workdir) == before

    def test_a_text_is_no_file(self, workdir: Path) -> None:
        result = nmt("translate", "o gato", cwd=workdir)
        assert_fails(result, "o gato: no such file; to translate text: echo TEXT | nmt translate")

    def test_several_files_need_a_folder(self, workdir: Path) -> None:
        (workdir / "made").write_text("")
        result = nmt("translate", "toy.pt", "toy.en", "-o", "made", cwd=workdir)
        assert_fails(result, "made: is a file; several files need a folder to write to")

    def test_errors_change_no_file(self, workdir: Path) -> None:
        (workdir / "two").mkdir()
        (workdir / "two" / "toy.pt").write_bytes(TEXT)
        before = snapshot(workdir)
        for words, fragments in (
            (["toy.pt", "two/toy.pt", "-o", "out"], ["would both be written to out/toy.pt"]),
            (["toy.pt", "-o", "toy.en"], ["toy.en: exists", "--force"]),
            (["toy.pt", "absent", "-o", "out"], ["absent: no such file"]),
            (["--constraints"], ["line 2: prefix and constraints take", "--max-length"]),
            (["--constraints", "--max-length", "3"], ["line 1: prefix and constraints take"]),
        ):
            text = f"o gato\tthe house there\no gato\t{'the house ' * 30}\n".encode()
            result = nmt("translate", *words, cwd=workdir, stdin=text)
            assert_fails(result, *fragments)
            assert snapshot(workdir) == before

    def test_options_that_need_attention(self, workdir: Path) -> None:
        for option in (["--alignments"], ["--unk", "copy"], ["--coverage-penalty", "1"]):
            result = nmt("translate", *option, cwd=workdir, stdin=TEXT)
            assert_fails(result, BUNDLE, "export it again with --attention")


class TestScore:
    def test_n_best_lists(self, workdir: Path) -> None:
        target = (workdir / "toy.en").read_bytes().splitlines(keepends=True)
        (workdir / "twice").write_bytes(b"".join(line * 2 for line in target))
        once = nmt("score", "toy.pt", "toy.en", cwd=workdir)
        assert once.code == 0, once.err
        scores = once.out.split()
        assert len(set(scores)) == 200
        twice = nmt("score", "toy.pt", "twice", "--n-best", "2", cwd=workdir).out.split()
        assert twice[::2] == twice[1::2] == scores
        for line in lines_of(nmt("score", "toy.pt", "toy.en", "--tokens", cwd=workdir).out):
            score, tokens, token_scores = line.split("\t")
            values = [float(value) for value in token_scores.split()]
            assert tokens.endswith(" </s>")
            assert len(tokens.split()) == len(values)
            penalty = ((5 + len(values)) / 6) ** 0.6  # Wu et al. 2016, equation 14
            assert abs(float(score) - sum(values) / penalty) < 1e-4

    def test_different_line_counts(self, workdir: Path) -> None:
        (workdir / "one").write_bytes(b"the cat\n")
        assert_fails(nmt("score", "toy.pt", "one", cwd=workdir), "one: ends before line 2")
        for name in ("toy.pt", "toy.en"):
            (workdir / f"{name}.gz").write_bytes(gzip.compress((workdir / name).read_bytes()))
        packed = nmt("score", "toy.pt.gz", "toy.en.gz", cwd=workdir)
        assert packed.out == nmt("score", "toy.pt", "toy.en", cwd=workdir).out
        assert_fails(nmt("score", "one", "toy.en", cwd=workdir), "one: ends before line 2")
        assert nmt("score", "-", "-", cwd=workdir).code == 2
        shell = ["bash", "-c", '"$@" | true; exit ${PIPESTATUS[0]}', "bash", *NMT]
        closed = nmt("score", "-m", BUNDLE, "toy.pt", "toy.en", cwd=workdir, command=shell)
        assert (closed.code, closed.err) == (128 + signal.SIGPIPE, "")

    def test_blank_and_long_sides(self, workdir: Path) -> None:
        (workdir / "s").write_text(f"\no gato\n{'o gato ' * 200}\n", encoding="utf-8")
        (workdir / "t").write_text("\n\nthe cat\n", encoding="utf-8")
        result = nmt("score", "s", "t", cwd=workdir)
        scores = result.out.decode().split()
        assert (scores[0], scores[2]) == ("0.000000", "nan")
        assert float(scores[1]) < 0
        assert "1 pairs are longer than the model reads at a time: nan" in result.err
        records = nmt("score", "s", "t", "--json", cwd=workdir).out.splitlines()
        unscored = {"score": None, "quality": None, "tokens": [], "token_scores": []}
        assert json.loads(records[2]) == unscored
