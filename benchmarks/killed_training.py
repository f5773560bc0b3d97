"""Train with and without kills, and compare the results.

Two trainings run the same command in folders of their own. One of them is killed (SIGKILL) at
random moments, about half of the time while it writes a file, and started again with --resume.

    python benchmarks/killed_training.py phrasebook --kills 20

--set KEY=VALUE changes the recipe further, e.g. training.ema=0.99. Exits with 1 and keeps the files
if a process fails, or if the trainings end with different weights, optimizer states or validations.
"""

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from machine import machine, versions

from nmt_cli.training.checkpoint import read_checkpoint
from nmt_cli.training.log import read_log
from nmt_cli.training.run import Run

# Moments of kills: their weights, and the most seconds to wait then.
MOMENTS = {"start": (1, 6.0), "step": (2, 0.5), "write": (3, 0.02)}
# A file or folder that is not complete has a temporary name.
TEMPORARY = re.compile(r"\.(.+)\.\w{8}")


@dataclass(frozen=True)
class Kill:
    """When to kill a process.

    Attributes:
        moment: "start": after its start; "step": after a step; "write": after that step, when the
            next file is being written.
        step: that step.
        seconds: to wait then.
    """

    moment: str
    step: int
    seconds: float


@dataclass(frozen=True)
class Session:
    """One process.

    Attributes:
        resumed: the step where it resumed; None if it did not get there.
        step: its last step; None if it took none.
        writing: what it was writing when it ended.
        message: the last line of its output.
    """

    resumed: int | None
    step: int | None
    seconds: float
    writing: list[str]
    code: int
    message: str


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("recipe", nargs="?", default="phrasebook")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    place, command = Path(tempfile.mkdtemp(prefix="nmt-kills-")), train_command(arguments)
    print(f"{machine()}\n{versions('tensorflow', 'keras')}\n")
    whole = run(command, place / "whole")
    if whole.code:
        sys.exit(f"{whole.message}\nkept: {place}")
    kills: list[Kill] = []
    sessions: list[Session] = []
    for kill in [*random_kills(arguments.steps, arguments.kills, arguments.seed), None]:
        sessions.append(run([*command, "--resume"], place / "killed", kill))
        if sessions[-1].code != -signal.SIGKILL:
            break
        kills.append(kill)
    print_table(whole, sessions, kills)
    if sessions[-1].code:
        faults = [sessions[-1].message]
    else:
        faults = differences(*(Run.open(place / name / "run") for name in ("whole", "killed")))
    print("\n".join(faults) or "same weights, optimizer states and validations")
    if faults:
        print(f"kept: {place}")
    else:
        shutil.rmtree(place)
    return 1 if faults else 0


def train_command(arguments: argparse.Namespace) -> list[str]:
    recipe, steps = arguments.recipe, arguments.steps
    settings = [
        "training.max_minutes=0",  # it would end the trainings at different steps
        f"training.max_steps={steps}",
        f"training.checkpoint_every={max(1, steps // 20)}",
        f"training.validate_every={max(1, steps // 4)}",
        "training.validate_sentences=20",
        "training.log_every=1",
        *arguments.set,
    ]
    return [
        *(sys.executable, "-m", "nmt_cli", "train"),
        str(Path(recipe).resolve()) if Path(recipe).exists() else recipe,
        *("-o", "run", "--prepared", "prepared"),
        *(word for setting in settings for word in ("--set", setting)),
    ]


