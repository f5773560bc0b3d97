"""The table of export formats, their options, and how an export is written."""

import logging
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from nmt_cli.bundle import MANIFEST, PRECISIONS
from nmt_cli.errors import ModelError, OptionError, OutputError, ResourceError
from nmt_cli.files import locked, replacing_folder
from nmt_cli.host import without_warnings
from nmt_cli.options import option
from nmt_cli.search.options import BeamSize, Penalty

if TYPE_CHECKING:  # the command line reads the table, and Keras takes seconds to import
    from nmt_cli.bundle.manifest import Verification
    from nmt_cli.training.run import Run

logger = logging.getLogger(__name__)

FLOAT32 = "float32"
# How CTranslate2 stores weights; it converts what a processor cannot compute with.
_TYPES = ("int8", "int8_float32", "int8_float16", "int8_bfloat16", "int16", "float16", "bfloat16")


@dataclass(frozen=True, kw_only=True)
class Exporter:
    """One export format.

    Attributes:
        module: its ``write(trained, options, folder)`` fills an empty folder; its
            ``verify(trained, options, folder)`` compares that with the trained model, adds the
            report to the folder and returns it.
        marker: file that every export of the format contains.
        next_step: printed after an export, with "{folder}" for its folder.
        optional: which of "verify", "attention", "shortlist" and "with_tokenizer" users choose.
        uses_nmt_tokenizer: whether the export is used through nmt's tokenizers.
        architectures: values of ``model.architecture`` that it supports; empty for all.
        package: optional dependency, and the extra of nmt_cli that installs it.
        npm: npm package whose files the export contains.
    """

    name: str
    help: str
    module: str
    marker: str
    next_step: str
    quantizations: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    uses_nmt_tokenizer: bool = False
    architectures: tuple[str, ...] = ()
    package: str = ""
    npm: str = ""

    @property
    def flag(self) -> str:
        """The name of the format's option as messages spell it."""
        return self.name.replace("-", "_")

    def check(self, options: "ExportOptions") -> None:
        """Check that the format supports the options, and that its packages are installed."""
        requested = {
            "verify": not options.verify,
            "attention": bool(options.attention),
            "shortlist": options.shortlist,
            "with_tokenizer": options.with_tokenizer,
            f"quantize={options.precision}": options.precision != FLOAT32,
        }
        for name, is_requested in requested.items():
            if is_requested and name not in self._supported:
                others = [other for other in EXPORTERS.values() if name in other._supported]
                formats = " or ".join(f"`{other.flag}`" for other in others) or "another format"
                raise OptionError(f"`{'no_' if name == 'verify' else ''}{name}` needs {formats}")
        packages = {self.flag: (self.package, f"'nmt_cli[{self.package}]'")}
        if "bfloat16" in options.precision:  # which numpy does not have
            packages[f"quantize={options.precision}"] = ("torch", "torch")
        if options.with_tokenizer:
            packages["with_tokenizer"] = ("onnxruntime_extensions", "'nmt_cli[extensions]'")
        for name, (package, install) in packages.items():
            if package and not find_spec(package):
                hint = f"pip install {install}"
                raise ResourceError(f"`{name}`: {package} is not installed", hint)
        if self.npm:
            node_package(self.npm)

    @property
    def _supported(self) -> list[str]:
        return [*self.optional, *(f"quantize={name}" for name in self.quantizations)]

    def export(self, run: "Run", options: "ExportOptions") -> "Verification":
        """Write an export, verify it, and move it to its folder only if it passed."""
        self.check(options)
        from nmt_cli.bundle.manifest import Verification

        folder, report = self.folder(run, options), Verification()
        architecture = run.recipe.model.architecture
        if self.architectures and architecture not in self.architectures:
            reason = f"`{self.flag}` supports no models of architecture '{architecture}'"
            raise ModelError(reason, "use `onnx`, which supports every model")
        if options.attention and not run.recipe.model.attends:
            raise ModelError("`attention`: the model has no attention to the source", "omit it")
        with locked(folder):
            if (folder / self.marker).exists() and not options.force:
                hint = "replace it with `force`, or choose another `output`"
                raise OutputError(f"{folder}: already exists", hint)
            with replacing_folder(folder, self.marker) as work:
                from nmt_cli.export.trained import TrainedModel

                trained = TrainedModel.open(run, options)
                if trained.spec.punctuation and not self.uses_nmt_tokenizer:
                    raise ModelError(
                        f"`{self.flag}`: other programs would not normalize the punctuation of "
                        "sources",
                        "use `onnx`, or import the model without `normalize_punctuation`",
                    )
                module = import_module(self.module)
                logger.info("converting the model")
                module.write(trained, options, work)
                if options.verify:
                    logger.info("verifying against the trained model")
                    with without_warnings():
                        report = module.verify(trained, options, work)
        return report

    def folder(self, run: "Run", options: "ExportOptions") -> Path:
        """Return the folder that an export is written to."""
        parts = [run.recipe.label]
        parts += [self.name] if self.marker != MANIFEST else []
        parts += [options.precision] if options.precision != FLOAT32 else []
        return options.output or Path("exports", "-".join(parts))


