"""Translate the families with one or two commands and print what they lose."""

import argparse
import shlex
import subprocess
import tempfile
import unicodedata
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.kept import documents, elements, facts, records, runs, signs, strings, touching
from benchmarks.kept.cases import FAMILIES, Case, cases_of
from benchmarks.kept.checks import INVISIBLE, problems, readings, text_of
from benchmarks.kept.words import lost_words

MODULES = (
    touching,
    elements,
    records,
    facts,
    signs,
    runs,
    strings,
    documents,
)  # they fill FAMILIES
MAX_SECONDS = 1200
OPTIONS = {
    "text": [],
    "jsonl": ["--input-format", "jsonl", "--field", "text"],
    "csv": ["--input-format", "csv", "--field", "text"],
}


@dataclass
class Translator:
    """A command of nmt with the bundles of both directions."""

    nmt: str
    bundles: Path
    sentences: dict[tuple[str, str], str] = field(default_factory=dict)

    def faults(self, cases: list[Case]) -> list[list[str]]:
        """Translate cases and list what each has lost, and its output where it has."""
        self._translate_sentences(cases)
        outputs = self._outputs(cases)
        return [self._faults(case, output) for case, output in zip(cases, outputs, strict=True)]

    def _translate_sentences(self, cases: list[Case]) -> None:
        """Translate the bare sentences of cases, one process for each direction."""
        for direction in {case.direction for case in cases}:
            texts = {text for case in cases if case.direction == direction for text in case.bare}
            new = sorted(text for text in texts if (direction, text) not in self.sentences)
            if new:
                output = self._run([Case(direction, "text", "".join(f"{text}\n" for text in new))])
                keys = ((direction, text) for text in new)
                self.sentences |= dict(zip(keys, output[0].splitlines(), strict=True))

    def _outputs(self, cases: list[Case]) -> list[str]:
        """Translate cases; where there is no output, NUL precedes the reason."""
        groups: dict[tuple[object, ...], list[int]] = defaultdict(list)
        for index, case in enumerate(cases):
            groups[case.direction, case.format, index if case.seconds else None].append(index)
        outputs = [""] * len(cases)
        for indices in groups.values():
            texts = self._run([cases[index] for index in indices])
            if len(indices) > 1 and texts[0].startswith("\0exit"):
                texts = [self._run([cases[index]])[0] for index in indices]
            for index, text in zip(indices, texts, strict=True):
                outputs[index] = text
        return outputs

    def _run(self, cases: list[Case]) -> list[str]:
        """Translate cases of one direction and format in one process, a file for each."""
        case = cases[0]
        command = [self.nmt, "translate", "-m", str(self.bundles / case.direction)]
        command += OPTIONS.get(case.format, ["--format", case.format])
        names = [f"{index}.txt" for index in range(len(cases))]
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            output = folder / "output"
            output.mkdir()
            for file, one in zip(names, cases, strict=True):
                source = one.source.encode() if isinstance(one.source, str) else one.source
                (folder / file).write_bytes(source)
            command += ["-o", str(output / names[0] if len(cases) == 1 else output), *names]
            limit = case.seconds or MAX_SECONDS
            try:
                run = subprocess.run(
                    command, cwd=folder, capture_output=True, text=True, timeout=limit
                )
            except subprocess.TimeoutExpired:
                return [f"\0{limit} s are over"] * len(cases)
            if run.returncode:
                return [f"\0exit {run.returncode}: {run.stderr.strip()[-200:]}"] * len(cases)
            written = [(output / file).read_bytes() for file in names]
            return [
                one.read(data) if one.read else data.decode()
                for one, data in zip(cases, written, strict=True)
            ]

    def _faults(self, case: Case, output: str) -> list[str]:
        """What a translation has lost, and the translation if it has."""
        if output.startswith("\0"):
            return [output[1:], ""]
        translations = [self.sentences[case.direction, text] for text in case.bare]
        format, source = ("html", case.shown) if case.read else (case.format, case.source)
        texts = readings(format, output)
        text = unicodedata.normalize("NFC", text_of(format, output))
        faults = list(problems(format, source, output))
        if lost := lost_words(case.direction, case.bare, translations, texts):
            faults.append(f"lost words: {', '.join(lost)}")
        faults += [f"lacks {part!r}" for part in case.keep if part.lower() not in text.lower()]
        faults += [f"has {part!r}" for part in case.gone if part.lower() in text.lower()]
        if case.same and text.translate(INVISIBLE).strip() != " ".join(translations):
            faults.append(f"not {' '.join(translations)!r}")
        if case.check:
            faults += case.check(output)
        return [*faults, output] if faults else []


def show(name: str, cases: list[Case], faults: list[list[str]], limit: int) -> None:
    """Print examples of a family's failures, spread over it."""
    failed = [(case, fault) for case, fault in zip(cases, faults, strict=True) if fault]
    for case, (*reasons, output) in failed[:: max(1, len(failed) // max(1, limit))][:limit]:
        print(f"  {name}, {case.direction}, {case.format}: {'; '.join(reasons)[:300]}")
        print(f"    {case.source[:300]!r}\n    {output[:300]!r}")


def main() -> None:
    """Translate the families and print a table of failures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kept", description=__doc__)
    parser.add_argument("nmt", help="command to test")
    parser.add_argument("bundles", type=Path, help="folder with pt-en and en-pt")
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=", ".join(FAMILIES))
    parser.add_argument("--before", metavar="NMT", help="command to compare with")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="examples per family")
    options = parser.parse_args()
    if unknown := set(options.families) - FAMILIES.keys():
        parser.error(f"unknown family {shlex.join(sorted(unknown))}")
    commands = [options.before, options.nmt] if options.before else [options.nmt]
    translators = [
        Translator(str(Path(command).absolute()), options.bundles.absolute())
        for command in commands
    ]
    print("| family | inputs |", " | ".join(["before", "now"][-len(commands) :]), "|")
    print("|---|---|", *("---|" for _ in commands), sep="")
    for name in options.families or FAMILIES:
        cases = cases_of(name)
        faults = [translator.faults(cases) for translator in translators]
        counts = (str(sum(map(bool, lists))) for lists in faults)
        print(f"| {name} | {len(cases)} | {' | '.join(counts)} |", flush=True)
        show(name, cases, faults[-1], options.show)


if __name__ == "__main__":
    main()
