"""Count what a model keeps of numbers, words in brackets and quotes, and letters.

    python -m benchmarks.numbers_and_signs MODEL [--lines N] [--show N]

Of 100 lines with a number of each kind, how many have all its digits, and how many have it as the
language writes it (1,234.5 or 1.234,5); of 100 sentences, how many have their noun and adjective
bare, in brackets and in quotation marks; and of all translations, how many have a letter that
neither the source nor the language has. The lines are the same each time. Their frames are not in
tools/wrapped, of whose pairs models are trained.
"""

import argparse
import random
import re
import unicodedata
from collections.abc import Callable, Iterator

import nmt_cli
from benchmarks.kept.checks import digits
from benchmarks.kept.words import is_translated, parallel, sentences
from nmt_cli.search.translator import Translator

# A number as Portuguese and as English write it, the usual way first; others are right, too.
Forms = tuple[list[str], list[str]]

SIGNS = {"brackets": ["({})", "[{}]"], "quotes": ['"{}"', "“{}”", "«{}»", "'{}'"]}
LETTERS = {"pt": set("áàâãéêíóôõúüç"), "en": set("éèïçô")}
MONTHS = parallel("""
    janeiro = January
    março = March
    abril = April
    julho = July
    setembro = September
    dezembro = December
""")
# Frames of each kind, Portuguese = English.
FRAMES = {
    "integers": "O trem levou {} soldados. = The train took {} soldiers. | "
    "Contei {} pássaros no lago. = I counted {} birds on the lake.",
    "thousands": "O arquivo tem {} linhas. = The file has {} lines. | "
    "A ilha recebeu {} turistas. = The island received {} tourists.",
    "millions": "A empresa plantou {} árvores. = The company planted {} trees. | "
    "O site teve {} visitas. = The site had {} visits.",
    "decimals": "O muro tem {} metros de altura. = The wall is {} meters high. | "
    "A média foi de {} gols. = The average was {} goals.",
    "percentages": "A produção cresceu {} em maio. = Production grew {} in May. | "
    "Ele perdeu {} do peso. = He lost {} of his weight.",
    "money": "O casaco novo custa {}. = The new coat costs {}. | "
    "Ela ganhou {} na loteria. = She won {} in the lottery.",
    "times": "A loja fecha às {}. = The store closes at {}. | "
    "O médico chegou às {}. = The doctor arrived at {}.",
    "clock": "O filme começa às {}. = The movie begins at {}. | Chegada: {} = Arrival: {}",
    "dates": "A consulta foi marcada para {}. = The appointment was set for {}. | "
    "Emitido em {} = Issued on {}",
    "long dates": "O poeta nasceu em {}. = The poet was born on {}. | "
    "A estação abriu em {}. = The station opened on {}.",
    "years": "Em {}, o rio secou. = In {}, the river dried up. | "
    "O hotel foi construído em {}. = The hotel was built in {}.",
    "ordinals": "Esta é a minha {} viagem. = This is my {} trip. | "
    "Foi a {} vitória da equipe. = It was the team's {} victory.",
    "centuries": "A torre é do século {}. = The tower is from the {} century. | "
    "Viveram no século {}. = They lived in the {} century.",
    "ranges": "As crianças de {} anos podem entrar. = Children aged {} may enter. | "
    "Veja os itens {}. = See items {}.",
    "fractions": "Coloque {} do leite na panela. = Put {} of the milk in the pan. | "
    "Ele comeu {} do bolo. = He ate {} of the cake.",
    "phones": "Disque {} para falar com o gerente. = Dial {} to speak to the manager. | "
    "O telefone do hotel é {}. = The hotel's phone number is {}.",
    "versions": "Eu uso a versão {} no trabalho. = I use version {} at work. | "
    "A falha apareceu na versão {}. = The bug appeared in version {}.",
    "long numbers": "O código de barras é {}. = The bar code is {}. | "
    "A conta tem o número {}. = The account has the number {}.",
    "negative": "Ontem fez {} graus na montanha. = Yesterday it was {} degrees on the mountain. | "
    "O resultado foi {} pontos. = The result was {} points.",
    "units": "A mala pesa {} kg. = The suitcase weighs {} kg. | "
    "Faltam {} km até a fronteira. = It is {} km to the border.",
}  # fmt: skip


