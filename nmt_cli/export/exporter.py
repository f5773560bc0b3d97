"""What all export formats share: options, the exporter and the registry.

A format is a module with an ``EXPORTER``, and a line in FORMATS.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.bundle.report import Verification
from nmt_cli.errors import NmtError, OptionError
from nmt_cli.files import replacing_folder

if TYPE_CHECKING:  # the command line reads the registry, and Keras takes seconds to import
    import keras

    from nmt_cli.model.step_model import KerasStepModel
    from nmt_cli.recipe.config import DecodingConfig
    from nmt_cli.training.run import Run

FORMATS = ("nmt_cli.export.onnx", "nmt_cli.export.ctranslate2", "nmt_cli.export.saved_model")
EXPORTS = Path("exports")
FLOAT32 = "float32"


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """How to export a run.

    Attributes:
        folder: to write; None for one under exports/, named after the run and the format.
        checkpoint: weights to export; None for the run's best, else its last.
        precision: how weights are stored: FLOAT32, or one of the format's quantizations.
        beam_size, length_penalty: the export's own defaults; None for the run's.
        verify: compare the export with the trained model.
        attention: also export attention weights.
        force: replace an older export.
    """

    folder: Path | None = None
    checkpoint: Path | None = None
    precision: str = FLOAT32
    beam_size: int | None = None
    length_penalty: float | None = None
    verify: bool = True
    attention: bool = False
    force: bool = False


@dataclass(frozen=True)
class Trained:
    """A trained model to export.

    Attributes:
        run: where it comes from.
        model: in float32, with the weights of a checkpoint.
        steps: that it was trained for.
        decoding: default settings of the export's search.
    """

    run: "Run"
    model: "keras.Model"
    steps: int
    decoding: "DecodingConfig"

    @classmethod
    def load(cls, run: "Run", options: ExportOptions) -> "Trained":
        """Load a run's model.

        Raises:
            NmtError: no such checkpoint, or a damaged one.
        """
        from nmt_cli.training.model import trained_model

        model, progress = trained_model(run, options.checkpoint or run.preferred)
        decoding = run.recipe.decoding
        if options.beam_size is not None:
            decoding = replace(decoding, beam_size=options.beam_size)
        if options.length_penalty is not None:
            decoding = replace(decoding, length_penalty=options.length_penalty)
        return cls(run, model, progress.step, decoding)

    @cached_property
    def step_model(self) -> "KerasStepModel":
        """The model as search runs it."""
        from nmt_cli.model.step_model import KerasStepModel

        return KerasStepModel(self.model)


@dataclass(frozen=True, kw_only=True)
class Exporter:
    """One export format.

    Attributes:
        name: ``--name`` selects the format.
        help: of that option.
        module: loaded when needed. Its ``write(trained, options, folder)`` fills an empty folder;
            its ``verify(trained, options, folder)`` compares the result with the trained model,
            adds the report to the folder and returns it.
        marker: file that every export of the format contains.
        next_step: printed after an export, with "{folder}" for its folder.
        suffix: follows the run's name in the default folder.
        quantizations: values of ``--quantize``.
        optional: which of "no-verify" and "attention" the format supports.
        package: optional dependency, and the extra of nmt_cli that installs it.
    """

    name: str
    help: str
    module: str
    marker: str
    next_step: str
    suffix: str = ""
    quantizations: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    package: str = ""

    def check(self, options: ExportOptions) -> None:
        """Check that the format supports the options.

        Raises:
            OptionError: it does not.
            NmtError: its package is not installed.
        """
        requested = {
            "no-verify": not options.verify,
            "attention": options.attention,
            f"quantize {options.precision}": options.precision != FLOAT32,
        }
        for option in (name for name, given in requested.items() if given):
            able = [f"--{each.name}" for each in exporters() if option in each._supported]
            if option not in self._supported:
                raise OptionError(f"--{option} needs {' or '.join(able) or 'another format'}")
        if self.package and not find_spec(self.package):
            raise NmtError(
                f"--{self.name}: {self.package} is not installed",
                f"pip install 'nmt_cli[{self.package}]'",
            )

    @property
    def _supported(self) -> list[str]:
        return [*self.optional, *(f"quantize {each}" for each in self.quantizations)]

    def folder(self, run: "Run", options: ExportOptions) -> Path:
        """Where the export goes.

        Raises:
            NmtError: an older export is there, and the options do not replace it.
        """
        ending = "" if options.precision == FLOAT32 else f"-{options.precision}"
        place = options.folder or EXPORTS / f"{run.recipe.label}{self.suffix}{ending}"
        if (place / self.marker).exists() and not options.force:
            hint = "replace it with --force, or choose another folder with -o"
            raise NmtError(f"{place}: already exists", hint)
        return place

    def export(
        self, run: "Run", options: ExportOptions, say: Callable[[str], None] = print
    ) -> Verification:
        """Write an export, verify it, and move it to its folder only if it passed.

        Args:
            run: what to export.
            options: how.
            say: receives messages about the progress.

        Raises:
            OptionError: the format does not support the options.
            NmtError: the folder exists or cannot be written, the run is damaged, the format
                cannot represent the model, or the verification failed.
        """
        self.check(options)
        place = self.folder(run, options)
        report = Verification()
        with replacing_folder(place, self.marker) as work:
            trained, module = Trained.load(run, options), import_module(self.module)
            say("converting the model")
            module.write(trained, options, work)
            if options.verify:
                say("verifying against the trained model")
                report = module.verify(trained, options, work)
        for line in report.lines():
            say(f"  {line}")
        return report


def exporters() -> tuple[Exporter, ...]:
    """All export formats."""
    return tuple(import_module(each).EXPORTER for each in FORMATS)
