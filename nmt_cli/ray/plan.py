"""Which files to translate, into which shards, and what exists of them already."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfileobj

from nmt_cli.errors import NmtError, Say
from nmt_cli.files import replacing_path
from nmt_cli.jobs.options import TranslateOptions
from nmt_cli.jobs.outputs import check_free
from nmt_cli.jobs.translate import settings_of
from nmt_cli.ray.places import Place
from nmt_cli.text.lines import plain_name, writing

COMPLETE = "_SUCCESS"  # as other engines mark a complete folder; they skip names that begin with _
_SHARD = re.compile(r"(\d{12})-(\d{12})-([0-9a-f]{16})\b.*")


@dataclass(frozen=True)
class FileJob:
    """A file to translate.

    Attributes:
        output: the file to write, or the folder of its shards.
        shards: their folder: the output, or one beside it until they are joined.
        settings: a hash of everything that the output depends on.
    """

    source: Place
    output: Place
    shards: Place
    settings: str

    @property
    def joined(self) -> bool:
        """Whether the shards become one file."""
        return self.shards != self.output

    def shard(self, start: int, end: int) -> str:
        """The name of the shard with these rows."""
        suffix = plain_name(Path(self.source.path)).suffix
        return f"{start:012}-{end:012}-{self.settings}{suffix}"

    def names(self) -> list[str]:
        """The names in the folder of shards."""
        return [each.base_name for each in self.shards.listed()]

    def prepare(self, options: TranslateOptions, say: Say) -> bool:
        """Whether something is left to do; checks what exists, and removes it with ``force``.

        Raises:
            NmtError: the output exists, or was started with other settings.
        """
        names, where = self.names(), self.shards.name
        visible = [each for each in names if each != COMPLETE and not each.startswith(".")]
        found = [_SHARD.fullmatch(each) for each in visible]
        done = COMPLETE in names
        if self.joined and self.output.local:
            done = options.resume and self.output.local.is_file()
            check_free(self.output.local, options.force or options.resume)
        if None in found:
            reason = f"{where}: exists and contains something else"
            raise NmtError(reason, "choose another -o")
        if options.force or (self.joined and done):
            self.shards.remove()
        elif any(each and each[3] != self.settings for each in found):
            raise NmtError(
                f"{where}: was started with another model, other options or another input",
                "continue with those, or start again with --force",
            )
        elif names and not options.resume:
            raise NmtError(
                f"{where}: {'exists' if done else 'left by an interrupted translation'}",
                "continue it with --resume, or start again with --force",
            )
        if done and not options.force:
            say(f"{self.output.name}: already complete")
        return options.force or not done

    def places(self) -> list[Place]:
        """The files of the shards, in order."""
        return [self.shards.plus(f"/{each}") for each in self.names() if _SHARD.fullmatch(each)]

    def finish(self, rows: int) -> None:
        """Join the shards, or mark their folder as complete.

        Raises:
            NmtError: a shard is missing, or the output cannot be written.
        """
        end = 0
        for each in filter(None, map(_SHARD.fullmatch, self.names())):
            end = int(each[2]) if int(each[1]) == end else -1
        if end != rows:
            reason = f"{self.shards.name}: does not have all {rows:,} rows"
            raise NmtError(reason, "--output must be storage that all nodes of the cluster share")
        if self.joined and self.output.local:
            with (
                replacing_path(self.output.local) as beside,
                writing(beside, self.output.local.suffix) as stream,
            ):
                for place in self.places():
                    with place.opened() as shard:
                        copyfileobj(shard, stream)
            self.shards.remove()
            return
        for name in self.names():
            if name.startswith("."):  # left by a process that was killed
                self.shards.plus(f"/{name}").remove()
        self.shards.plus(f"/{COMPLETE}").write(b"")


def sources(files: Sequence[Path]) -> list[tuple[Place, str]]:
    """The files to read, each with its name in a folder of outputs."""
    return [found for each in files for found in Place.of(each).files()]


def settings(options: TranslateOptions, marks: list[str], source: Place) -> str:
    """A hash of everything that the output of a file depends on."""
    found = source.info()
    return settings_of(options, marks, f"{source.path} {found.size} {found.mtime_ns}")[:16]


def jobs_of(options: TranslateOptions, root: Place, marks: list[str]) -> list[FileJob]:
    """What to read and write; ``root`` is the output, ``marks`` identify the model.

    Raises:
        NmtError: a file cannot be found, or two would have the same output.
    """
    found = sources(options.files)
    plain = root.local is not None and "://" not in root.name
    single = len(found) == 1 and found[0][0].path == Place.of(options.files[0]).path
    single = single and plain and not Path(root.path).is_dir()
    joined = plain and options.input_format != "parquet"
    jobs: dict[str, FileJob] = {}
    for source, name in found:
        output = root if single else root.plus(f"/{name if joined else plain_name(Path(name))}")
        if output.path in jobs:
            other = jobs[output.path].source.name
            reason = f"{other} and {source.name} would both be written to {output.name}"
            raise NmtError(reason, "translate them into two folders")
        if (output.system, output.path) == (source.system, source.path):
            raise NmtError(f"{source.name}: would overwrite itself", "choose another -o")
        shards = output.plus(".shards") if joined else output
        jobs[output.path] = FileJob(source, output, shards, settings(options, marks, source))
    return list(jobs.values())
