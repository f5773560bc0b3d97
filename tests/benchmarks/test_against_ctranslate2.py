"""The comparison with CTranslate2: settings, alternating runs, and the same work on both sides."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from against_ctranslate2 import parse
from comparison import process
from comparison.ceiling import Product
from comparison.measure import measure
from comparison.models import Models, bundle_models, run_models
from comparison.plan import (
    OURS,
    OWN,
    THEIRS,
    Cell,
    Plan,
    Setting,
    Text,
    Threads,
    latency_rows,
    multiplications,
    quantile,
)
from comparison.process import Worker, Workers, in_turns
from comparison.sides import Job, Ours, Theirs
from comparison.table import table

from nmt_cli.errors import NmtError
from nmt_cli.recipe.model import DecodingConfig, TransformerConfig
from nmt_cli.text.tokenizer import load_tokenizers
from nmt_cli.training.run import Run
from tests.systems import WORDS

pytest.importorskip("ctranslate2")

LINES = [" ".join(WORDS[start : start + 1 + start % 4]) for start in range(10)]


def silent(line: str) -> None:
    pass


@pytest.fixture(scope="module")
def models(tiny_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Models:
    folder = tmp_path_factory.mktemp("comparison")
    return run_models(tiny_run.folder, ["float32"], folder, silent)


@pytest.fixture
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "SETTLE_SECONDS", 0)


def job(models: Models, side: str, limit: int, forced: bool, workers: int = 1) -> Job:
    return Job(side, str(models.folders["float32"][side]), workers, 1, LINES, limit, forced)


class TestPlan:
    def test_latency_cells_run_in_separate_processes(self):
        plan = Plan((4, 1), (32, OWN, 1), repeats=5, threads=2)
        throughput, latency = plan.groups("int8")
        assert [(each.beam_size, each.batch) for each in throughput] == [
            (4, 32),
            (4, OWN),
            (1, 32),
            (1, OWN),
        ]
        assert [(each.beam_size, each.batch) for each in latency] == [(4, 1), (1, 1)]
        assert Plan((1,), (1,), 5, 2).groups("int8") == [[Cell("int8", 1, 1)]]

    def test_each_side_tries_all_thread_settings(self):
        plan = Plan((4,), (32,), repeats=5, threads=2)
        both = [Setting(Threads(2, 1)), Setting(Threads(1, 2))]
        assert plan.settings(Cell("int8", 4, 32), THEIRS) == both
        assert plan.settings(Cell("int8", 4, OWN), OURS) == both
        assert len(plan.settings(Cell("int8", 4, OWN), THEIRS)) == 6
        latency = [Setting(Threads(1, 2)), Setting(Threads(1, 1))]
        assert plan.settings(Cell("int8", 4, 1), OURS) == latency
        one = Plan((4,), (32,), repeats=5, threads=1)
        assert one.settings(Cell("int8", 4, 32), OURS) == [Setting(Threads(1, 1))]

    @pytest.mark.slow
    def test_blank_and_long_lines_are_left_out(self, models):
        tokenizer = load_tokenizers(models.tokenizer).source
        decoding = DecodingConfig(max_source=8)
        text = Text.of(["sol", "", " ".join(WORDS), "pão"], tokenizer, decoding)
        assert (text.lines, text.left_out) == (["sol", "pão"], 2)
        assert text.source_tokens == [len(each) + 1 for each in tokenizer.encode(["sol", "pão"])]
        assert Text.of(["sol"], tokenizer, decoding, forced_length=5).limit == 5
        with pytest.raises(NmtError, match="no line of the text can be measured"):
            Text.of(["", " "], tokenizer, decoding)

    def test_arithmetic(self):
        assert latency_rows(3) == [0, 1, 2]
        rows = latency_rows(640)
        assert rows[:2] == [0, 10]
        assert len(set(rows)) == 64
        assert quantile([4.0, 1.0, 3.0, 2.0], 0.5) == 2
        assert quantile(list(map(float, range(1, 101))), 0.95) == 95
        config = TransformerConfig(
            d_model=2, feed_forward=3, heads=1, encoder_layers=1, decoder_layers=1
        )
        encoder, decoder = 4 * 4 + 12 + 2 * 4, 6 * 4 + 12 + 2 * 10
        assert multiplications(config, 10, 5, 7, 4) == 5 * encoder + 4 * 7 * decoder


def test_sides_alternate(no_pause):
    order = []
    calls = {name: lambda name=name: order.append(name) or len(order) for name in "ab"}
    assert in_turns(calls, 3) == {"a": [1, 3, 5], "b": [2, 4, 6]}
    assert order == list("ababab")


@pytest.mark.slow
@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize("batch", [1, 3, OWN])
def test_forced_translations_have_the_given_length(models, beam_size, batch):
    nmt_side = Ours(job(models, OURS, 7, forced=True, workers=2))
    other_side = Theirs(job(models, THEIRS, 7, forced=True))
    for side in (nmt_side, other_side):
        seconds, outputs = side.run(beam_size, batch, 1024)
        assert [len(output) for output in outputs] == [7] * len(LINES)
        assert len(seconds) == (len(LINES) if batch == 1 else 1)


@pytest.mark.slow
def test_translations_are_the_same_in_any_batch(models):
    nmt_side = Ours(job(models, OURS, 24, forced=False, workers=2))
    # A barely trained model often writes no letters, and the text path then tries other ways.
    path = replace(nmt_side._translator.path, edits=False)
    nmt_side._translator = replace(nmt_side._translator, path=path)
    single, batched, own_batching = (nmt_side.run(4, batch, 0)[1] for batch in (1, 3, OWN))
    assert single == batched == own_batching
    other_side = Theirs(job(models, THEIRS, 24, forced=False))
    outputs = [other_side.run(1, batch, 1024)[1] for batch in (1, 3, OWN)]
    assert outputs[0] == outputs[1] == outputs[2]
    greedy = nmt_side.run(1, 1, 0)[1]
    assert sum(left == right for left, right in zip(greedy, outputs[0], strict=True)) >= 5


@pytest.mark.parametrize("precision", ["int8", "float32"])
def test_the_speed_of_a_matrix_product_is_measured(precision):
    seconds, _ = Product(Job("product", "", 1, 1, [], 1, False, precision, 32)).run(1, 32, 0)
    assert seconds[0] > 0


@pytest.mark.slow
def test_a_worker_answers_and_reports_errors(models, tmp_path):
    with Workers({OURS: job(models, OURS, 24, forced=False)}) as workers:
        answer = workers.run(OURS, Cell("float32", 1, 3), Setting(Threads(2, 1)))
        assert len(answer["translations"]) == len(LINES)
        (started,) = workers.started
        assert started.worker.peak >= started.worker.loaded["memory"] > 10
    with pytest.raises(NmtError, match="neither a run"):
        Worker(Job(OURS, str(tmp_path), 1, 1, LINES, 24, False))


def test_workers_do_not_load_onnx_runtime():
    script = "import sys, comparison.worker; sys.exit('onnxruntime' in sys.modules)"
    path = {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", script], env=os.environ | path)
    assert done.returncode == 0


@pytest.mark.slow
def test_all_combinations_are_measured(models, no_pause):
    tokenizer = load_tokenizers(models.tokenizer).source
    plan = Plan((2,), (4, 1), repeats=1, threads=2)
    text = Text.of(LINES, tokenizer, models.decoding)
    lines: list[str] = []
    figures = json.loads(json.dumps(measure(models, text, plan, lines.append)))
    assert lines == ["float32, beam 2, batch 4", "float32, beam 2, batch 1", "float32, loading"]
    throughput, latency = figures["cells"]
    assert (throughput["batch"], latency["batch"]) == (4, 1)
    for cell in figures["cells"]:
        rates = [cell["sides"][side]["tokens_per_second"]["median"] for side in (OURS, THEIRS)]
        assert cell["ratio"] == pytest.approx(rates[0] / rates[1])
        assert 0 <= cell["same_translations"] <= 1
        for record in cell["sides"].values():
            assert record["sentences"] == len(LINES)
            assert record["tokens"] >= len(LINES)
            assert len(record["seconds"]) == 1
    nmt_side = latency["sides"][OURS]
    assert 0 < nmt_side["latency_ms"]["p50"] <= nmt_side["latency_ms"]["p95"]
    assert nmt_side["share_of_product"] is None
    assert throughput["sides"][OURS]["latency_ms"] is None
    assert throughput["sides"][OURS]["share_of_product"] > 0
    assert {record["side"] for record in figures["memory"]} == {OURS, THEIRS}
    assert all(record["peak_mib"] >= 10 for record in figures["memory"])
    assert figures["loading"][0]["sides"][THEIRS]["load_seconds"]["median"] > 0
    assert figures["whole_process"] == []
    assert "p50 and p95 are of fewer than 50 sentences" in figures["notes"]
    text_lines = list(table(figures))
    assert any(line.startswith("float32") and line.endswith("%") for line in text_lines)
    assert "memory, MiB" in text_lines


@pytest.mark.slow
def test_a_bundle_is_only_compared_with_the_same_tokenizers(models, tmp_path):
    folders = models.folders["float32"]
    both = bundle_models(folders[OURS], folders[THEIRS])
    assert both.folders == {"float32": folders}
    with pytest.raises(NmtError, match="nmt_ctranslate2.json"):
        bundle_models(folders[OURS], tmp_path)
    (folders[THEIRS] / "tokenizer" / "other").write_text("", encoding="utf-8")
    with pytest.raises(NmtError, match="have different tokenizers"):
        bundle_models(folders[OURS], folders[THEIRS])
    Path(folders[THEIRS] / "tokenizer" / "other").unlink()


def test_options():
    options = parse(["runs/x", "--batch", "own", "--batch", "8"])
    assert (options.batch, options.beam_size, options.repeats) == ([0, 8], None, 5)
    with pytest.raises(SystemExit):
        parse(["runs/x", "--batch", "0"])


@pytest.mark.slow
def test_a_run_from_the_shell(tiny_run):
    command = [sys.executable, str(process.SCRIPT), str(tiny_run.folder), "--precision", "float32"]
    command += ["--batch", "own", "--batch", "1", "--repeats", "1", "--limit", "8"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert sum(line.startswith("float32") for line in lines) == 2 + 2 + 1 + 4 + 4
