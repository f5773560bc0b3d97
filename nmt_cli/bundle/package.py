"""Write a bundle as a Python wheel, which pip installs.

The wheel has one module, whose folder is the bundle, and an entry point, by which nmt finds it. The
format is that of https://packaging.python.org/en/latest/specifications/binary-distribution-format/.
The same bundle gives the same bytes.
"""

import base64
import hashlib
import re
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from nmt_cli import __version__
from nmt_cli.bundle import MANIFEST
from nmt_cli.bundle.description import describe_bundle, model_card
from nmt_cli.bundle.installed import GROUP
from nmt_cli.bundle.reading import check_files, read_manifest
from nmt_cli.errors import NmtError
from nmt_cli.files import replacing_path

_WHEEL = (
    f"Wheel-Version: 1.0\nGenerator: nmt {__version__}\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
)
_METADATA = """\
Metadata-Version: 2.1
Name: {distribution}
Version: {version}
Summary: {name}: {source} to {target}. {summary} for nmt
Requires-Python: >=3.11
Requires-Dist: nmt_cli
Description-Content-Type: text/markdown

{card}"""


def write_wheel(bundle: Path, folder: Path, name: str, version: str, force: bool = False) -> Path:
    """Write the wheel of a bundle; returns its path.

    Args:
        bundle: whose files are compared with their hashes.
        folder: to write it to.
        name: of the model, as in ``nmt translate -m NAME``.
        version: of the model, numbers separated by points.
        force: replace an existing wheel.

    Raises:
        NmtError: not a bundle, or a damaged one; the name or version cannot be a package's; the
            wheel exists or cannot be written.
    """
    if not re.fullmatch("[A-Za-z0-9]+([._-][A-Za-z0-9]+)*", name):
        raise NmtError(
            f"{name!r} cannot be a model's name", "use letters and digits, and single -, . or _"
        )
    if not re.fullmatch(r"\d+(\.\d+)*", version):
        raise NmtError(f"{version!r} is not a version", "use numbers such as 1.0.0")
    manifest, described = read_manifest(bundle), describe_bundle(bundle)
    check_files(bundle, manifest)
    distribution = "nmt-model-" + re.sub("[._-]", "-", name).lower()
    module = distribution.replace("-", "_")
    path = folder / f"{module}-{version}-py3-none-any.whl"
    if path.exists() and not force:
        raise NmtError(f"{path}: exists", "replace it with --force, or give another --version")
    info = f"{module}-{version}.dist-info"
    metadata = _METADATA.format(
        **described | {"name": name},
        distribution=distribution,
        version=version,
        card=model_card(manifest),
    )
    texts = {
        f"{module}/__init__.py": f'"""The translation model {name}, for nmt."""\n',
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": _WHEEL,
        f"{info}/entry_points.txt": f"[{GROUP}]\n{name} = {module}\n",
    }
    with replacing_path(path) as beside, ZipFile(beside, "w", ZIP_DEFLATED) as wheel:
        records = [
            _add(wheel, f"{module}/{each}", (bundle / each).read_bytes())
            for each in (MANIFEST, *manifest.files)
        ]
        records += [_add(wheel, each, text.encode()) for each, text in texts.items()]
        record = f"{info}/RECORD"
        _add(wheel, record, "".join([*records, f"{record},,\n"]).encode())
    return path


def _add(wheel: ZipFile, name: str, content: bytes) -> str:
    """Add a file; returns its line of RECORD."""
    entry = ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.external_attr = 0o644 << 16
    wheel.writestr(entry, content, ZIP_DEFLATED)
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
    return f"{name},sha256={digest},{len(content)}\n"
