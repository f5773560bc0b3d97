"""The options of a translation job, and which of them can be combined."""

import json
import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from nmt_cli.errors import InputError, OptionError
from nmt_cli.formats import ARCHIVES, FORMATS
from nmt_cli.jobs.files import STDIN, jobs_of, name_of, shard_range
from nmt_cli.options import check_settings, option
from nmt_cli.search.options import DecodingOptions
from nmt_cli.text.lines import STRICT, plain_name

COLUMN = "column"
"""For ``errors``: keep a row that fails, whatever the reason, with its error in a column."""

RecordFormat = Literal["tsv", "jsonl", "csv", "parquet"]
# The formats that nmt_cli/formats lists, which type checkers cannot read.
if TYPE_CHECKING:
    DocumentFormat = str
else:
    DocumentFormat = Literal[(*FORMATS, *ARCHIVES, "auto")]

# Options that exclude each other, and inputs and outputs that exclude options.
_CONTRADICTIONS = {
    "resume": "force",
    "input_format=tsv": "json",
    "input_format=csv": "json",
    "input_format=parquet": "json n_best STDIN line_buffered shard",
    "constraints": "input_format sample glossary",
    "shard": "STDIN",
    "format": "json scores alignments tokens n_best input_format constraints line_buffered shard "
    "errors=column",
    "TMX": "json scores alignments tokens n_best input_format constraints line_buffered shard "
    "engine errors=column",
    "pivot": "engine trace constraints glossary",
    "interactive": "output FILE json input_format constraints line_buffered shard resume format "
    "errors=column",
    "engine": "interactive trace STDIN line_buffered shard format json",
    "trace": "output input_format format constraints shard resume interactive n_best alignments "
    "scores tokens sample errors=column",
}
_REQUIREMENTS = {
    "input_format": "field",
    "field": "input_format",
    "input_format=parquet": "output",
    "resume": "output",
    "engine": "output",
    "address": "engine",
    "format=auto": "FILEs",
}
# Options on which the output of a row does not depend.
_WITHOUT_EFFECT = {
    *("files", "output", "force", "resume", "line_buffered", "interactive", "engine", "address"),
    "language_check",
}
# A Path keeps only one of the two slashes.
_URL = re.compile(r"[a-z][a-z0-9+.-]{1,30}:/")
_SHOWN = {"TMX": "output to .tmx", "STDIN": "standard input", "FILE": "FILE", "FILEs": "FILEs"}

_DEFAULTS = DecodingOptions()


