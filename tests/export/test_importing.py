"""A run made of a bundle has the bundle's weights, and can be trained further."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

import nmt_cli
from nmt_cli.bundle import ENCODER
from nmt_cli.bundle.reading import read_manifest
from nmt_cli.errors import ModelError, NmtError
from nmt_cli.export.importing.runs import import_bundle
from nmt_cli.text.lines import read_lines
from nmt_cli.training.checkpoint import inference_weights, read_checkpoint
from nmt_cli.training.run import Run
from tests.bundle import harm
from tests.harness import nmt
from tests.systems import export_bundle, toy_data, untrained_run

# Of the largest weight of a matrix; float16 has 11 bits, int8 rounds to 1/64 of a column's largest.
ERRORS = {"float32": 1e-6, "float16": 2**-11, "int8": 1 / 128 + 1e-6}
# Every place of an embedding, and products with and without biases.
UNLIKE = {
    "separate": {"embeddings": "none", "norm": "post", "positions": "learned"},
    "unbiased": {"embeddings": "target-softmax", "attention_bias": False, "output_bias": True},
    "widths": {"key_dim": 8, "value_dim": 12, "activation": "swiglu"},
}


def check_weights(run: Run, bundle: Path, output: Path) -> None:
    """Import a bundle of a run and compare the weights of both."""
    import_bundle(bundle, output)
    trained, imported = (
        inference_weights(read_checkpoint(one.preferred)[0]) for one in (run, Run.open(output))
    )
    assert trained.keys() == imported.keys()
    for name, weight in trained.items():
        error = ERRORS[read_manifest(bundle).precision] * np.abs(weight).max()
        np.testing.assert_allclose(imported[name], weight, rtol=0, atol=error, err_msg=name)


@pytest.mark.parametrize("precision", ERRORS)
def test_weights_are_those_of_the_trained_run(
    precision: str, tiny_run: Run, tiny_bundle: Callable[[str], Path], tmp_path: Path
) -> None:
    check_weights(tiny_run, tiny_bundle(precision), tmp_path / "run")


@pytest.mark.slow
@pytest.mark.parametrize("name", UNLIKE)
@pytest.mark.parametrize("precision", ERRORS)
def test_every_transformer_can_be_imported(name: str, precision: str, tmp_path: Path) -> None:
    run = untrained_run(tmp_path, model=UNLIKE[name])
    check_weights(run, export_bundle(run, tmp_path / "bundle", precision), tmp_path / "again")


def test_an_imported_bundle_translates_alike_and_can_be_trained(
    tiny_run: Run, tiny_bundle: Callable[[str], Path], tmp_path: Path
) -> None:
    bundle, lines = tiny_bundle("float32"), b"um gato dois\ncasa\n"
    recipe, _ = toy_data(tmp_path, model={"decoder_layers": 2})
    done = nmt("import", bundle, "--dev", "train", cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.message == (
        "run written to runs/toy-xx-yy; next: nmt train RECIPE --init-from runs/toy-xx-yy"
    )
    outputs = [
        nmt("translate", "-m", model, cwd=tmp_path, stdin=lines).out
        for model in ("runs/toy-xx-yy", bundle)
    ]
    assert outputs[0] == outputs[1]
    held_out = Run.open(tmp_path / "runs" / "toy-xx-yy").held_out()
    assert held_out == tuple(read_lines(tmp_path / f"train.{side}") for side in ("xx", "yy"))
    (tmp_path / "more.toml").write_text(recipe.dump(), encoding="utf-8")
    words = ["--init-from", "runs/toy-xx-yy", "-o", "more", "--set", "training.max_steps=1"]
    done = nmt("train", "more.toml", *words, cwd=tmp_path)
    assert done.code == 0, done.err
    record = json.loads((tmp_path / "more" / "run.json").read_text(encoding="utf-8"))
    assert record["initial"]["name"] == "toy-xx-yy"
    assert record["initial"]["steps"] == read_manifest(bundle).provenance["steps"]


@pytest.mark.slow
def test_a_shipped_bundle_becomes_a_run_that_translates_alike(tmp_path: Path) -> None:
    bundle = Path(__file__).parents[2] / "exports" / "pt-en"
    run = Run.open(import_bundle(bundle, tmp_path / "run"))
    lines = ["O gato dorme.", "Bom dia, como você está?", "Clique no botão para salvar o arquivo."]
    with nmt_cli.open(bundle) as exported, nmt_cli.open(run.folder) as imported:
        texts = [
            [translation.text for translation in model.translate(lines)]
            for model in (exported, imported)
        ]
    assert texts[0] == texts[1]


def test_what_cannot_be_imported_is_named(
    tiny_bundle: Callable[[str], Path], tmp_path: Path
) -> None:
    bundle = tiny_bundle("float32")
    done = nmt("import", bundle, "--source", "de", cwd=tmp_path)
    assert done.code == 2
    assert done.message.endswith("are for models of Marian and from Hugging Face")
    done = nmt("import", bundle, "--dev", "dev", cwd=tmp_path)
    assert done.message == (
        "nmt: dev.xx: no such file; give a PREFIX: the text is in PREFIX.xx and PREFIX.yy"
    )
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").touch()
    done = nmt("import", bundle, "-o", "run", cwd=tmp_path)
    assert "run: a run already exists" in done.message
    damaged = tmp_path / "damaged"
    shutil.copytree(bundle, damaged)
    (damaged / ENCODER).unlink()
    with pytest.raises(NmtError, match=ENCODER):
        import_bundle(damaged, tmp_path / "other")
    run = untrained_run(tmp_path, model={"decoder": "ssru"})
    bundle = export_bundle(run, tmp_path / "ssru")
    with pytest.raises(ModelError, match="does not record where its graphs store decoder_0/ssru"):
        import_bundle(bundle, tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_sizes_of_a_bundle_are_compared_with_its_files(
    tiny_bundle: Callable[[str], Path], tmp_path: Path
) -> None:
    bundle = Path(shutil.copytree(tiny_bundle("float32"), tmp_path / "bundle"))
    tree = harm.read(bundle)
    harm.write(bundle, tree | {"architecture": tree["architecture"] | {"encoder_layers": 1000}})
    with pytest.raises(NmtError, match=r"bundle: its settings need 8,\d+,\d+ weights, its files"):
        import_bundle(bundle, tmp_path / "run")


def test_weights_of_a_bundle_are_in_its_own_file_and_not_larger(
    tiny_bundle: Callable[[str], Path], tmp_path: Path
) -> None:
    bundle = Path(shutil.copytree(tiny_bundle("float32"), tmp_path / "bundle"))
    tree = harm.read(bundle)
    tensors = tree["stored_weights"]["tensors"]
    large = max(tensors, key=lambda name: "embedding" in name)
    harm.write(
        bundle, tree | {"stored_weights": {"tensors": dict.fromkeys(tensors, tensors[large])}}
    )
    with pytest.raises(ModelError, match=r"onnx does not store .* as recorded"):
        import_bundle(bundle, tmp_path / "run")
    harm.write(bundle, tree)
    model = onnx.load(str(bundle / ENCODER), load_external_data=False)
    for tensor in model.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = "../outside.bin"
    (bundle / ENCODER).write_bytes(model.SerializeToString())
    os.mkfifo(tmp_path / "outside.bin")
    harm.hide(bundle)
    with pytest.raises(ModelError, match=r"onnx does not store .* as recorded"):
        import_bundle(bundle, tmp_path / "run")
