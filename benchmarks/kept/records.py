"""Line breaks, columns, targets: what the structure of a document or record must keep."""

import csv
import io
import json
import random
import re
from collections.abc import Iterator
from functools import partial

from benchmarks.kept.cases import DIRECTIONS, Case, family, po, srt
from benchmarks.kept.words import parallel, sentences


def _lines_kept(format: str, texts: list[str], output: str) -> Iterator[str]:
    """Yield fields whose line breaks have changed."""
    if format == "jsonl":
        found = [json.loads(line)["text"] for line in output.splitlines()]
    else:
        found = [row["text"] for row in csv.DictReader(io.StringIO(output))]
    shapes = [[re.sub(r"[^\n]+", "x", text) for text in side] for side in (texts, found)]
    if shapes[0] != shapes[1]:
        yield f"line breaks {shapes[0]} became {shapes[1]}"


@family
def fields_with_lines(chance: random.Random) -> Iterator[Case]:
    """JSON lines and CSV whose fields have line breaks and blank lines."""
    for direction in DIRECTIONS:
        for number in range(30):
            parts = list(map(str, sentences(direction, 6, chance)))
            breaks = [chance.choice(["\n", "\n\n", "\n"]) for _ in range(4)]
            texts = [breaks[0].join(parts[:2]), breaks[1].join(parts[2:5]) + breaks[2], parts[5]]
            if number % 2:
                rows = [{"id": n, "text": text} for n, text in enumerate(texts)]
                source = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            else:
                table = io.StringIO()
                csv.writer(table, lineterminator="\n").writerows(
                    [["id", "text"], *([str(n), text] for n, text in enumerate(texts))]
                )
                source = table.getvalue()
            format = "jsonl" if number % 2 else "csv"
            check = partial(_lines_kept, format, texts)
            yield Case(direction, format, source, tuple(parts), check=check)


@family
def broken_lines(chance: random.Random) -> Iterator[Case]:
    """Line breaks in messages, subtitles, HTML and Markdown."""
    for direction in DIRECTIONS:
        for number in range(24):
            texts = list(map(str, sentences(direction, 2, chance)))
            format = ("po", "srt", "html", "markdown")[number % 4]
            if format == "po":
                source = po(["\n".join(texts) + chance.choice(["", "\n"])])
            elif format == "srt":
                source = srt(["\n".join(f"- {text}" for text in texts)])
            elif format == "html":
                source = f"<p>{texts[0]}<br>{texts[1]}</p>\n"
            else:
                source = chance.choice(["  \n", "\\\n"]).join(texts) + "\n"
            keep = {"html": ("<br>",), "markdown": ("\n",), "srt": ("- ", "\n- ")}.get(format, ())
            yield Case(direction, format, source, tuple(texts), keep)


@family
def columns(chance: random.Random) -> Iterator[Case]:
    """Leading white space, tabs and columns of plain text."""
    options = [
        "  -l, --list        ",
        "  -n NUM            ",
        "\t",
        "    ",
        " * ",
        "\t\t- ",
        "  1. ",
    ]
    gaps = ["\t", "      ", "\t\t", "   "]
    for direction in DIRECTIONS:
        texts = list(map(str, sentences(direction, 45, chance)))
        for text in texts[:20]:
            prefix = chance.choice(options)
            yield Case(
                direction, "text", f"{prefix}{text}\n", (text,), check=partial(_begins, prefix)
            )
        for left, right in zip(texts[20:32], texts[32:44], strict=True):
            gap = chance.choice(gaps)
            source = f"{left}{gap}{right}\n"
            yield Case(direction, "text", source, (left, right), (f".{gap}",))


def _begins(prefix: str, output: str) -> Iterator[str]:
    if not output.startswith(prefix):
        yield f"does not begin with {prefix!r}"


@family
def wiki_links(chance: random.Random) -> Iterator[Case]:
    """Wiki links in Markdown: the target stays, the label and the text are translated."""
    targets = parallel("""
        Página inicial = Home page
        Minha casa = My house
        Lista de livros = List of books
        Cidade grande = Big city
        Ajuda = Help
    """)
    for direction in DIRECTIONS:
        for number, sentence in enumerate(sentences(direction, 30, chance)):
            target = chance.choice(targets[direction])
            link = f"[[{target}|{{}}]]"
            if number % 3 == 0:
                link = f"{{}} [[{target}]]"
            elif number % 3 == 1:
                link = f"[[{target}#{target}|{{}}]]"
            keep = (f"[[{target}",)
            yield Case(direction, "markdown", f"{sentence.marked(link)}\n", (str(sentence),), keep)


def _anchors(output: str) -> Iterator[str]:
    """Yield links of Markdown to a heading that is not there (GitHub's anchors)."""
    anchors = set(re.findall(r'(?:\{#|id="|name=")([^"}]+)', output))
    for heading in re.findall(r"(?m)^#+ (.*)$", output):
        slug = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        number = sum(anchor == slug or anchor.startswith(f"{slug}-") for anchor in anchors)
        anchors.add(f"{slug}-{number}" if slug in anchors else slug)
    for target in re.findall(r"\]\(#([^)]+)\)", output):
        if target not in anchors:
            yield f"no heading for #{target}: {sorted(anchors)}"


@family
def heading_anchors(chance: random.Random) -> Iterator[Case]:
    """Markdown whose links go to its headings, some of which occur twice."""
    headings = parallel("""
        Instalação = Installation
        Configurações avançadas = Advanced settings
        Como abrir a porta = How to open the door
        Perguntas e respostas = Questions and answers
        Página inicial = Home page
        A casa azul = The blue house
        Ajuda = Help
        1. Introdução = 1. Introduction
        O que é novo? = What is new?
        Preços = Prices
    """)
    for direction in DIRECTIONS:
        for number in range(20):
            chosen = chance.sample(headings[direction], 3)
            if number % 5 == 0:
                chosen.append(chosen[0])
            slugs = [re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in chosen]
            if number % 5 == 0:
                slugs[-1] += "-1"
            links = [f"- [{text}](#{slug})" for text, slug in zip(chosen, slugs, strict=True)]
            bodies = list(map(str, sentences(direction, len(chosen), chance)))
            parts = [f"## {text}\n\n{body}" for text, body in zip(chosen, bodies, strict=True)]
            source = "\n\n".join(["\n".join(links), *parts]) + "\n"
            yield Case(direction, "markdown", source, tuple(bodies), check=_anchors)
