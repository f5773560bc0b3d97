"""A file with the search inside finds what `nmt translate` finds, to the last bit."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from click.testing import CliRunner

from nmt_cli.cli import cli
from nmt_cli.errors import NmtError, OptionError, OutputError
from nmt_cli.export.exporter import EXPORTERS, ExportOptions
from nmt_cli.export.onnx import search, single_file
from nmt_cli.export.onnx.bundle import GATES
from nmt_cli.export.onnx.search import text_graph
from nmt_cli.export.onnx.single_file import search_text as search_text_file
from nmt_cli.export.verification import Gates
from nmt_cli.runtime.check import HARD_LINES
from nmt_cli.runtime.load import Bundle
from nmt_cli.search.beam import beam_search
from nmt_cli.search.hypotheses import Hypothesis
from nmt_cli.search.lines import Translation
from nmt_cli.search.options import DecodingOptions, SearchOptions
from nmt_cli.search.rules import processors_of
from nmt_cli.search.segments import padded
from nmt_cli.text.tokenizer import END_ID, PAD_ID, load_tokenizers
from nmt_cli.training.run import Run
from tests.bundle import harm
from tests.export.graphs import loaded
from tests.systems import untrained_run
from tests.test_docs import ROOT
from tests.translators import load_bundle

EXPORTING = (ROOT / "docs" / "reference" / "export-formats.md").read_text(encoding="utf-8")
needs_extensions = pytest.mark.skipif(
    find_spec("onnxruntime_extensions") is None, reason="needs onnxruntime-extensions"
)
SETTINGS = [
    DecodingOptions(beam_size=1),
    DecodingOptions(beam_size=1, no_repeat_ngram=1),
    DecodingOptions(beam_size=2, n_best=2, no_repeat_ngram=1),
    *(DecodingOptions(beam_size=4, n_best=n, length_penalty=0.0) for n in range(1, 5)),
    *(
        DecodingOptions(beam_size=5, n_best=n, max_length=17, no_repeat_ngram=2)
        for n in range(1, 6)
    ),
    DecodingOptions(beam_size=3, n_best=2, length_penalty=2.0, no_repeat_ngram=3),
    DecodingOptions(beam_size=1, min_length=1),
    DecodingOptions(beam_size=4, n_best=3, min_length=5, no_repeat_ngram=2),
]
# Untrained models repeat themselves in most lines.
LINES = [*(line for line in HARD_LINES if len(line) < 100), "um gato", "", "sol", "ha ha ha ha ha"]


def write_file(bundle: Bundle, folder: Path, target: Path) -> None:
    """Write the file of a bundle's graphs."""
    encoder, decoder = (loaded(folder / name) for name in ("encoder.onnx", "decoder.onnx"))
    caches = {cache.name: cache.shape for cache in bundle.manifest.caches}
    model = search.search_graph(encoder, decoder, caches, bundle.manifest.decoding)
    ir.save(model, target / single_file.MODEL)
    onnx.checker.check_model(str(target / single_file.MODEL))


def search_text(folder: Path, target: Path, options: SearchOptions, lines: list[str]) -> list[Any]:
    """Translate lines with a file that is made of a bundle's graphs and tokenizer."""
    bundle, model = Bundle(folder), (folder / "tokenizer" / "joint.model").read_bytes()
    write_file(bundle, folder, target)
    graph = text_graph(loaded(target / single_file.MODEL), model, model, {0, 2, 3})
    ir.save(graph, target / single_file.MODEL)
    tokenizer = load_tokenizers(folder / "tokenizer").target
    return search_text_file(target / single_file.MODEL, tokenizer, lines, options)


def example(page: str, imports: str) -> str:
    """The only example of a page that imports these modules."""
    (code,) = re.findall(rf"^    import {imports}\n(?:    .*\n|\n(?=    ))*", page, re.M)
    return re.sub("^    ", "", code, flags=re.M)


def likelier_end(folder: Path, target: Path) -> Path:
    """Copy a bundle and make END likelier: some hypotheses of an untrained model then finish."""
    shutil.copytree(folder, target)
    model = onnx.load(target / "decoder.onnx", load_external_data=False)
    bias = np.zeros(Bundle(folder).manifest.vocabulary["target"], np.float32)
    bias[END_ID] = 5.0
    model.graph.initializer.append(onnx.numpy_helper.from_array(bias, "end_bias"))
    (index,) = (n for n, node in enumerate(model.graph.node) if node.op_type == "LogSoftmax")
    (logits,) = model.graph.node[index].input
    model.graph.node[index].input[:] = ["biased"]
    model.graph.node.insert(index, onnx.helper.make_node("Add", [logits, "end_bias"], ["biased"]))
    onnx.save(model, str(target / "decoder.onnx"))
    harm.hide(target)
    return target


def texts(translations: Iterable[Translation]) -> list[list[tuple[str, np.float32]]]:
    return [
        [(translation.text, np.float32(translation.score)) for translation in line.n_best]
        for line in translations
    ]