def random_kills(steps: int, count: int, seed: int) -> list[Kill]:
    """Kills in the order of their steps, the last well before the end of the training."""
    chance = random.Random(seed)
    places = sorted(chance.randrange(steps * 4 // 5) for _ in range(count))
    names, weights = list(MOMENTS), [weight for weight, _ in MOMENTS.values()]
    moments = chance.choices(names, weights, k=count)
    return [
        Kill(moment, step, chance.uniform(0, MOMENTS[moment][1]))
        for moment, step in zip(moments, places, strict=True)
    ]


def run(command: list[str], folder: Path, kill: Kill | None = None) -> Session:
    """Train in a folder, up to the end or the kill."""
    folder.mkdir(exist_ok=True)
    left, began, log = temporary(folder), time.perf_counter(), folder / "output"
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=subprocess.STDOUT)
        if kill:
            if kill.moment != "start":
                wait(process, lambda: (last_step(log.read_text()) or 0) > kill.step, 0.02)
            if kill.moment == "write":
                wait(process, lambda: bool(temporary(folder) - left), 0.001)
            time.sleep(kill.seconds)
            process.kill()
        process.wait()
    output = log.read_text(encoding="utf-8")
    step, resumed = last_step(output), re.search(r"^resuming at step ([\d,]+)", output, re.M)
    return Session(
        resumed=number(resumed[1]) if resumed else None if step is None else 0,
        step=step,
        seconds=time.perf_counter() - began,
        writing=sorted(TEMPORARY.fullmatch(name)[1] for name in temporary(folder) - left),
        code=process.returncode,
        message=output.rstrip("\n").rpartition("\n")[2],
    )


def wait(process: subprocess.Popen, happened: Callable[[], bool], interval: float) -> None:
    while process.poll() is None and not happened():
        time.sleep(interval)


def temporary(folder: Path) -> set[str]:
    """The names of files and folders that are being written, or were when a process was killed."""
    tree = os.walk(folder)  # unlike Path.rglob, it accepts that folders disappear
    names = {name for _, folders, files in tree for name in [*folders, *files]}
    return {name for name in names if TEMPORARY.fullmatch(name)}


def last_step(output: str) -> int | None:
    steps = re.findall(r"^step +([\d,]+)  epoch", output, re.M)
    return number(steps[-1]) if steps else None


def number(text: str) -> int:
    return int(text.replace(",", ""))


def print_table(whole: Session, sessions: list[Session], kills: list[Kill]) -> None:
    print("| kill | resumed at step | last step | lost steps | seconds | killed | being written |")
    print("|---|---|---|---|---|---|---|")
    print(f"| none | 0 | {whole.step} | | {whole.seconds:.1f} | | |")
    for index, session in enumerate(sessions):
        resumed, step = (
            "-" if value is None else value for value in (session.resumed, session.step)
        )
        later = (one.resumed for one in sessions[index + 1 :] if one.resumed is not None)
        killed = kills[index].moment if index < len(kills) else ""
        lost = session.step - next(later, 0) if killed and session.step is not None else ""
        print(
            f"| {index + 1 if killed else 'none'} | {resumed} | {step} | {lost} "
            f"| {session.seconds:.1f} | {killed} | {', '.join(session.writing)} |"
        )
    hits = sum(bool(one.writing) for one in sessions[: len(kills)])
    print(f"\n{len(kills)} kills, {hits} of them while a file was being written")


def differences(whole: Run, killed: Run) -> list[str]:
    """How the second run differs from the first in its checkpoints and validations."""
    faults = []
    ours, theirs = ([*run.checkpoints(), run.best] for run in (whole, killed))
    names = [[path.name for path in paths] for paths in (ours, theirs)]
    if names[0] != names[1]:
        return [f"checkpoints: {names[0]}, but {names[1]} after kills"]
    for one, other in zip(ours, theirs, strict=True):
        (arrays, _), (others, _) = read_checkpoint(one), read_checkpoint(other)
        if arrays.keys() != others.keys():
            faults.append(f"{one.name}: other arrays after kills")
        elif changed := [
            name for name in arrays if arrays[name].tobytes() != others[name].tobytes()
        ]:
            faults.append(f"{one.name}: different after kills: {', '.join(changed[:5])}")
    logs = [read_log(run.folder) for run in (whole, killed)]
    steps = [[record["step"] for record in log] for log in logs]
    validations = [
        [{**record, "seconds": 0} for record in log if "validation_loss" in record] for log in logs
    ]
    if steps[0] != steps[1]:
        faults.append("log.jsonl: other steps after kills")
    if validations[0] != validations[1]:
        faults.append("log.jsonl: other validations after kills")
    return faults


if __name__ == "__main__":
    sys.exit(main())