@dataclass(frozen=True, kw_only=True)
class TranslateOptions:
    """What to translate and how: the arguments and options of ``nmt translate``."""

    files: tuple[Path, ...] = ()
    output: Path | None = option(
        None,
        "File to write, or a folder for several FILEs; .gz, .xz and .zst are compressed, and .tmx "
        "is a translation memory. Default, and -: standard output.",
        flags="-o",
        group="Output",
    )
    force: bool = option(False, "Replace existing files.", group="Output")
    resume: bool = option(
        False, "Continue interrupted outputs; skip complete ones.", group="Output"
    )
    shard: str | None = option(
        None,
        "Translate only the I-th of N parts of each FILE, e.g. 1/4; concatenate the outputs.",
        metavar="I/N",
        group="Input",
    )
    errors: Literal["strict", "replace", "skip-line", "column"] = option(
        STRICT,
        "Invalid UTF-8: stop, replace it by U+FFFD, or output a blank line; column: keep any "
        "row that fails and add its error in a column.",
        group="Input",
    )
    line_buffered: bool = option(False, "Translate each line as it arrives.", group="Output")
    interactive: bool = option(False, "Prompt for lines, with a history.", group="Input")
    trace: bool = option(
        False, "Show each search step: beams, candidates, finished hypotheses.", group="Output"
    )
    input_format: RecordFormat | None = option(
        None,
        "Translate one field of each record and keep the others; parquet writes a folder. "
        "Default: by the suffix of FILE, or lines of text.",
        group="Input",
    )
    field: str | None = option(
        None, "Field of `input_format`: a column number or a name.", metavar="FIELD", group="Input"
    )
    format: DocumentFormat | None = option(
        None, "Translate documents and keep their markup; auto: by file name suffix.", group="Input"
    )
    json: bool = option(
        False, "Write one JSON object per line with all details, or extend jsonl.", group="Output"
    )
    scores: bool = option(False, "Add the score: a column or a field.", group="Output")
    tokens: bool = option(False, "Add the tokens of the translation.", group="Output")
    engine: Literal["ray"] | None = option(
        None,
        "Translate on Ray, on this machine or a cluster; FILE and `output` may be URLs.",
        group="Hardware",
    )
    address: str | None = option(
        None,
        "Ray cluster of `engine`: HOST:PORT, or auto for the one on this machine. Default: "
        "start Ray on this machine only.",
        group="Hardware",
    )
    pivot: bool = option(
        False,
        "Translate with each `model` in turn, through the languages between, instead of averaging "
        "their probabilities.",
        group="Input",
    )
    constraints: bool = option(
        False,
        "Tab-separated phrases after each line must appear in its translation.",
        group="Input",
    )
    language_check: bool = option(
        True,
        "Warn if a text is plainly not in the language that the model translates from.",
        group="Input",
    )
    decoding: DecodingOptions = _DEFAULTS

    @property
    def reads_stdin(self) -> bool:
        """Whether standard input is among the files."""
        return not self.files or STDIN in self.files

    @property
    def several(self) -> bool:
        """Whether there may be more than one file."""
        return len(self.files) > 1 or any(file.is_dir() for file in self.files)

    @property
    def writes_memory(self) -> bool:
        """Whether the output is a translation memory, and not a document."""
        output = self.output or Path()
        return not self.several and plain_name(output).suffix.lower() == ".tmx"

    def fingerprint(self, model: list[str], source: str) -> str:
        """Return a hash of what an output depends on; ``model`` is its model's fingerprint."""
        import hashlib  # not at the start of every command

        settings = {k: v for k, v in asdict(self).items() if k not in _WITHOUT_EFFECT}
        settings |= {"model": model, "source": source}
        if glossary := self.decoding.glossary:
            if not glossary.is_file():  # a pipe can be read once only
                raise InputError(f"{glossary}: not a regular file", "copy it to one")
            settings["decoding"]["glossary"] = hashlib.sha256(glossary.read_bytes()).hexdigest()
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()

    def resolved(self) -> "TranslateOptions":
        """Return the options, checked, with the ``input_format`` that the names of files imply."""
        if self.input_format or self.format or self.constraints:  # which say how to read files
            self.check()
            return self
        files: dict[Any, Path] = {}  # the last of each format
        for file, _ in jobs_of(self.files, None):
            suffix = plain_name(file).suffix.lower()[1:]
            files[suffix if suffix in get_args(RecordFormat) else None] = file
        (form, file), *others = (files or {None: STDIN}).items()
        if others:
            reason = f"{name_of(file)} and {name_of(others[0][1])} have different formats"
            raise OptionError(reason, "use one call for each, or give `input_format`")
        options = replace(self, input_format=form)
        try:
            options.check()
        except OptionError as error:
            if form and "`input_format" in error.message:
                hint = f"{file} implies {form}; to translate it as lines of text, use < {file}"
                raise OptionError(error.message, hint) from None
            raise
        return options

    def check(self) -> None:
        """Check that no option contradicts another one or lacks one that it needs."""
        check_settings(self)
        self.decoding.check()
        self._check_combinations()
        if self.output and self.several and self.reads_stdin:
            raise OptionError("standard input among several FILEs needs standard output")
        for path in (*self.files, self.output):
            if path and _URL.match(str(path)) and not self.engine and not path.parent.exists():
                raise OptionError(f"`engine=ray` is needed for URLs such as {path}")
        if self.input_format in ("tsv", "csv") and (self.field or "").strip("0") == "":
            raise OptionError(f"`field={self.field}`: columns are counted from 1")
        if self.shard:
            shard_range(self.shard, 0)  # checks its form

    def _check_combinations(self) -> None:
        values: dict[str, object] = {
            **vars(self.decoding),
            **vars(self),
            "n_best": self.decoding.n_best > 1,
            "STDIN": self.reads_stdin,
            "TMX": self.writes_memory,
            "FILE": self.files,
            "FILEs": not self.reads_stdin,
        }
        values |= {f"{name}={values[name]}": True for name in ("input_format", "errors", "format")}
        for name, others in _CONTRADICTIONS.items():
            for other in others.split():
                if values.get(name) and values.get(other):
                    shown, other = (_SHOWN.get(option, f"`{option}`") for option in (name, other))
                    raise OptionError(f"{shown} and {other} cannot be combined")
        for name, needed in _REQUIREMENTS.items():
            if values.get(name) and not values[needed]:
                raise OptionError(f"`{name}` needs {_SHOWN.get(needed, f'`{needed}`')}")