def node_package(name: str) -> Path:
    """Return the folder of an npm package that is installed here or in a folder above."""
    current = Path.cwd()
    for folder in (current, *current.parents):
        if (folder / "node_modules" / name / "package.json").is_file():
            return folder / "node_modules" / name
    reason = f"no npm package {name} in {current} or a folder above"
    raise ResourceError(reason, f"npm install {name}")


_FORMATS = (
    Exporter(
        name="onnx",
        help="Write a bundle for ONNX Runtime.",
        module="nmt_cli.export.onnx.bundle",
        marker=MANIFEST,
        next_step="bundle written to {folder}; next: nmt translate -m {folder} FILE",
        quantizations=PRECISIONS[1:],
        optional=("verify", "attention", "shortlist"),
        uses_nmt_tokenizer=True,
    ),
    Exporter(
        name="single-file",
        help="With `onnx`: write one ONNX file that contains the search, too.",
        module="nmt_cli.export.onnx.single_file",
        marker="model.onnx",
        next_step="model.onnx written to {folder}; see its MODEL_CARD.md for how to use it",
        quantizations=PRECISIONS[1:],
        optional=("with_tokenizer",),
    ),
    Exporter(
        name="ctranslate2",
        help="Write a model folder for CTranslate2.",
        module="nmt_cli.export.ctranslate2.folder",
        marker="nmt_ctranslate2.json",
        next_step="CTranslate2 model written to {folder}; see its MODEL_CARD.md for how to use it",
        quantizations=_TYPES,
        architectures=("transformer",),
        package="ctranslate2",
    ),
    Exporter(
        name="saved-model",
        help="Write a TensorFlow SavedModel that takes and returns text.",
        module="nmt_cli.export.saved_model",
        marker="saved_model.pb",
        next_step="SavedModel written to {folder}; see its MODEL_CARD.md for how to use it",
    ),
    Exporter(
        name="keras",
        help="Write the Keras model, which a program with nmt's layers can load.",
        module="nmt_cli.export.keras_file",
        marker="model.keras",
        next_step="model.keras written to {folder}; see its MODEL_CARD.md for how to use it",
        uses_nmt_tokenizer=True,
    ),
    Exporter(
        name="huggingface",
        help="Write a Marian or Pegasus model for Hugging Face's transformers.",
        module="nmt_cli.export.huggingface.folder",
        marker="config.json",
        architectures=("transformer",),
        next_step="model for transformers written to {folder}; see its README.md for how to use it",
    ),
    Exporter(
        name="marian",
        help="Write a model for Marian.",
        module="nmt_cli.export.marian.folder",
        marker="model.npz",
        architectures=("transformer",),
        next_step="model for Marian written to {folder}; see its MODEL_CARD.md for how to use it",
    ),
    Exporter(
        name="firefox",
        help="Write a model in 8 bits for the engine of Firefox, translateLocally and Bergamot.",
        module="nmt_cli.export.marian.firefox",
        marker="metadata.json",
        architectures=("transformer",),
        optional=("shortlist",),
        next_step="model for Firefox written to {folder}; see its MODEL_CARD.md for how to use it",
    ),
    Exporter(
        name="web",
        help="Write a static page that translates in the browser.",
        module="nmt_cli.export.web",
        marker="nmt_web.json",
        next_step="page written to {folder}; next: python -m http.server -d {folder}",
        quantizations=("int8",),
        npm="onnxruntime-web",
    ),
)
EXPORTERS = {exporter.name: exporter for exporter in _FORMATS}


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """How to export a run: options of ``nmt export``."""

    precision: str = FLOAT32  # or one of the format's quantizations
    verify: bool = option(
        True, "Compare the export with the trained model; an unverified one warns at each use."
    )
    attention: Literal["cross", "all"] | None = option(
        None,
        "Also export attention weights (adds attention.onnx): cross, also without a value, "
        "for alignments and plots; all: self-attention, too.",
        without_value="cross",
        metavar="PART",
    )
    shortlist: bool = option(
        False,
        "Limit each translation to its 384 likeliest tokens: faster, with a small loss of "
        "quality, which the export measures.",
    )
    with_tokenizer: bool = option(
        False,
        "Put the tokenizer into the file of `single_file`, which then needs "
        "onnxruntime-extensions.",
    )
    prepared: Path | None = option(
        None, "Folder of the prepared data, for `shortlist`; default: prepared/NAME."
    )
    output: Path | None = option(
        None,
        "Folder to write; default: exports/NAME, followed by the format, unless it is a "
        "bundle, and the `quantize` type.",
        flags="-o",
    )
    force: bool = option(False, "Replace an older export in the same folder.")
    checkpoint: Path | None = option(
        None, "Weights of the run; default: its best, average or last, in this order."
    )
    dev: str | None = option(
        None,
        "Text that calibrates and verifies the export instead of the run's held-out lines: "
        "PREFIX.SOURCE and PREFIX.TARGET.",
        metavar="PREFIX",
    )
    beam_size: BeamSize | None = option(None, "The export's default number of hypotheses.")
    length_penalty: Penalty | None = option(None, "The export's default length penalty.")
