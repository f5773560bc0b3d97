"""nmt backtranslate and nmt distill: two aligned files or a one-line error."""

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nmt_cli.bundle.manifest import manifest_digest
from nmt_cli.data.corpus import read_corpus
from nmt_cli.recipe.reading import load_recipe
from nmt_cli.search.segments import repeats
from tests.cli.conftest import NMT, assert_fails, nmt, snapshot
from tests.cli.test_bad_input import limit_file_size
from tests.cli.test_shell import HEAVY
from tests.systems import WORDS, export_bundle, untrained_run

COMMANDS = ("backtranslate", "distill")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with run/ and bundle/, an untrained model from xx to yy, and mono.xx.

    Translations end after a few words, because longer ones would be repetitive.
    """
    folder = tmp_path_factory.mktemp("made")
    run = untrained_run(
        folder,
        seed=7,
        tokenizer={"byte_fallback": False, "vocab_size": 60},
        decoding={"length_ratio": 0.1, "length_extra": 1, "beam_size": 2},
    )
    export_bundle(run, folder / "bundle")
    lines = [" ".join(WORDS[start : start + 3]) for start in range(10)]
    (folder / "mono.xx").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


@pytest.fixture
def workdir(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "workdir"))


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


class TestPairs:
    @pytest.mark.parametrize("command", COMMANDS)
    def test_two_aligned_files(self, workdir: Path, command: str) -> None:
        text = lines(workdir / "mono.xx")
        (workdir / "gaps.xx").write_text("\n".join(["", *text[:4], " ", *text[4:], ""]) + "\n")
        result = nmt(command, "gaps.xx", "-m", "bundle", "-o", "out/made", cwd=workdir)
        assert (result.code, result.out) == (0, b""), result.err
        assert lines(workdir / "out" / "made.xx") == text
        plain = nmt("translate", "-m", "bundle", "mono.xx", cwd=workdir)
        assert lines(workdir / "out" / "made.yy") == plain.out.decode().split("\n")[:-1]
        assert sorted(each.name for each in (workdir / "out").iterdir()) == ["made.xx", "made.yy"]
        assert "wrote out/made.xx and out/made.yy: 10 pairs of 13 lines; left out: 3 blank" in (
            result.err
        )

    @pytest.mark.parametrize("output", ["made", "../far/mono.bt", 'a "b" é/made'])
    def test_a_recipe_accepts_the_setting_that_is_printed(self, workdir: Path, output: str) -> None:
        """Wherever the recipe, its data.root and the pairs are."""
        expected = {"backtranslate": ("yy", "xx", "synthetic"), "distill": ("xx", "yy", "train")}
        recipe = workdir / "recipes" / "r.toml"
        recipe.parent.mkdir()
        for command, (source, target, key) in expected.items():
            words = ["mono.xx", "-m", "bundle", "-o", output, "--force"]
            result = nmt(command, *words, cwd=workdir)
            start = f"for [data] in a recipe from {source} to {target}: "
            assert result.message.startswith(f"{start}{key} = ["), result.err
            setting = result.message.removeprefix(start)
            for root in ("", "corpora", "../elsewhere", workdir / "absolute"):
                table = f'source = "{source}"\ntarget = "{target}"\nroot = "{root}"\n{setting}'
                recipe.write_text(f"[data]\n{table}\n", encoding="utf-8")
                data = load_recipe(recipe).data
                (name,) = getattr(data, key)
                corpus = read_corpus(name, data)
                side = corpus.target if command == "backtranslate" else corpus.source
                assert side == lines(workdir / f"{output}.xx")

    def test_several_sources_standard_input_and_options(self, workdir: Path) -> None:
        text = (workdir / "mono.xx").read_bytes()
        options = ["-m", "bundle", "--beam-size", 1, "--length-penalty", 0, "--threads", 1]
        words = ["distill", "mono.xx", "-", *options, "-o", "made"]
        result = nmt(*words, cwd=workdir, stdin=text)
        assert result.code == 0, result.err
        assert (workdir / "made.xx").read_bytes() == text * 2
        plain = nmt("translate", *options, cwd=workdir, stdin=text)
        assert (workdir / "made.yy").read_bytes() == plain.out * 2

    def test_a_bundle_needs_no_tensorflow(self, workdir: Path) -> None:
        script = (
            "import sys; from nmt_cli.cli import cli\n"
            "cli('distill mono.xx -m bundle -o made'.split(), standalone_mode=False)\n"
            f"sys.exit(str([name for name in {HEAVY} if name in sys.modules]))"
        )
        result = nmt(cwd=workdir, command=[sys.executable, "-c", script])
        assert result.message == "[]"

    @pytest.mark.slow
    def test_a_run_works_too(self, workdir: Path) -> None:
        result = nmt("backtranslate", "mono.xx", "-m", "run", "-o", "made", cwd=workdir)
        assert result.code == 0, result.err
        assert lines(workdir / "made.xx") == lines(workdir / "mono.xx")
        assert len(lines(workdir / "made.yy")) == 10

    def test_repetitive_translations_are_searched_again(self, workdir: Path) -> None:
        endless = " ".join(f"{word} {other}" for word in WORDS[:4] for other in WORDS[::-1])
        text = f"um dois\n{endless}\n".encode()
        (workdir / "mono.xx").write_bytes(text)
        words = ("translate", "-m", "bundle", "--no-repeat-ngram", "0")
        once = nmt(*words, cwd=workdir, stdin=text).out.decode().splitlines()
        assert repeats(once[1], endless)
        result = nmt("distill", "mono.xx", "-m", "bundle", "-o", "made", cwd=workdir)
        assert "2 pairs of 2 lines" in result.err
        assert "0 with a degenerate one" in result.err
        first, second = lines(workdir / "made.yy")
        assert first == once[0]
        assert not repeats(second, endless)

    def test_a_recipe_accepts_the_pairs(self, workdir: Path) -> None:
        assert nmt("distill", "mono.xx", "-m", "bundle", "-o", "made", cwd=workdir).code == 0
        settings = ("source=xx", "target=yy", "train=train", "synthetic=made", "synthetic_tag=<BT>")
        words = [word for each in settings for word in ("--set", f"data.{each}")]
        (workdir / "r.toml").write_text("[tokenizer]\nvocab_size = 320\n")
        result = nmt("prepare", "r.toml", *words, "-o", "prepared-made", cwd=workdir)
        assert result.code == 0, result.err
        assert "synthetic pairs kept              10" in result.err


class TestRefusals:
    @pytest.mark.parametrize("command", COMMANDS)
    @pytest.mark.parametrize("suffix", ["xx", "yy"])
    def test_existing_output_is_replaced_only_with_force(
        self, workdir: Path, command: str, suffix: str
    ) -> None:
        (workdir / f"made.{suffix}").write_text("precious\n")
        before = snapshot(workdir)
        words = [command, "mono.xx", "-m", "bundle", "-o", "made"]
        assert_fails(nmt(*words, cwd=workdir), f"made.{suffix}: exists", "--force")
        assert snapshot(workdir) == before
        assert nmt(*words, "--force", cwd=workdir).code == 0
        assert len(lines(workdir / f"made.{suffix}")) == 10
        assert set(snapshot(workdir)) == {*before, "made.xx", "made.yy"}

    @pytest.mark.parametrize("force", [[], ["--force"]])
    def test_the_input_is_never_overwritten(self, workdir: Path, force: list[str]) -> None:
        before = snapshot(workdir)
        result = nmt("backtranslate", "mono.xx", "-m", "bundle", "-o", "mono", *force, cwd=workdir)
        assert_fails(result, "mono.xx: is the text to translate itself", "choose another")
        assert snapshot(workdir) == before

    @pytest.mark.parametrize(
        ("text", "model", "output", "fragments"),
        [
            ("absent.xx", "bundle", "made", ("absent.xx: no such file",)),
            ("mono.xx", "absent", "made", ("absent: no such run or bundle",)),
            ("mono.xx", "prepared", "made", ("prepared: neither a run", "nmt export")),
            ("mono.xx", "bundle", "..", ("..: cannot be the PREFIX of two files", "mono.bt")),
            ("mono.xx", "bundle", "made.tsv", ("made.tsv: cannot be the PREFIX of two files",)),
            ("mono.xx", "bundle", "made.tsv.gz", ("made.tsv.gz: cannot be the PREFIX of",)),
            ("mono.xx", "bundle", "mono.xx/made", ("made.xx", "cannot be written")),
            ("mono.xx", "bundle", "/proc/made", ("/proc/made.xx", "cannot be written")),
            ("empty.xx", "bundle", "made", ("nothing to write: 0 pairs of 1 lines",)),
            ("bad.xx", "bundle", "made", ("bad.xx, line 2: invalid UTF-8", "iconv")),
        ],
    )
    def test_errors_are_one_line_and_write_nothing(
        self,
        workdir: Path,
        text: str,
        model: str,
        output: str,
        fragments: tuple[str, ...],
    ) -> None:
        (workdir / "empty.xx").write_text("\n")
        (workdir / "bad.xx").write_bytes(b"um\n\xff\n")
        before = snapshot(workdir)
        assert_fails(nmt("distill", text, "-m", model, "-o", output, cwd=workdir), *fragments)
        assert snapshot(workdir) == before

    @pytest.mark.parametrize("language", ["../yy", ".", "xx"])
    def test_languages_that_cannot_name_files(self, workdir: Path, language: str) -> None:
        path = workdir / "bundle" / "manifest.json"
        tree = {**json.loads(path.read_text(encoding="utf-8")), "target_language": language}
        tree["manifest_sha256"] = manifest_digest(tree)
        path.write_text(json.dumps(tree), encoding="utf-8")
        before = snapshot(workdir)
        result = nmt("backtranslate", "mono.xx", "-m", "bundle", "-o", "made", cwd=workdir)
        assert_fails(result, "bundle: its languages, 'xx' and", "cannot name two files")
        assert snapshot(workdir) == before

    def test_required_arguments(self, workdir: Path) -> None:
        for words in (["mono.xx", "-o", "made"], ["mono.xx", "-m", "bundle"], ["-m", "bundle"]):
            for command in COMMANDS:
                result = nmt(command, *words, cwd=workdir)
                assert result.code == 2
                assert "Missing " in result.err


class TestInterruption:
    def test_a_full_disk_keeps_the_old_files(self, workdir: Path) -> None:
        (workdir / "mono.xx").write_text("um dois três\n" * 400, encoding="utf-8")
        (workdir / "made.yy").write_text("precious\n")
        before = snapshot(workdir)
        words = ["distill", "mono.xx", "-m", "bundle", "-o", "made", "--force"]
        result = nmt(*words, cwd=workdir, limit=limit_file_size(4096))
        assert_fails(result, "made.", "cannot be written (File too large)")
        assert snapshot(workdir) == before

    @pytest.mark.parametrize("kill", [signal.SIGINT, signal.SIGTERM])
    def test_a_signal_leaves_nothing(self, workdir: Path, kill: signal.Signals) -> None:
        before = snapshot(workdir)
        words = ["distill", "-", "-m", "bundle", "-o", "made"]
        with subprocess.Popen(
            [*NMT, *words], cwd=workdir, stdin=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            assert process.stdin is not None
            process.stdin.write(b"um dois\n" * 3000)  # more than one window
            process.stdin.flush()
            # Files, not folders: a signal just after mkdir would leave the folder.
            while len(list(workdir.glob(".made*/*"))) < 2:
                assert process.poll() is None
                time.sleep(0.01)
            process.send_signal(kill)
            assert process.wait(60) == 130
        assert snapshot(workdir) == before
