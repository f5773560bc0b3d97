"""Models as Python packages: find the installed ones, and write a bundle as a wheel for pip.

The wheel has one module, whose folder is the bundle, and an entry point, by which nmt finds it. The
format is described at
https://packaging.python.org/en/latest/specifications/binary-distribution-format/. The same bundle
gives the same bytes.
"""

import re
from contextlib import suppress
from pathlib import Path

from nmt_cli import __version__
from nmt_cli.bundle import MANIFEST
from nmt_cli.errors import ModelError, OptionError, OutputError
from nmt_cli.files import replacing_path

# The entry points of such packages: a model's name, and the module whose folder is the bundle.
GROUP = "nmt_cli.models"
_WHEEL = (
    f"Wheel-Version: 1.0\nGenerator: nmt {__version__}\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
)


def installed_models() -> dict[str, Path]:
    """Return the folders of the installed models by name, sorted; imports none of them.

    A package with damaged metadata is left out, as is a module that is missing.
    """
    from importlib.metadata import distributions  # not at the start of every command
    from importlib.util import find_spec

    folders = dict[str, Path]()
    for distribution in distributions():
        with suppress(Exception):  # of many kinds, by what is damaged
            for entry in distribution.entry_points.select(group=GROUP):
                spec = find_spec(entry.value)
                for location in (spec and spec.submodule_search_locations) or ():
                    folders.setdefault(entry.name, Path(location))
    return dict(sorted(folders.items()))


def model_folder(model: Path, wanted: str = "run or bundle") -> Path:
    """Return a model's folder: the path itself, or where the model of that name is installed."""
    if model.exists():
        return model
    installed = installed_models() if len(model.parts) == 1 else {}
    if str(model) not in installed:
        hint = f"installed models: {', '.join(installed)}" if installed else ""
        raise ModelError(f"{model}: no such {wanted}", hint)
    return installed[str(model)]


def write_wheel(bundle: Path, folder: Path, name: str, version: str, force: bool = False) -> Path:
    """Write the wheel of a bundle, whose files are compared with their hashes; return its path.

    Args:
        folder: where to write the wheel.
        name: the model's name, as in ``nmt translate -m NAME``.
        version: the model's version, numbers separated by points.
    """
    # Not at the start of every command:
    import base64
    import hashlib
    from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

    from nmt_cli.bundle.card import bundle_card, describe_bundle
    from nmt_cli.bundle.reading import check_files, read_manifest

    if not re.fullmatch("[A-Za-z0-9]+([._-][A-Za-z0-9]+)*", name):
        raise OptionError(
            f"{name!r} cannot be a model's name", "use letters and digits, and single -, . or _"
        )
    if not re.fullmatch(r"\d+(\.\d+)*", version):
        raise OptionError(f"{version!r} is not a version", "use numbers such as 1.0.0")
    manifest, described = read_manifest(bundle), describe_bundle(bundle)
    check_files(bundle, manifest)
    distribution = "nmt-model-" + re.sub("[._-]", "-", name).lower()
    module = distribution.replace("-", "_")
    path = folder / f"{module}-{version}-py3-none-any.whl"
    if path.exists() and not force:
        raise OutputError(f"{path}: exists", "replace it with `force`, or give another `version`")
    info = f"{module}-{version}.dist-info"
    template = Path(__file__).with_name("METADATA").read_text(encoding="utf-8")
    metadata = template.format(
        **described | {"name": name},
        distribution=distribution,
        version=version,
        card=bundle_card(manifest),
    )
    texts = {
        f"{module}/__init__.py": f'"""The translation model {name}, for nmt."""\n',
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": _WHEEL,
        f"{info}/entry_points.txt": f"[{GROUP}]\n{name} = {module}\n",
    }
    records = []
    with replacing_path(path) as temporary, ZipFile(temporary, "w") as wheel:

        def add(file: str, content: bytes) -> None:
            entry = ZipInfo(file, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            wheel.writestr(entry, content, ZIP_DEFLATED)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode()
            records.append(f"{file},sha256={digest.rstrip('=')},{len(content)}\n")

        for file in (MANIFEST, *manifest.files):
            add(f"{module}/{file}", (bundle / file).read_bytes())
        for file, text in texts.items():
            add(file, text.encode())
        add(f"{info}/RECORD", "".join([*records, f"{info}/RECORD,,\n"]).encode())
    return path
