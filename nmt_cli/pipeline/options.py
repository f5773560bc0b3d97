"""The options of a translation job, and which of them can be combined."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from nmt_cli.errors import OptionError
from nmt_cli.pipeline.inputs import STDIN, Shard
from nmt_cli.search.options import DecodingOptions
from nmt_cli.text.lines import STRICT

_DEFAULTS = DecodingOptions()
_NOT_INTERACTIVE = ("`json`", "`input_format`", "`constraints`", "`line_buffered`", "`shard`")


@dataclass(frozen=True, kw_only=True)
class TranslateOptions:
    """What to translate and how; the fields are options of ``nmt translate``.

    Attributes:
        files: files, folders or ``-``; none for standard input.
        output: file, or with several files or a folder the folder for outputs; None for standard
            output.
        force: replace existing files.
        resume: continue interrupted outputs, skip complete ones.
        shard: ``I/N``, the I-th of N parts of each file; None for all.
        errors: how to handle invalid UTF-8 (text.lines).
        line_buffered: translate and write each line as it arrives.
        interactive: prompt for lines.
        input_format: "tsv" or "jsonl" for records; None for plain text.
        field: the column or field of records to translate.
        format: of documents whose markup is kept, or "auto"; None for lines.
        json, scores, tokens: additional output.
        constraints: each line is followed by tab-separated phrases.
        decoding: options of the search.
    """

    files: tuple[Path, ...] = ()
    output: Path | None = None
    force: bool = False
    resume: bool = False
    shard: str | None = None
    errors: str = STRICT
    line_buffered: bool = False
    interactive: bool = False
    input_format: str | None = None
    field: str | None = None
    format: str | None = None
    json: bool = False
    scores: bool = False
    tokens: bool = False
    constraints: bool = False
    decoding: DecodingOptions = _DEFAULTS

    @property
    def reads_stdin(self) -> bool:
        """Whether standard input is among the files."""
        return not self.files or STDIN in self.files

    @property
    def several(self) -> bool:
        """Whether there may be more than one file."""
        return len(self.files) > 1 or any(each.is_dir() for each in self.files)

    @property
    def part(self) -> Shard:
        """The shard of each file."""
        return Shard.parse(self.shard) if self.shard else Shard()

    def check(self) -> None:
        """Check that the options are compatible.

        Raises:
            OptionError: an option contradicts another one or lacks one that it needs.
        """
        self.decoding.check()
        for one, other in self._contradictions():
            raise OptionError(f"{one} and {other} cannot be combined")
        several_with_stdin = self.output and self.several and self.reads_stdin
        for option, needed, missing in (
            ("`input_format`", "`field`", self.input_format and not self.field),
            ("`field`", "`input_format`", self.field and not self.input_format),
            ("`resume`", "`output`", self.resume and not self.output),
            ("`format=auto`", "FILEs", self.format == "auto" and self.reads_stdin),
            ("standard input among several FILEs", "standard output", several_with_stdin),
        ):
            if missing:
                raise OptionError(f"{option} needs {needed}")
        if self.input_format == "tsv" and (self.field or "").strip("0") == "":
            raise OptionError(f"`field={self.field}`: columns are counted from 1")
        _ = self.part  # checks its form

    def _contradictions(self) -> Iterator[tuple[str, str]]:
        yield from _both("`resume`", self.resume, {"`force`": self.force})
        tsv = self.input_format == "tsv"
        yield from _both("`input_format=tsv`", tsv, {"`json`": self.json})
        sampling = {"`input_format`": self.input_format, "`sample`": self.decoding.sample}
        yield from _both("`constraints`", self.constraints, sampling)
        yield from _both("`shard`", self.shard, {"standard input": self.reads_stdin})
        lines_only = {
            "`json`": self.json,
            "`scores`": self.scores,
            "`alignments`": self.decoding.alignments,
            "`tokens`": self.tokens,
            "`n_best`": self.decoding.n_best > 1,
            "`input_format`": self.input_format,
            "`constraints`": self.constraints,
            "`line_buffered`": self.line_buffered,
            "`shard`": self.shard,
        }
        yield from _both("`format`", self.format, lines_only)
        files = {
            "`output`": self.output,
            "FILE": self.files,
            **{each: lines_only[each] for each in _NOT_INTERACTIVE},
            "`resume`": self.resume,
            "`format`": self.format,
        }
        yield from _both("`interactive`", self.interactive, files)


def _both(one: str, given: object, others: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    return ((one, other) for other, also in others.items() if given and also)
