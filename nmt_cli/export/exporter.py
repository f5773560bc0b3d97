"""What all export formats share: options, the exporter interface and the registry.

A format is a module with an ``EXPORTER``, and a line in FORMATS.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

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


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """How to export a run.

    Attributes:
        folder: to write; None for one under exports/, named after the run and the format.
        checkpoint: weights to export; None for the run's best, else its last.
        precision: how weights are stored: "float32", or one of the exporter's quantizations.
        beam_size, length_penalty: the export's own defaults; None for the run's.
        verify: compare the export with the trained model.
        attention: also export attention weights.
        force: replace an older export.
    """

    folder: Path | None = None
    checkpoint: Path | None = None
    precision: str = "float32"
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


class Exporter(ABC):
    """One export format.

    Attributes:
        name: in lower case; ``--name`` selects the format.
        help: of that option.
        suffix: follows the run's name in the default folder.
        marker: file that every export of the format contains.
        quantizations: values of ``--quantize``.
        optional: which of "no-verify" and "attention" the format supports.
        next_step: printed after an export, with "{folder}" for its folder.
    """

    name: ClassVar[str]
    help: ClassVar[str]
    suffix: ClassVar[str] = ""
    marker: ClassVar[str]
    quantizations: ClassVar[tuple[str, ...]] = ()
    optional: ClassVar[frozenset[str]] = frozenset()
    next_step: ClassVar[str]

    @abstractmethod
    def write(self, trained: Trained, options: ExportOptions, folder: Path) -> None:
        """Write an export, unverified, into an empty folder.

        Raises:
            NmtError: the format cannot represent the model, or needs a package that is not
                installed.
        """

    @abstractmethod
    def verify(self, trained: Trained, options: ExportOptions, folder: Path) -> Verification:
        """Compare an export with the model it was made from, and record the report in it.

        Raises:
            NmtError: the verification failed.
        """

    def check(self, options: ExportOptions) -> None:
        """Check that the format supports the options.

        Raises:
            OptionError: it does not.
            NmtError: a package that the format needs is not installed.
        """
        precision = options.precision
        if precision not in ("float32", *self.quantizations):
            names = [each.name for each in exporters() if precision in each.quantizations]
            raise OptionError(f"--quantize {precision} needs {_alternatives(names)}")
        for name, requested in (
            ("no-verify", not options.verify),
            ("attention", options.attention),
        ):
            if requested and name not in self.optional:
                names = [each.name for each in exporters() if name in each.optional]
                raise OptionError(f"--{name} needs {_alternatives(names)}")

    def folder(self, run: "Run", options: ExportOptions) -> Path:
        """Where the export goes.

        Raises:
            NmtError: an older export is there, and the options do not allow to replace it.
        """
        ending = "" if options.precision == "float32" else f"-{options.precision}"
        place = options.folder or EXPORTS / f"{run.recipe.label}{self.suffix}{ending}"
        if (place / self.marker).exists() and not options.force:
            raise NmtError(
                f"{place}: already exists",
                "replace it with --force, or choose another folder with -o",
            )
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
        verification = Verification()
        with replacing_folder(place, self.marker) as work:
            trained = Trained.load(run, options)
            say("converting the model")
            self.write(trained, options, work)
            if options.verify:
                say("verifying against the trained model")
                verification = self.verify(trained, options, work)
        for line in verification.lines():
            say(f"  {line}")
        return verification


def exporters() -> tuple[Exporter, ...]:
    """All export formats."""
    return tuple(import_module(each).EXPORTER for each in FORMATS)


def _alternatives(names: Sequence[str]) -> str:
    return " or ".join(f"--{each}" for each in names) or "a format that supports it"
