"""Everyday text in Portuguese and English, written for this project (CC0).

The openly licensed corpora are technical, and have hardly any greetings, signs, single words, times
of day or numbers in words: phrases.tsv.xz has such pairs and short lines of conversation, and this
module adds generated numbers, dates and times. greetings.tsv has the commonest fixed expressions,
which a model has to see often, and sentences.tsv.xz sentences of everyday speech, talks, stories
and news; more than half of them contain common words that the corpora lack (wordfreq 3.1).
talks.tsv.xz has sentences of public talks in European Portuguese, and general.tsv.xz sentences of
news, travel guides, science, history, talks and letters, and 4,600 everyday lines. daily.tsv.xz has
86,734 short lines: words, questions, commands, chat, times and dates. The last two were checked by
clean.py. A language model wrote most of these files for this purpose. None of it occurs in the test
sets of recipes/pt-en.toml or in benchmarks/everyday.tsv. templates.tsv has sentences around
addresses, placeholders, code and numbers, which markup.py fills in.

Each line has Portuguese, a tab, and English; lines that begin with "# " are headings. The large
files are compressed, as searches and editors had to read 13 MB otherwise: change one with
`xz -d FILE.xz`, an editor, and `xz FILE`.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from nmt_cli.text.lines import read_lines
from tools.phrasebook.numbers import english_ordinal, spelt
from tools.phrases.markup import filled

Pair = tuple[str, str]

FOLDER = Path(__file__).parent
DAYS = (
    ("segunda-feira", "Monday"), ("terça-feira", "Tuesday"), ("quarta-feira", "Wednesday"),
    ("quinta-feira", "Thursday"), ("sexta-feira", "Friday"), ("sábado", "Saturday"),
    ("domingo", "Sunday"),
)  # fmt: skip
MONTHS = (
    ("janeiro", "January"), ("fevereiro", "February"), ("março", "March"), ("abril", "April"),
    ("maio", "May"), ("junho", "June"), ("julho", "July"), ("agosto", "August"),
    ("setembro", "September"), ("outubro", "October"), ("novembro", "November"),
    ("dezembro", "December"),
)  # fmt: skip
_ORDINALS = (
    "primeiro", "segundo", "terceiro", "quarto", "quinto", "sexto", "sétimo", "oitavo", "nono",
    "décimo",
)  # fmt: skip
_SPANS = (
    ("minuto", "minute"), ("hora", "hour"), ("dia", "day"), ("semana", "week"),
    ("mês", "month"), ("ano", "year"),
)  # fmt: skip
_FEMININE = {"hora", "semana"}
# Lines of general.tsv.xz that are also in a development or test set. The file stays as it is, since
# each version of its 4.9 MB stays in every clone.
_IN_A_SET = {
    "Thank you very much.",
    "Will you marry me?",
    "A week has seven days.",
    "We're counting on you.",
    "it was on sale",
}


def sentences() -> list[Pair]:
    """The sentences, Portuguese first."""
    return list(_written("sentences.tsv.xz"))


def talks() -> list[Pair]:
    """The sentences of talks, European Portuguese first."""
    return list(_written("talks.tsv.xz"))


def general() -> list[Pair]:
    """The news, travel, science, history, talks and letters, Brazilian Portuguese first."""
    return [pair for pair in _written("general.tsv.xz") if pair[1] not in _IN_A_SET]


def daily() -> list[Pair]:
    """The everyday words, questions and statements, mostly Brazilian Portuguese first."""
    return list(_written("daily.tsv.xz"))


def greetings() -> list[Pair]:
    """The commonest expressions, as written, without final punctuation, and not capitalized."""
    written = list(_written("greetings.tsv"))
    bare = [(_bare(portuguese), _bare(english)) for portuguese, english in written]
    small = [(_small(portuguese), _small(english)) for portuguese, english in bare]
    return list(dict.fromkeys([*written, *bare, *small]))


def _bare(line: str) -> str:
    return line.rstrip(".!")


def _small(line: str) -> str:
    """The line without its first capital, unless that is the English "I"."""
    return line if re.match(r"I\b", line) else line[0].lower() + line[1:]


def phrases() -> list[Pair]:
    """The phrases, Portuguese first, without repeats."""
    marked = filled(list(_written("templates.tsv")))
    generated = (
        _written("phrases.tsv.xz"),
        marked,
        _numbers(),
        _days(),
        _dates(),
        _clock(),
        _spans(),
    )
    return list(dict.fromkeys(pair for group in generated for pair in group))


def _written(name: str) -> Iterator[Pair]:
    for line in read_lines(FOLDER / name):
        if not line.startswith("# "):
            portuguese, english = line.split("\t")
            yield portuguese, english


def _numbers() -> Iterator[Pair]:
    for number in [*range(101), *range(105, 1000, 35), *range(200, 1000, 100)]:
        yield spelt(number).pt, spelt(number).en
    for thousands in range(2, 13):
        yield f"{spelt(thousands).pt} mil", f"{spelt(thousands).en} thousand"
    for year in range(2001, 2031):
        yield f"dois mil e {spelt(year - 2000).pt}", f"two thousand and {spelt(year - 2000).en}"
    for place, ordinal in enumerate(_ORDINALS, start=1):
        yield ordinal, english_ordinal(place)
        yield f"o {ordinal} dia", f"the {english_ordinal(place)} day"
        yield f"{place}º lugar", f"{_with_suffix(place)} place"
    for amount in (1234, 2750, 10500, 48900, 125000, 3600000):
        grouped = f"{amount:,}"
        yield grouped.replace(",", "."), grouped
        yield f"{grouped.replace(',', '.')},50", f"{grouped}.50"
        yield f"{grouped.replace(',', '.')} habitantes", f"{grouped} inhabitants"
    for share in (5, 10, 12, 25, 30, 45, 60, 75, 90, 100):
        yield f"{share}% das pessoas", f"{share}% of the people"
        yield f"{share}% de desconto", f"{share}% off"
        yield f"Custa {share} euros.", f"It costs {share} euros."
        yield f"São {share} dólares.", f"That's {share} dollars."


def _days() -> Iterator[Pair]:
    for day, english in DAYS:
        masculine = day in {"sábado", "domingo"}
        last, following = ("passado", "próximo") if masculine else ("passada", "próxima")
        yield day, english
        yield f"Hoje é {day}.", f"Today is {english}."
        yield f"Amanhã é {day}.", f"Tomorrow is {english}."
        yield f"{'no' if masculine else 'na'} {day}", f"on {english}"
        yield f"{day} {last}", f"last {english}"
        yield f"{'no' if masculine else 'na'} {following} {day}", f"next {english}"
        yield f"tod{'os os' if masculine else 'as as'} {_plural(day)}", f"every {english}"
        yield f"{day} de manhã", f"{english} morning"
        yield f"{day} à noite", f"{english} night"


def _plural(day: str) -> str:
    return "-".join(part + "s" for part in day.split("-"))


def _dates() -> Iterator[Pair]:
    for place, (month, english) in enumerate(MONTHS):
        after, english_after = MONTHS[(place + 2) % 12]
        day, year = 3 + 2 * place, 1950 + 6 * place
        weekday, english_weekday = DAYS[place % 7]
        yield month, english
        yield f"em {month}", f"in {english}"
        yield f"em {month} de {year}", f"in {english} {year}"
        yield f"{day} de {month}", f"{english} {day}"
        yield f"1º de {month}", f"{english} 1st"
        yield f"em {day} de {month} de {year}", f"on {english} {day}, {year}"
        yield f"no dia {day} de {month}", f"on {english} {day}"
        yield f"{weekday}, {day} de {month}", f"{english_weekday}, {english} {day}"
        yield f"de {month} a {after}", f"from {english} to {english_after}"
        yield f"Nasci em {month} de {year}.", f"I was born in {english} {year}."
        yield f"Nasci em {year + 1}.", f"I was born in {year + 1}."
        yield f"Hoje é {day} de {month}.", f"Today is {english} {day}."
    for decade in range(1920, 2000, 10):
        yield f"nos anos {decade % 100}", f"in the {decade}s"


def _clock() -> Iterator[Pair]:
    for hour in range(1, 13):
        word, at = spelt(hour).en, "à" if hour == 1 else "às"
        feminine = {1: "uma", 2: "duas"}.get(hour, spelt(hour).pt)
        are = "É" if hour == 1 else "São"
        hours = "hora" if hour == 1 else "horas"
        yield f"{are} {feminine} {hours}.", f"It's {word} o'clock."
        yield f"{are} {feminine} e meia.", f"It's half past {word}."
        yield f"{are} {feminine} e dez.", f"It's ten past {word}."
        yield f"{at} {feminine} {hours}", f"at {word} o'clock"
        yield f"{at} {feminine} e meia", f"at half past {word}"
        yield f"{at} {feminine} da manhã", f"at {word} in the morning"
        yield f"{at} {hour}h", f"at {hour} o'clock"
        yield f"às {hour + 8}:{5 * hour % 60:02}", f"at {hour + 8}:{5 * hour % 60:02}"
        yield f"às {hour + 8}h{10 + hour}", f"at {hour + 8}:{10 + hour}"
        yield f"A reunião começa às {hour + 8}h30.", f"The meeting starts at {hour + 8}:30."
        yield (
            f"O ônibus sai às {hour + 8}h{20 + hour}.",
            f"The bus leaves at {hour + 8}:{20 + hour}.",
        )


def _spans() -> Iterator[Pair]:
    for number in (1, 2, 3, 5, 6, 10, 15, 20):
        for portuguese, english in _SPANS:
            if number > 1:
                portuguese = "meses" if portuguese == "mês" else portuguese + "s"
                english += "s"
            word = spelt(number).pt
            if portuguese.rstrip("s") in _FEMININE:
                word = {"um": "uma", "dois": "duas"}.get(word, word)
            count = spelt(number).en
            yield f"há {word} {portuguese}", f"{count} {english} ago"
            yield f"{word} {portuguese} atrás", f"{count} {english} ago"
            yield f"daqui a {word} {portuguese}", f"in {count} {english}"
            yield f"durante {word} {portuguese}", f"for {count} {english}"
            yield f"{number} {portuguese}", f"{number} {english}"


def _with_suffix(number: int) -> str:
    return f"{number}{dict(enumerate(('st', 'nd', 'rd'), start=1)).get(number, 'th')}"
