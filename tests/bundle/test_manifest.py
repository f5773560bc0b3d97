"""A manifest is read only if every value has the right type and is in range."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt_cli.bundle import MANIFEST
from nmt_cli.bundle.manifest import DIGEST, FORMAT, Check
from nmt_cli.bundle.reading import check_files, read_manifest
from nmt_cli.errors import NmtError
from tests.bundle import harm

HASH = {"sha256": "0" * 64, "bytes": 1}


def refusal(folder: Path) -> str:
    """Read a manifest; return the error, which is one line."""
    with pytest.raises(NmtError) as caught:
        check_files(folder, read_manifest(folder))
    message = str(caught.value)
    assert str(folder) in message
    assert len(message.splitlines()) == 1
    assert len(message) < 600
    return message


@pytest.mark.parametrize(
    ("place", "value", "fragment"),
    [
        (("name",), "", "damaged (name: Expected str of length >= 1)"),
        (("name",), 7, "damaged (name: Expected str, got int)"),
        (("name",), "a\nb", "name: Expected str matching regex"),
        (("name",), "\x1b[2J", "name: Expected str matching regex"),
        (("name",), "\ud800", "damaged (JSON is malformed"),
        (("name",), "a" * 5000, "name: Expected str of length <= 4096"),
        (("source_language",), None, "source_language: Expected str, got null"),
        (("architecture",), [], "Expected object, got array"),
        (("architecture", "heads"), "two", "architecture.heads must be a whole number"),
        (("architecture", "heads"), True, "heads must be a whole number, not True"),
        (("architecture", "heads"), 3, "architecture.d_model = 32 is not divisible by heads = 3"),
        (("architecture", "pad_ids"), [0, 3], "architecture.pad_ids = [0, 3] must be ids of"),
        (("architecture", "key_dim"), 2**20, "cross_key_0 has 2,097,152 numbers per column"),
        (("architecture", "heads"), -2, "heads must be at least 1, not -2"),
        (("architecture", "heads"), 4, "should be cross_key_0 float [B, 4, S, 8]"),
        (("architecture", "d_model"), 2**40, "d_model must be between 2 and 1,048,576"),
        (("architecture", "decoder_layers"), 10**9, "decoder_layers must be between 1 and 1,000"),
        (("architecture", "decoder_layers"), 1, "cross_key_1 is not in the signature"),
        (("architecture", "decoder_layers"), 3, "cross_key_2 is missing"),
        (("architecture", "norm"), "per", "norm must be one of pre, post"),
        (("architecture", "epsilon"), 1e300, "epsilon must be between 1e-12 and 0.01"),
        (("architecture", "head"), 2, "unknown key 'architecture.head'"),
        (("decoding", "beam_size"), 0, "beam_size must be between 1 and 256, not 0"),
        (("decoding", "beam_size"), None, "beam_size must be a whole number"),
        (("decoding", "max_length"), 10**9, "max_length must be between 1 and 65,536"),
        (("decoding", "length_ratio"), 1e9, "length_ratio must be between 0.1 and 1,000"),
        (("decoding", "max_source"), 1, "max_source must be between 2 and 65,536"),
        (("vocabulary", "target"), 0, "vocabulary[...]: Expected int >= 4"),
        (("vocabulary", "target"), 2**33, "vocabulary[...]: Expected int <= 1048576"),
        (("token_ids", "end"), 2, "token_ids must be"),
        (("token_ids",), {}, "token_ids must be"),
        (("encoder", "file"), "../encoder.onnx", "files has no record of ../encoder.onnx"),
        (("encoder", "file"), "other.onnx", "files has no record of other.onnx"),
        (("encoder", "opset"), 0, "encoder.opset: Expected int >= 1"),
        (("encoder", "opset"), 18.0, "encoder.opset: Expected int, got float"),
        (("encoder", "outputs"), [], "is missing"),
        (("encoder", "inputs", 0, "dtype"), "int64", "source int64 [B, S] should be source int32"),
        (("decoder", "inputs"), [], "tokens is missing"),
        (("decoder", "inputs", 0), 5, "decoder.inputs[0]: Expected object, got int"),
        (("decoder", "inputs", 0, "name"), None, "decoder.inputs[0].name: Expected str, got null"),
        (("decoder", "inputs", 0, "name"), "ancestry", "tokens is missing"),
        (("decoder", "inputs", 0, "shape"), "BK", "inputs[0].shape: Expected array, got str"),
        (
            ("decoder", "inputs", 0, "shape"),
            ["B", None],
            "inputs[0].shape[1]: Expected int | str, got null",
        ),
        (("decoder", "inputs", 0, "shape"), ["B"], "tokens int32 [B] should be tokens int32"),
        (("files",), {}, "files has no record of tokenizer/tokenizer.json"),
        (
            ("files", "encoder.onnx", "sha256"),
            "xyz",
            "files[...].sha256: Expected str matching regex",
        ),
        (("files", "encoder.onnx", "bytes"), -1, "files[...].bytes: Expected int >= 0"),
        (("files", "encoder.onnx", "bytes"), 1e3, "files[...].bytes: Expected int, got float"),
        (("files", "encoder.onnx"), None, "files[...]: Expected object, got null"),
        (("provenance", "steps"), "many", "damaged (steps: Expected int, got str)"),
        (("provenance", "sources"), [{"corpus": "a"}], "required field"),
        (("provenance", "initial"), None, "damaged (initial: Expected object, got null)"),
        (("files", "/etc/passwd"), HASH, "files: '/etc/passwd' is not the name of a bundle's file"),
        (("files", "../x.bin"), HASH, "files: '../x.bin' is not the name"),
        (("files", "a/../../x.bin"), HASH, "files: 'a/../../x.bin' is not the name"),
        (("files", "..\\x.bin"), HASH, "is not the name"),
        (("files", ""), HASH, "files: '' is not the name"),
        (("files", "a\0b"), HASH, "files: 'a\\x00b' is not the name"),
        (("files", "absent.bin"), HASH, "absent.bin: cannot be read (No such file or directory)"),
        (("files", "tokenizer"), HASH, "files: 'tokenizer' is not the name"),
        (("precision",), "int4", "precision must be one of float32, int8, float16"),
        (("metrics",), {}, "metrics: Expected array, got object"),
        (("metrics",), [{"set": "x"}], "metrics[0]: Object missing required field metric"),
        (("verification",), [], "verification: Expected object, got array"),
        (
            ("verification", "outcome"),
            "failed",
            "verification.outcome: Invalid enum value 'failed'",
        ),
        (("verification", "version"), 2, "verification.version: Invalid enum value 2"),
        (
            ("verification", "checks", 0, "passed"),
            1,
            "verification.checks[0].passed: Expected bool, got int",
        ),
        (("provenance",), [], "provenance: Expected object, got array"),
        (("alignment_heads",), [[0, 0]], "alignment_heads[0]: Expected array of length 3"),
        (("alignment_heads",), [[0, -1, 0]], "alignment_heads[0][1]: Expected int >= 0"),
        (("alignment_heads",), [[1, 1, 0], [2, 0, 0]], "alignment_heads has [2, 0, 0]"),
        (("alignment_heads",), [[0, 2, 0]], "alignment_heads has [0, 2, 0]"),
        (("alignment_heads",), [[0, 0, 2]], "alignment_heads has [0, 0, 2]"),
        (("format",), True, "no format number"),
        (("format",), 0, "not a bundle's manifest"),
        (("format",), 2.0, "no format number"),
        (("format",), FORMAT + 1, f"newer nmt (format {FORMAT + 1}"),
        (("new",), float("nan"), "damaged (JSON is malformed"),
        (("new",), float("-inf"), "damaged (JSON is malformed"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_invalid_values(bundle: Path, place: tuple[Any, ...], value: Any, fragment: str) -> None:
    harm.write(bundle, harm.put(harm.read(bundle), place, value))
    assert fragment in refusal(bundle)


@pytest.mark.parametrize(
    ("old", "new", "fragment"),
    [
        ('"name": "toy-xx-yy"', '"name": 1e999', "damaged (Number out of range"),
        ('"name": "toy-xx-yy"', '"name": "\udc80"', "damaged ("),
        ('"beam_size": 4', '"beam_size": 5', f"was changed after the export ({DIGEST} differs)"),
        (f'"{DIGEST}"', '"digest"', f"was changed after the export ({DIGEST} differs)"),
        ("{", "[" * 100_000 + "{", "damaged ("),
    ],
)
def test_invalid_text(bundle: Path, old: str, new: str, fragment: str) -> None:
    path = bundle / MANIFEST
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_bytes(text.replace(old, new, 1).encode("utf-8", "surrogateescape"))
    assert fragment in refusal(bundle)


def test_a_huge_manifest_is_not_read(bundle: Path) -> None:
    with (bundle / MANIFEST).open("ab") as stream:
        stream.truncate(1 << 40)  # sparse: it takes no space
    assert "larger than 4,194,304 bytes" in refusal(bundle)


def test_a_file_of_the_wrong_size_is_not_hashed(bundle: Path) -> None:
    with (bundle / "encoder.onnx").open("ab") as stream:
        stream.truncate(1 << 40)
    assert "encoder.onnx: is not the file that was exported (1,099,511," in refusal(bundle)


def test_hostile_values_are_refused_or_harmless(pristine: Path, bundle: Path) -> None:
    """Replace each value in turn, with a correct digest."""
    tree, rng = harm.read(pristine), np.random.default_rng(5)
    before = read_manifest(pristine)
    outer = {"name", "source_language", "target_language", "metrics", "provenance"}
    outer.add("stored_weights")  # only nmt import reads it
    for place in harm.manifest_places(tree):
        value = harm.HOSTILE_VALUES[rng.integers(len(harm.HOSTILE_VALUES))]
        try:
            harm.write(bundle, harm.put(tree, place, value))
            after = read_manifest(bundle)
        except (NmtError, UnicodeEncodeError):  # UnicodeEncodeError: the value cannot be written
            continue
        free = place[0] in outer or place[:2] in (("architecture", "dropout"),)
        free |= place[0] in ("decoding", "verification", "files")
        free |= place[-1] == "opset"  # compared with the graph itself when it is loaded
        assert free or after == before or type(value) is bool, (place, value)


def test_links_within_the_bundle_and_out_of_it(bundle: Path) -> None:
    (bundle / "decoder.onnx").rename(bundle / "real")
    (bundle / "decoder.onnx").symlink_to("real")
    check_files(bundle, read_manifest(bundle))
    (bundle / "real").rename(bundle.parent / "real")
    (bundle / "decoder.onnx").unlink()
    (bundle / "decoder.onnx").symlink_to("../real")
    assert "'decoder.onnx' lies outside the bundle" in refusal(bundle)


def test_a_manifest_outside_the_bundle(bundle: Path) -> None:
    (bundle / MANIFEST).rename(bundle.parent / MANIFEST)
    (bundle / MANIFEST).symlink_to(f"../{MANIFEST}")
    assert "a link that leaves the bundle" in refusal(bundle)


def test_a_linked_bundle_with_extra_files(bundle: Path) -> None:
    (bundle / "notes.txt").write_text("mine\n", encoding="utf-8")
    link = bundle.parent / "link"
    link.symlink_to(bundle)
    check_files(link, read_manifest(link))


def test_the_report_survives_writing(bundle: Path) -> None:
    manifest = read_manifest(bundle)
    assert manifest.verification.outcome == "passed"
    manifest.write(bundle)
    assert read_manifest(bundle) == manifest


def test_a_bundle_from_before_the_first_release_is_refused(bundle: Path) -> None:
    tree = harm.read(bundle) | {"format": 1}
    (bundle / MANIFEST).write_text(json.dumps(tree), encoding="utf-8")
    with pytest.raises(NmtError, match="not a bundle's manifest; export the bundle again"):
        read_manifest(bundle)


def test_a_bundle_without_a_report_counts_as_unverified(bundle: Path) -> None:
    for report in ({}, {"outcome": "skipped", "checks": [], "version": 1}):
        harm.write(bundle, {**harm.read(bundle), "verification": report})
        assert read_manifest(bundle).verification.outcome == "skipped"


@pytest.mark.parametrize(
    ("value", "limit", "passed"),
    [(1.0, 1.0, True), (1.1, 1.0, False), (float("nan"), 1.0, False), (-3.0, 0.2, True)],
)
def test_a_check_passes_within_its_limit(value: float, limit: float, passed: bool) -> None:
    assert Check.of("x", value, limit).passed is passed
