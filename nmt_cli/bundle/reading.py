"""From manifest.json to a Manifest in which every value is of its type and in its range."""

import math
import re
from pathlib import Path
from typing import Any

from nmt_cli.bundle.contract import graphs_breach
from nmt_cli.bundle.hashes import is_inside
from nmt_cli.bundle.manifest import (
    DIGEST,
    FORMAT,
    MANIFEST,
    PRECISIONS,
    TOKENIZER,
    FileRecord,
    GraphSpec,
    Manifest,
    TensorSpec,
    manifest_digest,
)
from nmt_cli.bundle.report import Verification, report_from
from nmt_cli.bundle.values import HINT, Table, read_object, short
from nmt_cli.errors import NmtError
from nmt_cli.recipe.architecture import ModelConfig, architecture_of
from nmt_cli.recipe.config import DecodingConfig
from nmt_cli.recipe.reading import section_from
from nmt_cli.text.tokenizer import END_ID, PAD_ID, SPEC_FILE, START_ID, UNK_ID

TOKEN_IDS = {"pad": PAD_ID, "unk": UNK_ID, "start": START_ID, "end": END_ID}

# Far above any model that a bundle will hold, far below what would exhaust a machine.
_WIDEST = 1 << 20
_DEEPEST = 1000
_LONGEST = 1 << 16
_MOST_BYTES = 1 << 44


def read_manifest(folder: Path) -> Manifest:
    """Read a bundle's manifest.

    Raises:
        NmtError: the folder is no bundle, the manifest is damaged or of a newer format.
    """
    path = folder / MANIFEST
    try:
        if not path.resolve().is_relative_to(folder.resolve()):
            raise ValueError("a link that leaves the bundle")
        if not path.exists():
            raise NmtError(f"{folder}: not a bundle", "make one with nmt export --onnx")
        tree = read_object(path)
    except (OSError, ValueError, RuntimeError) as error:
        raise NmtError(f"{path}: damaged ({error})", HINT) from None
    version = tree.get("format")
    if type(version) is not int or version < 1:
        raise NmtError(f"{path}: not a bundle's manifest", HINT)
    if version > FORMAT:
        raise NmtError(
            f"{folder}: a bundle of a newer nmt (format {version}, this one reads up to {FORMAT})",
            "upgrade nmt",
        )
    if version < FORMAT:
        raise NmtError(
            f"{folder}: a bundle of format {version}, from before nmt's first release", HINT
        )
    if tree.get(DIGEST) != manifest_digest(tree):
        raise NmtError(f"{path}: was changed after the export ({DIGEST} differs)", HINT)
    return _manifest(Table(tree, path), version)


def _manifest(table: Table, version: int) -> Manifest:
    config: ModelConfig = _section(table, "architecture", ModelConfig, _WIDEST)
    decoding: DecodingConfig = _section(table, "decoding", DecodingConfig, _LONGEST)
    _check_config(table.table("architecture"), config)
    vocabulary = _vocabulary(table, config)
    ids = table.table("token_ids")
    if ids.values != TOKEN_IDS:
        raise table.refusal("token_ids", str(TOKEN_IDS))
    files = _files(table)
    encoder, decoder, append = (
        _graph(table.table(name), files) for name in ("encoder", "decoder", "append")
    )
    precision = table.choice("precision", PRECISIONS)
    told = table.values.get("attention") is not None
    attention = _graph(table.table("attention"), files) if told else None
    graphs = (encoder, decoder, append, attention) if attention else (encoder, decoder, append)
    breach = graphs_breach(graphs, config, vocabulary["target"], precision)
    if breach:
        raise NmtError(f"{table.path}: damaged ({breach})", HINT)
    return Manifest(
        name=table.text("name"),
        source_language=table.text("source_language"),
        target_language=table.text("target_language"),
        architecture=config,
        decoding=decoding,
        vocabulary=vocabulary,
        token_ids=dict(TOKEN_IDS),
        encoder=encoder,
        decoder=decoder,
        append=append,
        attention=attention,
        files=files,
        precision=precision,
        metrics=_metrics(table),
        verification=_verification(table),
        provenance=table.table("provenance").values if "provenance" in table.values else {},
        format=version,
    )


def _check_config(section: Table, config: ModelConfig) -> None:
    """Refuse what recipes refuse, and tensors that would exhaust the machine."""
    architecture = architecture_of(config)
    fault = architecture.fault(config)
    if fault:
        raise NmtError(f"{section.path}: damaged ({section.prefix}{fault[0]})", HINT)
    for name, shape in (architecture.encoder_output(config) | architecture.caches(config)).items():
        numbers = math.prod(each for each in shape if isinstance(each, int))
        if numbers > _WIDEST:
            raise NmtError(
                f"{section.path}: damaged (architecture: {name} has {numbers:,} numbers in each "
                f"column, {_WIDEST:,} is the most)",
                HINT,
            )


def _section(table: Table, key: str, kind: type[Any], most: int) -> Any:
    """Read a table of the recipe, with the bounds that recipes leave open."""
    section = table.table(key)
    for name, value in section.values.items():
        limit = _DEEPEST if name.endswith("_layers") else most
        if type(value) in (int, float) and value > limit:
            raise section.refusal(name, f"at most {limit:,}")
    return section_from(kind, section.values, f"{table.path}, {key}")


def _vocabulary(table: Table, config: ModelConfig) -> dict[str, int]:
    section = table.table("vocabulary")
    sizes = {side: section.whole(side, END_ID + 1, _WIDEST) for side in ("source", "target")}
    if config.embeddings in ("all", "source-target") and sizes["source"] != sizes["target"]:
        raise section.refusal("target", f"{sizes['source']}, as embeddings are shared")
    return sizes


def _files(table: Table) -> dict[str, FileRecord]:
    section = table.table("files")
    records: dict[str, FileRecord] = {}
    for name in section.values:
        if not is_inside(name):
            raise NmtError(f"{table.path}: names a file outside the bundle: {short(name)}", HINT)
        row = section.table(name)
        if not re.fullmatch("[0-9a-f]{64}", row.text("sha256")):
            raise row.refusal("sha256", "64 hexadecimal digits")
        records[name] = FileRecord(row.text("sha256"), row.whole("bytes", 0, _MOST_BYTES))
    if f"{TOKENIZER}/{SPEC_FILE}" not in records:
        raise section.refusal(f"{TOKENIZER}/{SPEC_FILE}", "recorded")
    return records


def _graph(table: Table, files: dict[str, FileRecord]) -> GraphSpec:
    if table.text("file") not in files:  # it would not be checked
        raise table.refusal("file", "one of the recorded files")
    return GraphSpec(
        table.text("file"),
        table.whole("opset", 1, 1000),
        tuple(map(_tensor, table.rows("inputs"))),
        tuple(map(_tensor, table.rows("outputs"))),
    )


def _tensor(row: Table) -> TensorSpec:
    shape = row.values.get("shape")
    if not isinstance(shape, list) or not all(type(each) in (int, str) for each in shape):
        raise row.refusal("shape", "a list of sizes and axes")
    return TensorSpec(row.text("name"), row.text("dtype"), tuple(shape))


def _metrics(table: Table) -> list[dict[str, Any]]:
    rows = table.rows("metrics") if "metrics" in table.values else []
    for row in rows:
        for key in ("set", "metric", "signature"):
            row.text(key)
        row.number("value")
    return [row.values for row in rows]


def _verification(table: Table) -> Verification:
    if table.values.get("verification", {}) == {}:
        return Verification()
    return report_from(table.table("verification"))
