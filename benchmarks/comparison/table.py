"""Format the results as plain tables."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from comparison.plan import OURS, SIDES, THEIRS

Tree = Mapping[str, Any]

_RATIO = f"{OURS}/{THEIRS}"
_CLOSING = [_RATIO, "same"]


def table(found: Tree) -> Iterator[str]:
    """Format the results of comparison.measure.measure as lines of text."""
    machine, settings = found["machine"], found["settings"]
    versions = ", ".join(f"{name} {each}" for name, each in found["versions"].items())
    yield (
        f"{found['model']}: {found['text']['lines']} lines, "
        f"{found['text']['source_tokens']:,} source tokens; {settings['repeats']} repeats"
    )
    yield (
        f"{machine['date']}, {machine['cpu']} ({' '.join(machine['instructions'])}), "
        f"{settings['threads']} threads; {versions}"
    )
    yield from (f"- {note}" for note in found["notes"])
    throughput = [each for each in found["cells"] if each["batch"] != 1]
    latency = [each for each in found["cells"] if each["batch"] == 1]
    for title, rows in (
        ("throughput, target tokens a second", _throughput(throughput)),
        ("one sentence at a time", _latency(latency)),
        ("loading, seconds; from the start of the process", _loading(found["loading"])),
        ("memory, MiB", _memory(found["memory"])),
        ("whole processes, seconds", _whole(found["whole_process"])),
    ):
        if len(rows) > 1:
            yield ""
            yield title
            yield from _aligned(rows)


def _throughput(cells: Sequence[Tree]) -> list[list[str]]:
    columns = ["", "min-max", "sentences/s", "threads", "of product"]
    rows = [["precision", "beam", "batch", *_heads(columns), *_CLOSING]]
    for cell in cells:
        row = [cell["precision"], str(cell["beam_size"]), str(cell["batch"] or "own")]
        for side in SIDES:
            each = cell["sides"][side]
            share = each["share_of_product"]
            row += [
                *_rate(each["tokens_per_second"]),
                f"{each['sentences_per_second']['median']:.1f}",
                _threads(each),
                "" if share is None else f"{share:.0%}",
            ]
        rows.append([*row, f"{cell['ratio']:.2f}", f"{cell['same_translations']:.0%}"])
    return rows


def _latency(cells: Sequence[Tree]) -> list[list[str]]:
    columns = ["p50 ms", "p95 ms", "tokens/s", "min-max", "threads"]
    rows = [["precision", "beam", *_heads(columns), *_CLOSING]]
    for cell in cells:
        row = [cell["precision"], str(cell["beam_size"])]
        for side in SIDES:
            each = cell["sides"][side]
            row += [
                *(f"{each['latency_ms'][name]:.1f}" for name in ("p50", "p95")),
                *_rate(each["tokens_per_second"]),
                _threads(each),
            ]
        rows.append([*row, f"{cell['ratio']:.2f}", f"{cell['same_translations']:.0%}"])
    return rows


def _loading(loads: Sequence[Tree]) -> list[list[str]]:
    rows = [["precision", *_heads(["", "min-max", "whole start"]), _RATIO]]
    for load in loads:
        row = [load["precision"]]
        for side in SIDES:
            each = load["sides"][side]
            row += [*_seconds(each["load_seconds"]), f"{each['start_seconds']['median']:.3f}"]
        medians = [load["sides"][side]["load_seconds"]["median"] for side in SIDES]
        rows.append([*row, _ratio(medians)])
    return rows


def _memory(memory: Sequence[Tree]) -> list[list[str]]:
    """One row per precision, batches and threads."""
    grouped: dict[tuple[str, str, str], dict[str, Tree]] = {}
    for each in memory:
        batches = "1" if each["batches"] == [1] else "others"
        place = grouped.setdefault((each["precision"], batches, _threads(each)), {})
        place[each["side"]] = each
    rows = [["precision", "batch", "threads", *_heads(["loaded", "peak"]), _RATIO]]
    for key, of_sides in grouped.items():
        values = [of_sides[side] for side in SIDES]
        numbers = [f"{each[kind]:.0f}" for each in values for kind in ("loaded_mib", "peak_mib")]
        rows.append([*key, *numbers, _ratio([each["peak_mib"] for each in values])])
    return rows


def _whole(results: Sequence[Tree]) -> list[list[str]]:
    rows = [["precision", "beam", "lines", *_heads(["", "min-max"]), _RATIO]]
    for result in results:
        row = [result["precision"], str(result["beam_size"]), str(result["lines"])]
        for side in SIDES:
            row += _seconds(result["seconds"][side])
        medians = [result["seconds"][side]["median"] for side in SIDES]
        rows.append([*row, _ratio(medians)])
    return rows


def _heads(columns: Sequence[str]) -> list[str]:
    """Headings of each side's columns; its first has the side's name."""
    return [
        name if at else f"{side} {name}".strip()
        for side in SIDES
        for at, name in enumerate(columns)
    ]


def _ratio(medians: Sequence[float]) -> str:
    return f"{medians[0] / medians[1]:.2f}"


def _rate(rates: Tree) -> list[str]:
    return [f"{rates['median']:,.0f}", f"{rates['min']:,.0f}-{rates['max']:,.0f}"]


def _seconds(values: Tree) -> list[str]:
    return [f"{values['median']:.3f}", f"{values['min']:.3f}-{values['max']:.3f}"]


def _threads(each: Tree) -> str:
    return f"{each['workers']}x{each['threads_each']}"


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns as wide as their widest cell; the first is aligned to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [each.rjust(width) for each, width in zip(row[1:], widths[1:], strict=True)]
        yield "  ".join(cells).rstrip()