def ids_and_scores(hypotheses: list[Hypothesis]) -> list[tuple[list[int], np.float32]]:
    """Ids without PAD at their end, which an untrained model may predict, and scores."""
    ends = [np.flatnonzero([PAD_ID, *hypothesis.ids])[-1:].sum() for hypothesis in hypotheses]
    pairs = zip(hypotheses, ends, strict=True)
    return [(hypothesis.ids[:end], np.float32(hypothesis.score)) for hypothesis, end in pairs]


def assert_same_search(folder: Path, target: Path) -> list[tuple[SearchOptions, list[Hypothesis]]]:
    """Compare a bundle's search with that of a file made of its graphs, in other batches.

    Returns what the bundle found for each sentence with each of SETTINGS.
    """
    folder = likelier_end(folder, target / "likelier-end")
    bundle, rng, results = Bundle(folder), np.random.default_rng(5), []
    write_file(bundle, folder, target)
    session, vocabulary = single_file.load_file(target), bundle.manifest.vocabulary["source"]
    sizes = rng.permutation([1, 2, 3, 5, 6, 9, 13, 19])
    sources = [[*rng.integers(4, vocabulary, size).tolist(), 3] for size in sizes]
    for settings in SETTINGS:
        options = SearchOptions.of(bundle.manifest.decoding, settings)
        processors = processors_of(options, bundle.tokenizers.target)
        hypotheses = [
            beam_search(bundle.model, padded([source]), options, processors=processors)[0]
            for source in sources
        ]
        results += [(options, best) for best in hypotheses]
        expected = [ids_and_scores(best) for best in hypotheses]
        whole = np.zeros((len(sources), 22), np.int32)
        for row, ids in zip(whole, sources, strict=True):
            row[: len(ids)] = ids
        # In float16, ONNX Runtime rounds the products of a single row in another way.
        one_row = options.beam_size == 1 and bundle.manifest.precision == "float16"
        alone = [np.array([source], np.int32) for source in sources[: 0 if one_row else 2]]
        assert [
            ids_and_scores(best) for best in single_file.search_ids(session, whole, options)
        ] == expected
        for source, best in zip(alone, expected, strict=False):
            assert [ids_and_scores(*single_file.search_ids(session, source, options))] == [best]
    return results


