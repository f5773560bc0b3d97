"""What all export formats share: options, the exporter and the registry.

A format is a module with ``write`` and ``verify``, and an entry of EXPORTERS.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from nmt_cli.bundle import MANIFEST, PRECISIONS
from nmt_cli.bundle.manifest import Verification
from nmt_cli.errors import NmtError, OptionError
from nmt_cli.files import replacing_folder
from nmt_cli.frameworks import import_keras
from nmt_cli.lock import locked
from nmt_cli.options import option
from nmt_cli.search.options import BeamSize, Penalty

if TYPE_CHECKING:  # the command line reads the registry, and Keras takes seconds to import
    from nmt_cli.model.step_model import KerasStepModel
    from nmt_cli.recipe.decoding import DecodingConfig
    from nmt_cli.training.run import Run

EXPORTS = Path("exports")
FLOAT32 = "float32"
# How CTranslate2 stores weights; it converts what a processor cannot compute with.
_TYPES = ("int8", "int8_float32", "int8_float16", "int8_bfloat16", "int16", "float16", "bfloat16")


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """How to export a run: options of ``nmt export``.

    ``precision`` is FLOAT32 or one of the format's quantizations.
    """

    precision: str = FLOAT32
    verify: bool = option(
        True,
        "Compare the export with the trained model; an unverified one warns at each use.",
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
        None,
        "Folder of the prepared data, for `shortlist`; default: prepared/NAME.",
    )
    output: Path | None = option(
        None,
        "Folder to write; default: exports/NAME, followed by the format, unless it is a "
        "bundle, and the `quantize` type.",
        flags=("-o",),
    )
    force: bool = option(False, "Replace an older export in the same folder.")
    checkpoint: Path | None = option(
        None,
        "Weights to export; default: the run's best, average or last, in this order.",
    )
    beam_size: BeamSize | None = option(
        None,
        "The export's default number of hypotheses.",
    )
    length_penalty: Penalty | None = option(
        None,
        "The export's default length penalty.",
    )


@dataclass(frozen=True)
class Trained:
    """A trained model to export.

    Attributes:
        run: where it comes from.
        step_model: in float32, with the weights of a checkpoint.
        steps: that it was trained for.
        decoding: default settings of the export's search.
    """

    run: "Run"
    step_model: "KerasStepModel"
    steps: int
    decoding: "DecodingConfig"

    @classmethod
    def load(cls, run: "Run", options: ExportOptions) -> "Trained":
        """Load a run's model.

        Raises:
            NmtError: no such checkpoint, or a damaged one.
        """
        from nmt_cli.training.checkpoint import check_size

        checkpoint = options.checkpoint or run.preferred
        check_size(checkpoint, run.weights)  # before Keras takes memory and time
        import_keras()
        from nmt_cli.model.step_model import KerasStepModel
        from nmt_cli.training.model import trained_model

        model, progress = trained_model(run, checkpoint)
        own = {"beam_size": options.beam_size, "length_penalty": options.length_penalty}
        given: dict[str, Any] = {name: value for name, value in own.items() if value is not None}
        decoding = replace(run.recipe.decoding, **given)
        return cls(run, KerasStepModel(model), progress.step, decoding)


@dataclass(frozen=True, kw_only=True)
class Exporter:
    """One export format.

    Attributes:
        name: ``--name`` selects the format.
        help: of that option.
        module: loaded when needed. Its ``write(trained, options, folder)`` fills an empty folder;
            its ``verify(trained, options, folder)`` compares the result with the trained model,
            adds the report to the folder and returns it. Both may raise NmtError.
        marker: file that every export of the format contains.
        next_step: printed after an export, with "{folder}" for its folder.
        suffix: follows the run's name in the default folder.
        quantizations: values of ``--quantize``.
        optional: which of "no-verify", "attention", "shortlist" and "with-tokenizer" the format
            supports.
        text_by_nmt: whether nmt's tokenizers make the ids that the format reads.
        package: optional dependency, and the extra of nmt_cli that installs it.
        npm: npm package whose files the export contains.
    """

    name: str
    help: str
    module: str
    marker: str
    next_step: str
    suffix: str = ""
    quantizations: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    text_by_nmt: bool = False
    package: str = ""
    npm: str = ""

    def check(self, options: ExportOptions) -> None:
        """Check that the format supports the options.

        Raises:
            OptionError: it does not.
            NmtError: a package that it needs is not installed.
        """
        requested = {
            "no-verify": not options.verify,
            "attention": bool(options.attention),
            "shortlist": options.shortlist,
            "with-tokenizer": options.with_tokenizer,
            f"quantize {options.precision}": options.precision != FLOAT32,
        }
        for name in (name for name, given in requested.items() if given):
            able = [each.name for each in EXPORTERS.values() if name in each._supported]
            if self.name not in able:
                formats = " or ".join(f"--{each}" for each in able)
                raise OptionError(f"--{name} needs {formats or 'another format'}")
        needed = [(f"--{self.name}", self.package, f"'nmt_cli[{self.package}]'")]
        if "bfloat16" in options.precision:  # which numpy does not have
            needed.append((f"--quantize {options.precision}", "torch", "torch"))
        if options.with_tokenizer:
            package = "onnxruntime_extensions"
            needed.append(("--with-tokenizer", package, "'nmt_cli[extensions]'"))
        for name, package, install in needed:
            if package and not find_spec(package):
                raise NmtError(f"{name}: {package} is not installed", f"pip install {install}")
        if self.npm:
            node_package(self.npm)

    @property
    def _supported(self) -> list[str]:
        return [*self.optional, *(f"quantize {each}" for each in self.quantizations)]

    def export(
        self, run: "Run", options: ExportOptions, say: Callable[[str], None]
    ) -> Verification:
        """Write an export, verify it, and move it to its folder only if it passed.

        Args:
            run: what to export.
            options: how.
            say: receives messages about the progress, and the report.

        Raises:
            OptionError: the format does not support the options.
            NmtError: an older export is there, the folder is in use or cannot be written, the run
                is damaged, the format cannot represent the model, or the verification failed.
        """
        from nmt_cli.text.folder import TokenizerSpec  # not for every command's help

        self.check(options)
        if not self.text_by_nmt and TokenizerSpec.read(run.folder / "tokenizer").punctuation:
            raise NmtError(
                f"--{self.name}: other programs would not normalize the punctuation of sources",
                "use --onnx, or import the model without --normalize-punctuation",
            )
        ending = "" if options.precision == FLOAT32 else f"-{options.precision}"
        place = options.output or EXPORTS / f"{run.recipe.label}{self.suffix}{ending}"
        report = Verification()
        with locked(place):
            if (place / self.marker).exists() and not options.force:
                hint = "replace it with --force, or choose another folder with -o"
                raise NmtError(f"{place}: already exists", hint)
            with replacing_folder(place, self.marker) as work:
                trained, module = Trained.load(run, options), import_module(self.module)
                say("converting the model")
                module.write(trained, options, work)
                if options.verify:
                    say("verifying against the trained model")
                    report = module.verify(trained, options, work)
        for line in report.lines():
            say(f"  {line}")
        say(self.next_step.format(folder=place))
        return report


def node_package(name: str) -> Path:
    """Return the folder of an npm package that is installed here or in a folder above.

    Raises:
        NmtError: there is none.
    """
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "node_modules" / name / "package.json").is_file():
            return folder / "node_modules" / name
    raise NmtError(f"no npm package {name} in {here} or a folder above", f"npm install {name}")


_FORMATS = (
    Exporter(
        name="onnx",
        help="Write a bundle for ONNX Runtime.",
        module="nmt_cli.export.onnx.bundle",
        marker=MANIFEST,
        next_step="bundle written to {folder}; next: nmt translate -m {folder} FILE",
        quantizations=PRECISIONS[1:],
        optional=("no-verify", "attention", "shortlist"),
        text_by_nmt=True,
    ),
    Exporter(
        name="single-file",
        help="With --onnx: write one ONNX file that contains the search, too.",
        module="nmt_cli.export.onnx.single_file",
        marker="model.onnx",
        next_step="model.onnx written to {folder}; see its MODEL_CARD.md for how to use it",
        suffix="-single-file",
        quantizations=PRECISIONS[1:],
        optional=("with-tokenizer",),
    ),
    Exporter(
        name="ctranslate2",
        help="Write a model folder for CTranslate2.",
        module="nmt_cli.export.ctranslate2.folder",
        marker="nmt_ctranslate2.json",
        next_step="CTranslate2 model written to {folder}; see its MODEL_CARD.md for how to use it",
        suffix="-ctranslate2",
        quantizations=_TYPES,
        package="ctranslate2",
    ),
    Exporter(
        name="saved-model",
        help="Write a TensorFlow SavedModel that takes and returns text.",
        module="nmt_cli.export.saved_model.module",
        marker="saved_model.pb",
        next_step="SavedModel written to {folder}",
        suffix="-saved-model",
    ),
    Exporter(
        name="keras",
        help="Write the Keras model, which a program with nmt's layers can load.",
        module="nmt_cli.export.keras_file",
        marker="model.keras",
        next_step="model.keras written to {folder}; see its MODEL_CARD.md for how to use it",
        suffix="-keras",
        text_by_nmt=True,
    ),
    Exporter(
        name="huggingface",
        help="Write a Marian or Pegasus model for Hugging Face's transformers.",
        module="nmt_cli.export.huggingface.folder",
        marker="config.json",
        next_step="model for transformers written to {folder}; see its README.md for how to use it",
        suffix="-huggingface",
    ),
    Exporter(
        name="web",
        help="Write a static page that translates in the browser.",
        module="nmt_cli.export.web.folder",
        marker="nmt_web.json",
        next_step="page written to {folder}; next: python -m http.server -d {folder}",
        suffix="-web",
        quantizations=("int8",),
        npm="onnxruntime-web",
    ),
)
EXPORTERS = {each.name: each for each in _FORMATS}
