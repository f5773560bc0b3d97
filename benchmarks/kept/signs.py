"""Words inside or beside signs: brackets, quotes, capitals, invisible characters, escapes."""

import random
import re
from collections.abc import Iterator

from benchmarks.kept.cases import DIRECTIONS, Case, family
from benchmarks.kept.words import adjectives, parallel, sentences

_SIGNS = ["({})", '"{}"', "“{}”", "«{}»", "[{}]", "'{}'", "‘{}’", "*{}*", "**{}**"]


@family
def adjectives_in_signs(chance: random.Random) -> Iterator[Case]:
    """Adjectives inside an opening and a closing sign."""
    frames = parallel("""
        O carro {} é bom. = The car {} is good.
        O livro {} está aqui. = The book {} is here.
        O projeto é {}. = The project is {}.
    """)
    bare = {"pt-en": "Isto é {}.", "en-pt": "This is {}."}
    for direction in DIRECTIONS:
        for word in adjectives(direction):
            for sign in chance.sample(_SIGNS, 2):
                source = chance.choice(frames[direction]).replace("{}", sign.replace("{}", word))
                opening = (sign[0],) if sign[0] in "([" else ()
                sentence = bare[direction].replace("{}", word)
                yield Case(direction, "text", f"{source}\n", (sentence,), opening)


@family
def words_in_signs(chance: random.Random) -> Iterator[Case]:
    """Nouns, adjectives and whole sentences inside signs."""
    for direction in DIRECTIONS:
        for number, sentence in enumerate(sentences(direction, 45, chance)):
            sign = chance.choice(_SIGNS)
            source = (
                sentence.marked(noun=sign),
                sentence.marked(adjective=sign),
                sign.replace("{}", str(sentence)),
            )[number % 3]
            yield Case(direction, "text", f"{source}\n", (str(sentence),))


def _all_capitals(output: str) -> Iterator[str]:
    if output != output.upper():
        yield "not all capitals"


@family
def capitals(chance: random.Random) -> Iterator[Case]:
    """Capitals beside signs and numbers, and in the same line as lower case."""
    heads = {
        "pt-en": ["ATENÇÃO", "IMPORTANTE", "AJUDA", "ERRO"],
        "en-pt": ["WARNING", "IMPORTANT", "HELP", "ERROR"],
    }
    for direction in DIRECTIONS:
        for number, sentence in enumerate(sentences(direction, 48, chance)):
            text, head = str(sentence), chance.choice(heads[direction])
            loud = text.upper()
            forms = {
                f"{head} ({loud.rstrip('.')})": True,
                f"5.{number} {loud}": True,
                f"{head}: {text}": False,
                f"{loud.rstrip('.')}! {text}": False,
                f'"{loud}"': True,
                f"{head} - {loud}": True,
                f"{loud.rstrip('.')} [24/7]": True,
                sentence.marked(adjective=sentence.adjective.upper()): False,
            }
            source, loud_only = list(forms.items())[number % len(forms)]
            twice = f"{loud.rstrip('.')}! {text}" == source
            check = _all_capitals if loud_only else None
            yield Case(direction, "text", f"{source}\n", (text,) * (1 + twice), check=check)


@family
def short_capitals(chance: random.Random) -> Iterator[Case]:
    """Words of few letters in capitals are translated; acronyms stay."""
    words = parallel("""
        PARE = STOP
        SAIR = EXIT
        CASA = HOUSE
        NOVO = NEW
        AZUL = BLUE
        RUAS = ROADS
        SIM = YES
        AQUI = HERE
        HOJE = TODAY
        LIVRO = BOOK
        PORTA = DOOR
        PRETO = BLACK
        ÁGUA = WATER
        AJUDA = HELP
        NOME = NAME
    """)
    frames = parallel("""
        Abra o arquivo {}. = Open the {} file.
        O cabo {} é novo. = The {} cable is new.
        Ela leu a página {} ontem. = She read the {} page yesterday.
    """)
    acronyms = ["PDF", "USB", "HTML", "CSS", "HDMI", "JSON", "NASA", "SQL", "HTTP", "CPU"]
    for direction in DIRECTIONS:
        for word in words[direction]:
            source = word + chance.choice(["", "!", ".", ":"])
            yield Case(direction, "text", f"{source}\n", (word.lower(),), check=_all_capitals)
        for acronym in acronyms:
            frame = chance.choice(frames[direction])
            bare = (frame.replace("{}", "PDF"),)
            source = frame.replace("{}", acronym)
            yield Case(direction, "text", f"{source}\n", bare, (acronym,))
            yield Case(
                direction, "text", f"{source.upper()}\n", bare, (acronym,), check=_all_capitals
            )


@family
def invisible(chance: random.Random) -> Iterator[Case]:
    """Eight kinds of invisible characters inside words: translated as without them."""
    for direction in DIRECTIONS:
        for character in "\u00ad\u200b\u200c\u200d\u2060\ufeff\u200e\ufe0f":
            for sentence in sentences(direction, 5, chance):
                text = str(sentence)
                places = [m.start() for m in re.finditer(r"\B", text) if 0 < m.start() < len(text)]
                for place in sorted(chance.sample(places, 3), reverse=True):
                    text = text[:place] + character + text[place:]
                yield Case(direction, "text", f"{text}\n", (str(sentence),), same=True)


@family
def escapes(chance: random.Random) -> Iterator[Case]:
    """Escape sequences after and between sentences."""
    marks = ["\\n", "\\t", "\\r\\n", "\\n\\n", "\\\\", '\\"', "\\u00a0", "\\x1b[0m"]
    for direction in DIRECTIONS:
        for number in range(32):
            first, second = map(str, sentences(direction, 2, chance))
            mark = marks[number % len(marks)]
            forms = [
                f"{first}{mark}",
                f"{first}{mark}{second}",
                f"{mark}{first}",
                f"{first[:-1]}{mark}",
            ]
            form = number // len(marks)
            bare = (first, second) if form == 1 else (first,)
            yield Case(direction, "text", f"{forms[form]}\n", bare, (mark,))


@family
def slashes(chance: random.Random) -> Iterator[Case]:
    """Words with slashes are translated; paths, addresses and code stay."""
    choices = parallel("""
        vermelho/verde/azul = red/green/blue
        novo/velho = new/old
        aberto/fechado = open/closed
        carro/casa = car/house
        grande/pequeno = big/small
        preto/branco = black/white
        livro/caderno = book/notebook
        leite/café = milk/coffee
    """)
    frames = parallel("""
        A cor pode ser {}. = The color can be {}.
        Escolha {}. = Choose {}.
        {} = {}
        O produto ({}) está aqui. = The product ({}) is here.
    """)
    addresses = {"pt-en": "Abra o arquivo {} hoje.", "en-pt": "Open the file {} today."}
    paths = ["/home/ana/casa.txt", "src/main.py", "https://a.org/casa/azul", "C:\\livro\\porta"]
    paths += ["./run.sh", "and/or.md"]
    for direction in DIRECTIONS:
        for words in choices[direction]:
            for frame in chance.sample(frames[direction], 3):
                bare = tuple(words.split("/"))
                yield Case(direction, "text", f"{frame.replace('{}', words)}\n", bare, ("/",))
        for path in paths:
            source = addresses[direction].replace("{}", path)
            yield Case(direction, "text", f"{source}\n", keep=(path,))
