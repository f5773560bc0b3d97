"""A trained model to export, opened once, and the card of an export."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt_cli import __version__
from nmt_cli.bundle.card import CARD, card
from nmt_cli.bundle.manifest import Check, Verification
from nmt_cli.data.corpus import read_held_out
from nmt_cli.errors import ModelError
from nmt_cli.export.exporter import ExportOptions
from nmt_cli.host import import_keras
from nmt_cli.recipe.model import DecodingConfig, TransformerConfig
from nmt_cli.search.translator import Translator, translator_for
from nmt_cli.text.tokenizer import PAD_ID, TokenizerPair, TokenizerSpec
from nmt_cli.training.checkpoint import check_size
from nmt_cli.training.run import Run

if TYPE_CHECKING:
    from nmt_cli.model.step_model import KerasStepModel


@dataclass(frozen=True)
class TrainedModel:
    """A run's model with the weights of a checkpoint.

    Attributes:
        step_model: in float32.
        steps: number of training steps of its weights.
        decoding: default settings of the export's search.
        held_out: source and target lines that the training did not see, or those of ``dev``.
    """

    run: Run
    step_model: "KerasStepModel"
    steps: int
    decoding: DecodingConfig
    tokenizers: TokenizerPair
    held_out: tuple[list[str], list[str]]

    @classmethod
    def open(cls, run: Run, options: ExportOptions) -> "TrainedModel":
        """Load a run's model, tokenizers and held-out text."""
        checkpoint = options.checkpoint or run.preferred
        check_size(checkpoint, run.weights)  # before Keras takes memory and time
        held_out = run.held_out()
        if options.dev is not None:  # relative to the current folder
            held_out = read_held_out(options.dev, replace(run.recipe.data, root=""))
        import_keras("tensorflow")  # traces the graphs, whatever trained the model
        from nmt_cli.model.step_model import KerasStepModel
        from nmt_cli.training.model import trained_model

        model, progress = trained_model(run, checkpoint)
        given = {name: getattr(options, name) for name in ("beam_size", "length_penalty")}
        changes = {name: value for name, value in given.items() if value is not None}
        decoding, model = replace(run.recipe.decoding, **changes), KerasStepModel(model)
        return cls(run, model, progress.step, decoding, run.tokenizers(), held_out)

    @property
    def tokenizer_folder(self) -> Path:
        """The folder of the tokenizers' files."""
        return self.run.folder / "tokenizer"

    @cached_property
    def spec(self) -> TokenizerSpec:
        """The description of the tokenizers' files."""
        return TokenizerSpec.read(self.tokenizer_folder)

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """What the weights come from, as a manifest records it."""
        return {"nmt_version": __version__, "steps": self.steps, **self.run.provenance()}

    def encoded(self, source: list[str], target: list[str]) -> list[tuple[list[int], list[int]]]:
        """Return the ids of pairs of lines, sources with special tokens."""
        tokenizers = self.tokenizers
        sources = map(tokenizers.source.with_special_tokens, tokenizers.source.encode(source))
        return list(zip(sources, tokenizers.target.encode(target), strict=True))

    def passed(self, checks: Sequence[Check], onnxruntime: str = "") -> Verification:
        """Return the report of a verification that passed."""
        against = f"the Keras model of {self.run.recipe.label} at step {self.steps}"
        return Verification("passed", against, tuple(checks), __version__, onnxruntime)

    def translator(self, edits_text: bool) -> Translator:
        """Return a translator with the model's settings, as users get it, or without text steps."""
        translator = translator_for(self.step_model, self.tokenizers, self.decoding)
        return replace(translator, path=replace(translator.path, edits=edits_text))

    def write_card(
        self,
        folder: Path,
        precision: str,
        form: str,
        usage: str,
        report: Verification,
        header: str = "",
    ) -> Verification:
        """Write the model card of an export; returns the report.

        Args:
            form: what the export is: "as one ONNX file".
            usage: name of a file in usage/.
            header: of a README.md; without one, the card is MODEL_CARD.md.
        """
        recipe, template = self.run.recipe, Path(__file__).with_name("usage") / f"{usage}.md"
        values = {"model": recipe.model, "decoding": self.decoding, "spec": self.spec}
        text = card(
            f"{recipe.label}: {recipe.data.source} to {recipe.data.target}, {form}",
            f"{recipe.model.summary()} in {precision}",
            template.read_text(encoding="utf-8").format(**values),
            self.provenance,
            report,
        )
        (folder / ("README.md" if header else CARD)).write_text(header + text, encoding="utf-8")
        return report


def refuse(program: str, config: TransformerConfig, further: Mapping[str, bool]) -> None:
    """Raise an error about the first of a Transformer's settings that a program does not have."""
    size = config.d_model / config.heads
    other_sizes = (config.key_size, config.value_size) != (size, size)
    refused = {
        f"model.pad_ids = {list(config.pad_ids)}": config.pad_ids != (PAD_ID,),
        "model.key_dim and value_dim other than d_model / heads": other_sizes,
        **further,
    }
    for setting, applies in refused.items():
        if applies:
            hint = "use `onnx`, which supports every model"
            raise ModelError(f"{program} cannot represent {setting}", hint)
