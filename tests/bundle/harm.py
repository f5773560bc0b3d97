"""Ways to damage a bundle, and to hide the damage from its hashes."""

import copy
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from nmt_cli.bundle import MANIFEST
from nmt_cli.bundle.manifest import DIGEST, manifest_digest
from nmt_cli.bundle.reading import file_record

Harm = Callable[[Path, np.random.Generator], str]

# Values that almost no key of a manifest may have.
HOSTILE_VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**63,
    10**400,
    -0.5,
    1e300,
    float("nan"),
    float("inf"),
    "",
    "nan",
    "../../../etc/passwd",
    "/etc/passwd",
    "C:\\windows",
    "\ud800",
    "\u2028",
    "a\nb",
    "\x1b[2J",
    "Ω" * 100_000,
    [],
    {},
    [[[[[[[[[[[[]]]]]]]]]]]],
    {"a": {"b": {"c": None}}},
    ["B"] * 50,
)


def read(folder: Path) -> dict[str, Any]:
    """Read a bundle's manifest without checking it."""
    tree: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    return tree


def write(folder: Path, tree: dict[str, Any]) -> None:
    """Write a manifest with a correct digest."""
    plain = {key: value for key, value in tree.items() if key != DIGEST}
    text = json.dumps({**plain, DIGEST: manifest_digest(plain)})
    (folder / MANIFEST).write_text(text, encoding="utf-8")


def hide(folder: Path) -> None:
    """Update all hashes of a damaged bundle, as an attacker would."""
    tree = read(folder)
    for name in tree["files"]:
        record = file_record(folder / name)
        tree["files"][name] = {"sha256": record.sha256, "bytes": record.bytes}
    write(folder, tree)


def any_file(folder: Path, rng: np.random.Generator) -> Path:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return paths[rng.integers(len(paths))]


def flip_bit(folder: Path, rng: np.random.Generator) -> str:
    path = any_file(folder, rng)
    content = bytearray(path.read_bytes())
    place, bit = int(rng.integers(len(content))), int(rng.integers(8))
    content[place] ^= 1 << bit
    path.write_bytes(bytes(content))
    return f"bit {bit} of byte {place} of {path.name}"


def truncate(folder: Path, rng: np.random.Generator) -> str:
    path = any_file(folder, rng)
    size = int(rng.integers(path.stat().st_size))
    os.truncate(path, size)
    return f"{path.name} cut to {size} bytes"


def append(folder: Path, rng: np.random.Generator) -> str:
    path = any_file(folder, rng)
    with path.open("ab") as stream:
        stream.write(rng.bytes(int(rng.integers(1, 200))))
    return f"bytes appended to {path.name}"


def swap(folder: Path, rng: np.random.Generator) -> str:
    one, other = any_file(folder, rng), any_file(folder, rng)
    while one == other:
        other = any_file(folder, rng)
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)
    return f"{one.name} and {other.name} swapped"


def delete(folder: Path, rng: np.random.Generator) -> str:
    path = any_file(folder, rng)
    path.unlink()
    return f"{path.name} deleted"


def replace_file(folder: Path, rng: np.random.Generator) -> str:
    """Replace a file with a folder, a link out of the bundle, a link to itself or a pipe."""
    path = any_file(folder, rng)
    kind = ("folder", "link", "loop", "pipe")[rng.integers(4)]
    outside = folder.parent / f"outside-{path.name}"
    shutil.move(path, outside)
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.symlink_to(outside)
    elif kind == "loop":
        path.symlink_to(path)
    else:
        os.mkfifo(path)
    return f"{path.name} replaced by a {kind}"


def manifest_places(tree: Any) -> list[tuple[Any, ...]]:
    """Return the path to every value in a manifest, tables and lists included."""
    if not isinstance(tree, (dict, list)):
        return []
    keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
    return [(key, *rest) for key in keys for rest in [(), *manifest_places(tree[key])]]


def put(tree: dict[str, Any], place: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """Return a copy of a manifest with one value replaced."""
    changed = copy.deepcopy(tree)
    inner: Any = changed
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return changed


def hostile_value(folder: Path, rng: np.random.Generator) -> str:
    """Replace one value of the manifest with a hostile one; keep the digest."""
    tree = read(folder)
    places = manifest_places(tree)
    place = places[rng.integers(len(places))]
    value = HOSTILE_VALUES[rng.integers(len(HOSTILE_VALUES))]
    text = json.dumps(put(tree, place, value))
    (folder / MANIFEST).write_text(text, encoding="utf-8")
    return f"{place} is {str(value)[:40]!r}"


def hostile_text(folder: Path, rng: np.random.Generator) -> str:
    """Write a manifest that is hostile JSON: a duplicate key, deep nesting or a wrong encoding."""
    path = folder / MANIFEST
    text = path.read_text(encoding="utf-8").rstrip()
    kind = ("twice", "deep", "utf-16", "list", "trailing")[rng.integers(5)]
    if kind == "twice":
        text = text[:-1] + ', "decoding": {"beam_size": 1}}'
    elif kind == "deep":
        text = text[:-1] + ', "x": ' + "[" * 100_000 + "]" * 100_000 + "}"
    elif kind == "list":
        text = f"[{text}]"
    elif kind == "trailing":
        text += "}"
    path.write_bytes(text.encode("utf-16" if kind == "utf-16" else "utf-8"))
    return f"manifest: {kind}"


HARMS: tuple[Harm, ...] = (
    flip_bit,
    truncate,
    append,
    swap,
    delete,
    replace_file,
    hostile_value,
    hostile_text,
)
