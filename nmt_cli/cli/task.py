"""What one call of ``nmt translate`` is to do, and whether that can be."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from nmt_cli.cli.options import DecodingOptions
from nmt_cli.cli.streams import STDIN
from nmt_cli.cli.wishes import Wishes
from nmt_cli.pipeline.inputs import Shard


@dataclass(frozen=True)
class Task:
    """The options of ``nmt translate``, as the user gave them."""

    files: tuple[Path, ...]
    models: tuple[Path, ...]
    output: Path | None
    force: bool
    resume: bool
    shard: str | None
    errors: str
    line_buffered: bool
    interactive: bool
    input_format: str | None
    field: str | None
    document: str | None
    as_json: bool
    scores: bool
    alignments: bool
    tokens: bool
    constraints: bool
    wishes: Wishes
    decoding: DecodingOptions

    @property
    def reads_stdin(self) -> bool:
        """Whether there is no FILE, or ``-`` among them."""
        return not self.files or STDIN in self.files

    @property
    def part(self) -> Shard:
        """The part of each file.

        Raises:
            click.UsageError: it is none.
        """
        try:
            return Shard.parse(self.shard) if self.shard else Shard()
        except ValueError as error:
            raise click.UsageError(f"--shard {error}") from None

    def check(self) -> None:
        """Whether the options go together.

        Raises:
            click.UsageError: they do not.
        """
        for one, other in self._contradictions():
            raise click.UsageError(f"{one} and {other} do not go together")
        for option, needed in self._needs():
            raise click.UsageError(f"{option} needs {needed}")
        if self.input_format == "tsv" and (self.field or "").strip("0") == "":
            raise click.UsageError(f"--field {self.field}: columns are counted from 1")
        _ = self.part, self.wishes.sampling  # which raise what is wrong with them

    def _contradictions(self) -> list[tuple[str, str]]:
        told = {
            "--json": self.as_json,
            "--scores": self.scores,
            "--alignments": self.alignments,
            "--tokens": self.tokens,
            "--n-best": self.wishes.n_best > 1,
        }
        place = {
            "--output": self.output is not None,
            "--line-buffered": self.line_buffered,
            "--shard": self.shard is not None,
            "--resume": self.resume,
        }
        form = {"--input-format": self.input_format is not None, "--constraints": self.constraints}
        pairs = [("--resume", "--force", self.resume and self.force)]
        pairs += [("--input-format tsv", "--json", self.input_format == "tsv" and self.as_json)]
        pairs += [("--constraints", "--input-format", all(form.values()))]
        pairs += [("--constraints", "--sample", self.constraints and self.wishes.sample)]
        pairs += [("--shard", "standard input", self.shard is not None and self.reads_stdin)]
        pairs += [("--interactive", "FILE", self.interactive and bool(self.files))]
        for mode, on, others in (
            ("--format", self.document is not None, {**told, **form}),
            ("--format", self.document is not None, {each: place[each] for each in _BY_LINES}),
            ("--interactive", self.interactive, {**place, **form, "--json": self.as_json}),
            ("--interactive", self.interactive, {"--format": self.document is not None}),
        ):
            pairs += [(mode, name, on and given) for name, given in others.items()]
        return [(one, other) for one, other, both in pairs if both]

    def _needs(self) -> list[tuple[str, str]]:
        several = len(self.files) > 1 or any(each.is_dir() for each in self.files)
        needs = [
            ("--input-format", "--field", self.input_format and not self.field),
            ("--field", "--input-format", self.field and not self.input_format),
            ("--resume", "-o", self.resume and not self.output),
            ("--format auto", "FILEs", self.document == "auto" and self.reads_stdin),
            ("standard input among several FILEs", "-o to be left out",
             self.output and several and self.reads_stdin),
        ]  # fmt: skip
        return [(option, needed) for option, needed, lacking in needs if lacking]

    def fingerprint(self, source: Path) -> str:
        """Of all that the lines of an output depend on: a SHA-256, hex."""
        parts: dict[str, Any] = asdict(self)
        for each in ("files", "output", "force", "resume", "line_buffered", "models", "decoding"):
            del parts[each]
        parts["search"] = [self.decoding.beam_size, self.decoding.length_penalty]
        parts["models"] = [_identity(each) for each in self.models]
        parts["source"] = str(source if source == STDIN else source.resolve())
        text = json.dumps(parts, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()


_BY_LINES = ("--line-buffered", "--shard")


def _identity(folder: Path) -> list[str]:
    """What tells a model from another one: a bundle's manifest holds the hashes of its files.

    Of a run best.npz and average.npz are read whole, as their names tell nothing of them.
    """
    marks = [folder / "manifest.json", folder / "run.json", *sorted(folder.glob("*.npz"))]
    found = [hashlib.sha256(each.read_bytes()).hexdigest() for each in marks if each.exists()]
    return [*found, *sorted(each.name for each in folder.glob("checkpoints/*"))]