def grouped(value: int, decimals: str = "") -> Forms:
    english = f"{value:,}" + (f".{decimals}" if decimals else "")
    return [english.translate(str.maketrans(".,", ",."))], [english]


def same(text: str) -> Forms:
    return [text], [text]


def _digits(chance: random.Random, count: int) -> str:
    return "".join(chance.choices("0123456789", k=count))


def _percentage(chance: random.Random) -> Forms:
    number = grouped(chance.randint(2, 99), chance.choice(["", "5", "25", "8"]))
    return [f"{number[0][0]}%"], [f"{number[1][0]}%"]


def _money(chance: random.Random) -> Forms:
    sign, gap = chance.choice(["R$", "US$", "€", "£"]), " "  # English has no gap
    number = grouped(chance.randint(2, 99_999), chance.choice(["", "00", "50", _digits(chance, 2)]))
    pt, en = ([f"{sign}{gap}{side[0]}", f"{sign}{side[0]}"] for side in number)
    return pt, en[::-1]


def _time(chance: random.Random) -> Forms:
    hour, minute = chance.randint(2, 23), chance.randint(1, 59)
    noon, twelve = "p" if hour >= 12 else "a", (hour - 1) % 12 + 1
    english = [f"{twelve}:{minute:02} {noon}.m.", f"{twelve}:{minute:02} {noon}m"]
    clocks = [f"{hour}:{minute:02}", f"{hour:02}:{minute:02}"]
    return [f"{hour}h{minute:02}", *clocks], [*english, *clocks]


def _long_date(chance: random.Random) -> Forms:
    month, day, year = chance.randrange(6), chance.randint(2, 28), chance.randint(1800, 2030)
    pt, en = (MONTHS[direction][month] for direction in ("pt-en", "en-pt"))
    return [f"{day} de {pt} de {year}"], [f"{en} {day}, {year}", f"{day} {en} {year}"]


def _ordinal(chance: random.Random) -> Forms:
    number = chance.randint(2, 99)
    return [f"{number}ª", f"{number}.ª", f"{number}a"], [f"{number}{_suffix(number)}"]