@pytest.mark.parametrize("precision", ["float32", "int8", "float16"])
def test_it_finds_what_the_bundle_finds(
    tiny_bundle: Callable[[str], Path],
    tmp_path: Path,
    precision: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    folder = tiny_bundle(precision)
    capfd.readouterr()  # of the export
    results = assert_same_search(folder, tmp_path)
    assert capfd.readouterr().err == ""  # ONNX Runtime has no warnings
    # In n-best lists, none, some and all hypotheses are finished.
    finished = [
        [len(hypothesis.token_scores) > len(hypothesis.ids) for hypothesis in hypotheses]
        for options, hypotheses in results
        if options.n_best > 1
    ]
    assert {(any(flags), all(flags)) for flags in finished} == {
        (False, False),
        (True, False),
        (True, True),
    }
    # Each matrix is stored once.
    weights = (folder / "weights.bin").stat().st_size
    assert (tmp_path / single_file.MODEL).stat().st_size < weights + 150_000


def test_more_translations_than_beams(tiny_bundle: Callable[[str], Path], tmp_path: Path) -> None:
    folder = tiny_bundle("float32")
    bundle = Bundle(folder)
    write_file(bundle, folder, tmp_path)
    options = SearchOptions.of(bundle.manifest.decoding, DecodingOptions(beam_size=4))
    session, source = single_file.load_file(tmp_path), np.array([[5, 3]], np.int32)
    with pytest.raises(Exception, match=r"n_best needs a beam of that size.*\[5\].*\[4\]"):
        single_file.search_ids(session, source, replace(options, n_best=5))


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_a_translation_that_repeats_itself_is_searched_again(
    tiny_bundle: Callable[[str], Path], tmp_path: Path, precision: str
) -> None:
    folder = tiny_bundle(precision)
    write_file(Bundle(folder), folder, tmp_path)
    translator = load_bundle(folder, DecodingOptions(beam_size=3, n_best=2))
    search = single_file.FileSearch(single_file.load_file(tmp_path), translator.tokenizers)
    of_file = replace(translator, search=search, workers=1)
    expected = list(translator.translate(LINES))
    assert texts(of_file.translate(LINES)) == texts(expected)
    once = replace(translator.options, no_repeat_ngram=0)
    first = texts(replace(of_file, options=once).translate(LINES))
    assert first == texts(replace(translator, options=once).translate(LINES))
    assert first != texts(expected)


def test_weights_above_the_limit_of_the_format(
    tiny_bundle: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MAX_WEIGHTS", 1000)
    folder = tiny_bundle("float32")
    with pytest.raises(OutputError):
        write_file(Bundle(folder), folder, tmp_path)


def test_options_that_the_file_does_not_have(tiny_run: Run) -> None:
    with pytest.raises(OptionError, match="^`attention` needs `onnx`$"):
        EXPORTERS["single-file"].export(tiny_run, ExportOptions(attention="cross"))


def test_the_example_of_the_documentation_runs(
    tiny_bundle: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    target = tmp_path / "exports" / "mine-de-en-single-file"
    folder, bundle = tiny_bundle("float32"), Bundle(tiny_bundle("float32"))
    shutil.copytree(folder / "tokenizer", target / "tokenizer")
    write_file(bundle, folder, target)
    monkeypatch.chdir(tmp_path)
    exec(compile(example(EXPORTING, "numpy, onnxruntime, sentencepiece"), "example", "exec"), {})
    options = DecodingOptions(max_length=256, n_best=2)
    options = SearchOptions.of(bundle.manifest.decoding, options)
    tokenizers = bundle.tokenizers
    sources = [
        tokenizers.source.with_special_tokens(ids)
        for ids in tokenizers.source.encode(["um gato", "sol"])
    ]
    expected = [
        " | ".join(tokenizers.target.decode([hypothesis.ids for hypothesis in hypotheses]))
        for hypotheses in beam_search(bundle.model, padded(sources), options)
    ]
    assert capsys.readouterr().out.split("\n")[:-1] == expected


@needs_extensions
def test_text_in_and_text_out(
    tiny_bundle: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    folder, target = tiny_bundle("float32"), tmp_path / "exports" / "mine-de-en-single-file"
    target.mkdir(parents=True)
    translator = load_bundle(folder, DecodingOptions(beam_size=3, n_best=2))
    translator = replace(translator, path=replace(translator.path, edits=False))
    expected = list(translator.translate(LINES))
    assert texts(search_text(folder, target, translator.options, LINES)) == texts(expected)
    assert capfd.readouterr().err == ""
    monkeypatch.chdir(tmp_path)
    command = [
        sys.executable,
        "-c",
        example(EXPORTING, "numpy, onnxruntime, onnxruntime_extensions"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    once = load_bundle(folder, DecodingOptions(no_repeat_ngram=0))
    assert done.stdout.splitlines() == [
        translation.text for translation in once.translate(["um gato", "sol"])
    ]


def test_a_missing_package(tiny_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt_cli.export.exporter.find_spec", lambda name: None)
    message = "^`with_tokenizer`: onnxruntime_extensions is not installed; pip install 'nmt_cli"
    with pytest.raises(NmtError, match=message):
        EXPORTERS["single-file"].check(ExportOptions(with_tokenizer=True))
    with pytest.raises(OptionError, match="^`with_tokenizer` needs `single_file`$"):
        EXPORTERS["onnx"].check(ExportOptions(with_tokenizer=True))


@pytest.mark.slow
def test_a_file_contains_only_sentencepiece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nmt_cli.export.exporter.find_spec", lambda name: True)
    run = untrained_run(tmp_path, tokenizer={"kind": "wordpiece", "vocab_size": 200})
    options = ExportOptions(output=tmp_path / "out", checkpoint=run.last, with_tokenizer=True)
    with pytest.raises(OutputError, match="a wordpiece tokenizer"):
        EXPORTERS["single-file"].export(run, options)
    options = replace(options, with_tokenizer=False)
    EXPORTERS["single-file"].export(run, options)
    assert "as BERT's WordPiece" in (tmp_path / "out" / "MODEL_CARD.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    "precision", ["float32", "int8", pytest.param("with tokenizer", marks=needs_extensions)]
)
def test_a_verified_export(
    tiny_run: Run, tmp_path: Path, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # An untrained model may write no letters, so that small differences of scores leave lines as
    # they are.
    monkeypatch.setitem(GATES, "int8", Gates(bleu=100, chrf=0, divergence=0.05))
    words = [tiny_run.folder, "--onnx", "--single-file", "--checkpoint", tiny_run.last]
    if precision == "int8":
        words += ["--quantize", "int8"]
    elif precision == "with tokenizer":
        words, precision = [*words, "--with-tokenizer"], "float32"
    words += ["-o", tmp_path / "out"]
    done = CliRunner().invoke(cli, ["export", *map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    card = (tmp_path / "out" / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert "xx to yy, as one ONNX file\n\nA Transformer" in card
    assert f"in {precision}, exported by nmt" in card
    assert "- passed, against the Keras model of" in card
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "model.onnx",
        "tokenizer",
        "MODEL_CARD.md",
    }
    code = example(card.replace("THIS_FOLDER", str(tmp_path / "out")), "numpy, onnxruntime, .*")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout


@pytest.mark.slow
def test_verification_refuses_another_translation(
    tiny_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = single_file.search_graph

    def tampered(encoder: ir.Model, *rest: object) -> ir.Model:
        for value in encoder.graph.initializers.values():
            if value.const_value.shape.rank() == 2:
                value.const_value = ir.tensor(value.const_value.numpy() * np.float32(1.1))
        return original(encoder, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(single_file, "search_graph", tampered)
    options = ExportOptions(output=tmp_path / "out", checkpoint=tiny_run.last)
    with pytest.raises(
        NmtError, match="^float32 verification failed: .* lines are translated differently"
    ):
        EXPORTERS["single-file"].export(tiny_run, options)
    assert list(tmp_path.iterdir()) == []
