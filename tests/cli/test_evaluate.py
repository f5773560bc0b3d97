"""nmt evaluate: tables, JSON output and errors."""

import json
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from nmt_cli.cli import cli
from tests.cli.conftest import Result, assert_fails, nmt
from tests.evaluate.samples import REFERENCE, SECOND, SENTENCES, SYSTEMS

METRICS = ["BLEU", "chrF++", "TER"]
KEPT = ["number kept"]
PROBLEMS = ["empty", "repeating", "copied", "broken", "too short", "too long"]
SYSTEM_OPTIONS = [word for name in SYSTEMS for word in ("--translation", f"{name}.en")]


def write(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """good.en, similar.en and bad.en, references ref.en and second.en, source.pt and domains."""
    for name, lines in SYSTEMS.items():
        write(tmp_path / f"{name}.en", lines)
    write(tmp_path / "ref.en", REFERENCE)
    write(tmp_path / "second.en", SECOND)
    write(tmp_path / "source.pt", [line.upper() for line in REFERENCE])
    write(tmp_path / "domains", ["news", "law"] * (SENTENCES // 2))
    return tmp_path


def tables(result: Result) -> list[list[list[str]]]:
    """Return the fields of each row of each table."""
    assert result.code == 0, result.err
    parts = result.out.decode("utf-8").removesuffix("\n").split("\n\n")
    return [[row.split("\t") for row in part.split("\n")] for part in parts]


def tree(result: Result) -> dict[str, Any]:
    assert result.code == 0, result.err
    assert result.out.count(b"\n") == 1
    record = json.loads(result.out)
    assert isinstance(record, dict)
    return record


def sacrebleu(*words: str, cwd: Path) -> str:
    command = [sys.executable, "-m", "sacrebleu", *words, "--chrf-word-order", "2", "-w", "4"]
    metrics = ["-m", "bleu", "chrf", "ter"]
    done = subprocess.run([*command, *metrics], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


class TestAgainstSacrebleu:
    @pytest.mark.parametrize("references", [["ref.en"], ["ref.en", "second.en"]], ids=["1", "2"])
    def test_one_system(self, files: Path, references: list[str]) -> None:
        expected = json.loads(sacrebleu(*references, "-i", "bad.en", "--confidence", cwd=files))
        options = [word for each in references for word in ("--reference", each)]
        record = tree(nmt("evaluate", "--translation", "bad.en", *options, "--json", cwd=files))
        (text,) = record["texts"]
        assert (text["sentences"], text["references"]) == (SENTENCES, len(references))
        for result, each in zip(text["results"], expected, strict=True):
            assert result["score"] == pytest.approx(each["score"], abs=6e-5)
            half = (result["high"] - result["low"]) / 2
            assert half == pytest.approx(each["confidence_var"], abs=2e-4)
            assert result["signature"] == each["signature"]

    def test_several_systems(self, files: Path) -> None:
        inputs = [f"{name}.en" for name in SYSTEMS]
        expected = sacrebleu("ref.en", "-i", *inputs, "--paired-bs", "-f", "text", cwd=files)
        (rows,) = tables(nmt("evaluate", *SYSTEM_OPTIONS, "--reference", "ref.en", cwd=files))
        # Each system has a row of scores and, except for the first, one of p-values.
        cells = [line.split("│")[2:5] for line in expected.splitlines() if line.startswith("│")]
        numbers = [[re.findall(r"[\d.]+", cell) for cell in line] for line in cells]
        assert len(rows) == 3 * len(SYSTEMS)
        for index, row in enumerate(rows):
            metric, system = divmod(index, len(SYSTEMS))
            score, _, half = map(float, numbers[max(1, 2 * system)][metric])
            assert row[1] == METRICS[metric]
            assert float(row[2]) == pytest.approx(score, abs=0.0051)
            assert float(row[4]) - float(row[3]) == pytest.approx(2 * half, abs=0.011)
            if system:
                (p,) = map(float, numbers[2 * system + 1][metric])
                assert float(row[5]) == pytest.approx(p, abs=0.0016)
            assert row[-1] in expected


class TestTables:
    def test_one_row_per_metric(self, files: Path) -> None:
        result = nmt("evaluate", "--translation", "good.en", "--reference", "ref.en", cwd=files)
        (scores,) = tables(result)
        assert [row[:2] for row in scores] == [["ref.en", each] for each in METRICS]
        assert [row[5:7] for row in scores] == [["-", "good.en"]] * 3
        assert all("version:" in row[-1] for row in scores)
        # Column names go to stderr, so that programs need not skip them.
        assert result.err == "text\tmetric\tscore\tlow\thigh\tp\tsystem\tsignature\n"

    def test_case_is_ignored_on_request(self, files: Path) -> None:
        (files / "upper.en").write_text((files / "ref.en").read_text().upper())
        words = ["--translation", "upper.en", "--reference", "ref.en", "--lowercase"]
        (scores,) = tables(nmt("evaluate", *words, cwd=files))
        assert [row[2] for row in scores] == ["100.00", "100.00", "0.00"]
        assert all("|case:lc|" in row[-1] for row in scores)

    def test_output_is_reproducible(self, files: Path) -> None:
        words = ["evaluate", *SYSTEM_OPTIONS, "--reference", "ref.en", "--by", "length"]
        assert nmt(*words, cwd=files).out == nmt(*words, cwd=files).out

    def test_all_tables(self, files: Path) -> None:
        words = [*SYSTEM_OPTIONS, "--reference", "ref.en", "--reference", "second.en"]
        words += ["--source", "source.pt", "--by", "length", "--by", "domain"]
        result = nmt("evaluate", *words, "--domains", "domains", "--worst", "2", cwd=files)
        scores, checks, buckets, worst = tables(result)
        assert [row[6] for row in scores[:3]] == ["good.en", "similar.en", "bad.en"]
        assert {row[0] for row in scores} == {"source.pt"}
        assert [row[1] for row in checks if row[5] == "bad.en"] == [*KEPT, *PROBLEMS]
        assert {row[0] for row in checks} == {"source.pt"}
        assert [row[1:3] for row in buckets[::3]] == [
            *(["length", each] for each in ("1-10", "11-20", "21-30")),
            *(["domain", each] for each in ("news", "law")),
        ]
        assert {len(row) for row in buckets} == {8}
        assert sum(int(row[3]) for row in buckets if row[1] == "domain") == 3 * SENTENCES
        assert [row[4] for row in worst] == ["source", "reference", "reference", "translation"] * 6
        for _, system, line, _, what, sentence in worst:
            index = int(line) - 1
            lines = SYSTEMS[system.removesuffix(".en")]
            if what == "source":
                assert sentence == REFERENCE[index].upper()
            elif what == "translation":
                assert sentence == lines[index]
        assert len(result.err.splitlines()) == 4

    def test_json_matches_the_tables(self, files: Path) -> None:
        words = ["evaluate", *SYSTEM_OPTIONS, "--reference", "ref.en"]
        words += ["--by", "length", "--worst", "1"]
        scores, buckets, worst = tables(nmt(*words, cwd=files))
        record = tree(nmt(*words, "--json", cwd=files))
        assert record["systems"] == [
            {"name": f"{each}.en", "path": f"{each}.en"} for each in SYSTEMS
        ]
        (text,) = record["texts"]
        for row, each in zip(scores, text["results"], strict=True):
            assert row[1] == each["metric"]
            assert row[2:5] == [f"{each[key]:.2f}" for key in ("score", "low", "high")]
            assert row[5] == ("-" if each["p"] is None else f"{each['p']:.3f}")
            assert row[6:] == [each["system"], each["signature"]]
        cells = [
            [bucket["label"], str(bucket["sentences"]), *(f"{scores[key]:.2f}" for key in METRICS)]
            for bucket in text["buckets"]["length"]
            for scores in bucket["scores"].values()
        ]
        assert cells == [row[2:7] for row in buckets]
        assert [each["translation"] for each in text["worst"]] == [row[5] for row in worst[1::2]]
        assert {each["source"] for each in text["worst"]} == {None}

    def test_checks_without_a_reference(self, files: Path) -> None:
        write(files / "source.pt", ["Há 12 gatos"] * SENTENCES)
        write(files / "good.en", ["There are 12 cats"] * (SENTENCES - 1) + [""])
        words = ["evaluate", "--translation", "good.en", "--source", "source.pt"]
        result = nmt(*words, cwd=files)
        (rows,) = tables(result)
        assert rows[:2] == [
            ["source.pt", "number kept", "119", "120", "-", "good.en"],
            ["source.pt", "empty", "1", "120", "-", "good.en"],
        ]
        assert [row[1:] for row in rows[2:]] == [
            [each, "0", "120", "-", "good.en"] for each in PROBLEMS[1:]
        ]
        assert result.err == "text\tcheck\tcount\tof\treference\tsystem\n"
        (text,) = tree(nmt(*words, "--json", cwd=files))["texts"]
        assert text["results"] == []
        assert text["checks"][0] == {
            "system": "good.en",
            "name": "number kept",
            "count": 119,
            "total": 120,
            "reference": None,
        }

    def test_tabs_in_a_text_add_no_columns(self, tmp_path: Path) -> None:
        write(tmp_path / "t.en", ["a\tb\rc"])
        write(tmp_path / "r.en", ["a b\td"])
        words = ["evaluate", "--translation", "t.en", "--reference", "r.en", "--worst", "1"]
        _, worst = tables(nmt(*words, cwd=tmp_path))
        assert [row[4:] for row in worst] == [["reference", "a b d"], ["translation", "a b c"]]
        (text,) = tree(nmt(*words, "--json", cwd=tmp_path))["texts"]
        assert text["worst"][0]["translation"] == "a\tb\rc"

    def test_utf8_in_any_locale(self, tmp_path: Path) -> None:
        write(tmp_path / "t.en", ["ção €"])
        words = ["evaluate", "--translation", "t.en", "--reference", "t.en", "--worst", "1"]
        for option in ([], ["--json"]):
            ascii_only = {"PYTHONIOENCODING": "ascii"}
            result = nmt(*words, *option, cwd=tmp_path, environment=ascii_only)
            assert result.code == 0, result.err
            assert "ção €" in result.out.decode("utf-8")


class TestNotes:
    def test_few_sentences(self, tmp_path: Path) -> None:
        write(tmp_path / "t.en", ["a b c"] * 3)
        result = nmt("evaluate", "--translation", "t.en", "--reference", "t.en", cwd=tmp_path)
        assert "t.en: with only 3 sentences" in result.err

    def test_tokenized_text(self, tmp_path: Path) -> None:
        write(tmp_path / "t.en", ["a b c ."] * 100)
        result = nmt("evaluate", "--translation", "t.en", "--reference", "t.en", cwd=tmp_path)
        assert result.code == 0
        assert 't.en: lines end in " ."' in result.err
        assert "sacrebleu" not in result.err.lower()


class TestNames:
    def test_files_with_the_same_name_are_named_by_path(self, files: Path) -> None:
        write(files / "new" / "good.en", SYSTEMS["bad"])
        words = ["--translation", "new/good.en", "--translation", "good.en", *SYSTEM_OPTIONS[2:]]
        (scores,) = tables(nmt("evaluate", *words, "--reference", "ref.en", cwd=files))
        assert [row[6] for row in scores[:4]] == ["new/good.en", "good.en", "similar.en", "bad.en"]


USAGE = [
    (["--source", "source.pt", "--worst", "1"], "need --reference"),
    (["--source", "source.pt", "--by", "length"], "need --reference"),
    (["--translation", "good.en"], "needs --reference or --source"),
    (["--domains", "domains", "--by", "domain"], "need --reference"),
    (["--reference", "ref.en"], "--reference needs --source for a model"),
    (["-m", "x", "--translation", "good.en", "--reference", "ref.en"], "needs --source"),
    (["--translation", "good.en", "--reference", "ref.en", "--by", "domain"], "needs --domains"),
    (["--translation", "good.en", "--reference", "ref.en", "--domains", "domains"], "--by domain"),
    (["--translation", "good.en", "--reference", "ref.en", "--worst", "0"], "--worst"),
    (["--translation", "good.en", "--reference", "ref.en", "--by", "colour"], "--by"),
    (["--translation", "good.en", "--translation", "good.en", "--reference", "ref.en"], "twice"),
]


@pytest.mark.parametrize(("words", "fragment"), USAGE, ids=lambda argument: " ".join(argument))
def test_conflicting_options_are_usage_errors(
    files: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], fragment: str
) -> None:
    monkeypatch.chdir(files)
    with pytest.raises(click.UsageError) as caught:
        cli.main(["evaluate", *words], prog_name="nmt", standalone_mode=False)
    assert fragment in caught.value.format_message()
    assert caught.value.exit_code == 2


class TestRefused:
    WORDS = ("evaluate", "--translation", "good.en", "--reference", "ref.en")

    def test_different_line_counts_name_both_files(self, files: Path) -> None:
        for name in ("good.en", "second.en", "source.pt", "domains"):
            (files / "kept").mkdir(exist_ok=True)
            shutil.copy(files / name, files / "kept")
            write(files / name, REFERENCE[:7])
            words = ["--reference", "second.en", "--source", "source.pt"]
            words += ["--by", "domain", "--domains", "domains"]
            result = nmt(*self.WORDS, *words, cwd=files)
            assert_fails(result, f"{name} has 7 lines" if name == "good.en" else "has 7", "has 120")
            assert name in result.message
            assert result.out == b""
            shutil.copy(files / "kept" / name, files)

    def test_empty_files(self, files: Path) -> None:
        write(files / "ref.en", [])
        assert_fails(nmt(*self.WORDS, cwd=files), "nothing to evaluate: ref.en is empty")
        shutil.copy(files / "second.en", files / "ref.en")
        write(files / "good.en", [])
        assert_fails(nmt(*self.WORDS, cwd=files), "good.en has 0 lines, ref.en has 120")

    def test_a_blank_reference_names_its_line(self, files: Path) -> None:
        blanked = [*REFERENCE[:4], "", " ", *REFERENCE[6:]]
        write(files / "second.en", blanked)
        expected = ("second.en, line 5: blank, but the line in", "(and 1 more lines)", "fill it in")
        assert_fails(nmt(*self.WORDS, "--reference", "second.en", cwd=files), *expected)
        words = ["--reference", "second.en", "--source", "source.pt"]
        assert_fails(nmt(*self.WORDS, *words, cwd=files), *expected)
        # A line that is blank in every file separates paragraphs.
        for name in ("ref", "good"):
            lines = (files / f"{name}.en").read_text(encoding="utf-8").splitlines()
            write(files / f"{name}.en", [*lines[:4], "", " ", *lines[6:]])
        assert nmt(*self.WORDS, "--reference", "second.en", cwd=files).code == 0

    def test_a_line_without_a_domain(self, files: Path) -> None:
        write(files / "domains", ["news", " "] * (SENTENCES // 2))
        result = nmt(*self.WORDS, "--by", "domain", "--domains", "domains", cwd=files)
        assert_fails(result, "domains, line 2: no domain")

    def test_unreadable_files(self, files: Path) -> None:
        (files / "latin.en").write_bytes(b"caf\xe9\n")
        for path, fragment in (
            ("absent.en", "absent.en: no such file"),
            (".", ".: is a folder"),
            ("latin.en", "latin.en, line 1: invalid UTF-8"),
        ):
            result = nmt("evaluate", "--translation", path, "--reference", "ref.en", cwd=files)
            assert_fails(result, fragment)

    def test_folders_without_a_model(self, files: Path) -> None:
        words = ["--source", "source.pt", "--reference", "ref.en"]
        assert_fails(nmt("evaluate", "-m", "absent", *words, cwd=files), "absent: no such run")
        assert_fails(nmt("evaluate", "-m", "good.en", *words, cwd=files), "good.en: neither a run")
        assert_fails(nmt("evaluate", *words, cwd=files), "no model", "nmt quickstart")


class TestModels:
    RUN, BUNDLE = "runs/toy-pt-en", "exports/toy-pt-en"

    @pytest.mark.train
    def test_a_run_its_bundle_and_their_translations(self, system: Path, tmp_path: Path) -> None:
        source, reference = (tmp_path / f"some.{side}" for side in ("pt", "en"))
        for path in (source, reference):
            lines = (system / f"toy{path.suffix}").read_text(encoding="utf-8").splitlines()
            write(path, lines[:60])
        translated = nmt("translate", "-m", self.BUNDLE, cwd=system, stdin=source.read_bytes())
        assert translated.code == 0, translated.err
        (tmp_path / "translated.en").write_bytes(translated.out)
        words = ["-m", self.RUN, "--translation", tmp_path / "translated.en", "-m", self.BUNDLE]
        words += ["--source", source, "--reference", reference]
        scores, checks = tables(nmt("evaluate", *words, cwd=system))
        # In the order given, models as well as files.
        assert [row[6] for row in scores[:3]] == [self.RUN, "translated.en", self.BUNDLE]
        for first in range(0, 9, 3):
            assert len({tuple(row[2:5]) for row in scores[first : first + 3]}) == 1
            assert [row[5] for row in scores[first : first + 3]] == ["-", "1.000", "1.000"]
        assert [row[1] for row in checks] == PROBLEMS * 3

    @pytest.mark.slow
    def test_a_run_on_its_recipes_test_sets(self, workdir: Path) -> None:
        for side in ("pt", "en"):
            write(workdir / f"two.{side}", ["a b c"] * 5)
        recipe = workdir / self.RUN / "recipe.toml"
        text = recipe.read_text(encoding="utf-8")
        recipe.write_text(text.replace('test = ["toy"]', 'test = ["toy", "two"]'))
        result = nmt("evaluate", "-m", self.RUN, "--by", "length", "--by", "domain", cwd=workdir)
        scores, _, buckets = tables(result)
        assert [row[:2] for row in scores] == [
            [name, metric] for name in ("toy", "two") for metric in METRICS
        ]
        assert [row[:4] for row in buckets] == [
            [name, by, label, str(lines)]
            for name, lines in (("toy", 200), ("two", 5))
            for by, label in (("length", "1-10"), ("domain", name))
        ]
        assert buckets[0][4:7] == buckets[1][4:7] == [row[2] for row in scores[:3]]
        assert f"translating 200 lines of toy with {self.RUN}" in result.err

    @pytest.mark.train
    def test_without_a_text_the_newest_run_is_the_default(self, workdir: Path) -> None:
        for side in ("pt", "en"):
            write(workdir / f"two.{side}", ["a b c"] * 2)
        recipe = workdir / self.RUN / "recipe.toml"
        recipe.write_text(recipe.read_text("utf-8").replace('test = ["toy"]', 'test = ["two"]'))
        result = nmt("evaluate", cwd=workdir)
        scores, _ = tables(result)
        assert {row[0] for row in scores} == {"two"}
        assert {row[6] for row in scores} == {"toy-pt-en"}
        assert f"using the newest run, {self.RUN}: only a run names test sets" in result.err

    def test_a_default_model_is_ignored_with_translations(self, system: Path) -> None:
        words = ["evaluate", "--translation", "toy.en", "--reference", "toy.en"]
        absent = {"NMT_MODEL": "absent"}
        (scores,) = tables(nmt(*words, cwd=system, environment=absent))
        assert [row[6] for row in scores] == ["toy.en"] * 3

    def test_missing_and_different_test_sets(self, workdir: Path) -> None:
        assert_fails(
            nmt("evaluate", "-m", self.BUNDLE, cwd=workdir),
            f"{self.BUNDLE}: a bundle names no test",
            "-m runs/NAME",
        )
        result = nmt("evaluate", "-m", self.RUN, "--by", "domain", cwd=workdir)
        assert_fails(result, "names only one test set", "--domains")
        other = Path(shutil.copytree(workdir / self.RUN, workdir / "runs/other"))
        words = ["evaluate", "-m", self.RUN, "-m", "runs/other"]
        recipe = other / "recipe.toml"
        recipe.write_text(recipe.read_text(encoding="utf-8").replace('test = ["toy"]', "test = []"))
        assert_fails(nmt(*words, cwd=workdir), "the recipe of runs/other names no test set")
        for side in ("pt", "en"):
            write(workdir / f"two.{side}", ["a b c"] * 5)
        recipe.write_text(recipe.read_text(encoding="utf-8").replace("test = []", 'test = ["two"]'))
        result = nmt(*words, cwd=workdir)
        assert_fails(result, f"the recipes of {self.RUN} and runs/other name different test sets")


def test_a_very_long_line_takes_little_memory(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one line\n" + "is " * 50_000 + "\n")

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))

    words = ["evaluate", "--translation", "a.txt", "--reference", "a.txt"]
    done = nmt(*words, cwd=tmp_path, limit=limit)
    assert done.code == 0, done.err
    warning = "a.txt: TER compares only the first 5,000 characters of line 2; split"
    assert warning in done.err
    assert [row.split("\t")[1:3] for row in done.out.decode().splitlines()] == [
        ["BLEU", "100.00"],
        ["chrF++", "100.00"],
        ["TER", "0.00"],
    ]


def test_without_sacrebleu_the_extra_is_named(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a\n", encoding="utf-8")
    script = "import sys; sys.modules['sacrebleu'] = None; from nmt_cli.cli import main; main()"
    words = ["evaluate", "--translation", "text", "--reference", "text"]
    result = nmt(*words, cwd=tmp_path, command=[sys.executable, "-c", script])
    assert result.err == "nmt: this command needs sacrebleu; pip install 'nmt_cli[evaluate]'\n"