def _suffix(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return "th" if number in (11, 12, 13) else ending


def _century(chance: random.Random) -> Forms:
    tens, units = ("", "X", "XX"), ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")
    number = chance.randint(2, 21)
    numeral = tens[number // 10] + units[number % 10]
    return [numeral, str(number)], [f"{number}{_suffix(number)}"]


def _range(chance: random.Random) -> Forms:
    first = chance.randint(2, 40)
    return same(f"{first}-{first + chance.randint(1, 30)}")


def _phone(chance: random.Random) -> Forms:
    shape = chance.choice(["({}) {}-{}", "+55 {} {}-{}", "{} {} {}"])
    return same(shape.format(_digits(chance, 2), _digits(chance, 4), _digits(chance, 4)))


KINDS: dict[str, Callable[[random.Random], Forms]] = {
    "integers": lambda chance: same(str(chance.randint(2, 999))),
    "thousands": lambda chance: grouped(chance.randint(1000, 999_999)),
    "millions": lambda chance: grouped(chance.randint(10**6, 10**9)),
    "decimals": lambda chance: grouped(
        chance.randint(2, 999), _digits(chance, chance.randint(1, 2))
    ),
    "percentages": _percentage,
    "money": _money,
    "times": _time,
    "clock": lambda chance: same(f"{chance.randint(10, 23)}:{chance.randint(10, 59)}"),
    "dates": lambda chance: same(
        chance.choice(["{0}/0{1}/{2}", "{2}-0{1}-{0}"]).format(
            chance.randint(10, 28), chance.randint(1, 9), chance.randint(1900, 2030)
        )
    ),
    "long dates": _long_date,
    "years": lambda chance: same(str(chance.randint(1500, 2040))),
    "ordinals": _ordinal,
    "centuries": _century,
    "ranges": _range,
    "fractions": lambda chance: same(f"{chance.randint(1, 4)}/{chance.randint(5, 9)}"),
    "phones": _phone,
    "versions": lambda chance: same(
        ".".join(str(chance.randint(0, 20)) for _ in range(chance.randint(2, 4)))
    ),
    "long numbers": lambda chance: same(_digits(chance, chance.randint(8, 16))),
    "negative": lambda chance: same(f"-{chance.randint(2, 60)}"),
    "units": lambda chance: grouped(chance.randint(2, 2000), _digits(chance, 1)),
}


def lines_of(kind: str, direction: str, count: int) -> Iterator[tuple[str, list[str]]]:
    """Lines of a kind, and the forms of their number of which a translation must have one."""
    chance = random.Random(f"{kind} {direction}")
    frames = [frame.split(" = ") for frame in FRAMES[kind].split(" | ")]
    side = direction == "en-pt"
    for _ in range(count):
        frame, forms = chance.choice(frames), KINDS[kind](chance)
        source = frame[side].replace("{}", forms[side][0]).replace(".m..", ".m.")
        yield source, forms[not side]


def keeps(translation: str, forms: list[str]) -> tuple[bool, bool]:
    """Whether a translation has the digits of one of the forms, and one of the forms itself."""
    text = translation.replace("\u00a0", " ").replace("−", "-").replace("–", "-")
    found = digits(text)
    written = any(re.search(rf"(?<!\w){re.escape(form)}(?!\w)", text) for form in forms)
    return written or any(digits(form) == found != [] for form in forms), written


def invented(source: str, translation: str, language: str) -> str:
    """The letters, and signs of broken text, that neither the source nor the language has."""
    known = {*source.casefold(), *LETTERS[language]}
    return "".join(
        sign
        for sign in unicodedata.normalize("NFC", translation).casefold()
        if sign not in known and not sign.isascii() and (sign.isalpha() or sign == "\ufffd")
    )


def words_right(
    translate: Callable[[list[str]], list[str]], direction: str, count: int
) -> Iterator[tuple[str, list[tuple[str, str]], int]]:
    """The name of each way to write words, the translations of its lines, and how many are right.

    A line is right if it has a translation of its noun and of its adjective, one of which is
    between the signs.
    """
    chosen = sentences(direction, count, random.Random(5))
    for name, signs in {"bare": ["{}"], **SIGNS}.items():
        sources = [
            sentence.marked(**{("noun", "adjective")[number % 2]: signs[number // 2 % len(signs)]})
            for number, sentence in enumerate(chosen)
        ]
        outputs = translate(sources)
        right = sum(
            all(is_translated(direction, word, output) for word in (line.noun, line.adjective))
            for line, output in zip(chosen, outputs, strict=True)
        )
        yield name, list(zip(sources, outputs, strict=True)), right


def main() -> None:
    """Translate the lines and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--lines", type=int, default=100, metavar="N", help="lines per kind")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="examples of each fault")
    options = parser.parse_args()
    with nmt_cli.open(options.model) as model:
        measure(model, options.lines, options.show)


def measure(model: Translator, count: int, show: int) -> None:
    """Print the tables of a model."""

    def translate(sources: list[str]) -> list[str]:
        return [result.text for result in model.translate(sources)]

    direction, language = "-".join(model.languages), model.languages[1]
    translations: list[tuple[str, str]] = []
    print(f"{direction}, {count} lines of each kind\n\n| numbers | digits kept | as written |")
    print("|---|---|---|")
    for kind in KINDS:
        rows = list(lines_of(kind, direction, count))
        outputs = translate([source for source, _ in rows])
        kept = [keeps(output, forms) for output, (_, forms) in zip(outputs, rows, strict=True)]
        print(f"| {kind} | {sum(a for a, _ in kept)} | {sum(b for _, b in kept)} |", flush=True)
        pairs = list(zip((source for source, _ in rows), outputs, strict=True))
        lost = [pair for pair, (_, written) in zip(pairs, kept, strict=True) if not written]
        _show(lost[:show])
        translations += pairs
    print("\n| words | right |\n|---|---|")
    for name, pairs, right in words_right(translate, direction, count):
        print(f"| {name} | {right} |", flush=True)
        translations += pairs
    strange = [pair for pair in translations if invented(*pair, language)]
    print(f"\ninvented characters: {len(strange)} of {len(translations)} translations")
    _show(strange[:show])


def _show(pairs: list[tuple[str, str]]) -> None:
    for pair in pairs:
        print("   ", *map(repr, pair))


if __name__ == "__main__":
    main()
