"""Strings of programs: ICU messages, accelerators, ellipses."""

import random
import re
from collections.abc import Iterator
from functools import partial

from benchmarks.kept.cases import DIRECTIONS, Case, family, po
from benchmarks.kept.checks import messages
from benchmarks.kept.words import parallel

_NOUNS = parallel("""
    arquivo arquivos = file files
    mensagem mensagens = message messages
    página páginas = page pages
    livro livros = book books
    casa casas = house houses
    carro carros = car cars
    imagem imagens = picture pictures
    pasta pastas = folder folders
""")
# Messages with <one> and <many> of a noun, and after ~ the texts in them.
_ICU = {
    "pt-en": """
{n, plural, one {# <one>} other {# <many>}} ~ <one> ~ <many>
Você tem {n, plural, =0 {nenhum} one {# <one>} other {# <many>}} na mesa. ~ <many> ~ na mesa
{g, select, female {Ela viu <many>} male {Ele viu <many>} other {Eles viram <many>}} \
~ Ela viu <many>. ~ Ele viu <many>. ~ Eles viram <many>.
{n, selectordinal, one {#ª <one>} other {#ª <one>}} ~ <one> ~ <one>
{g, select, female {{n, plural, one {Ela tem # <one>} other {Ela tem # <many>}}} \
other {{n, plural, one {Tem # <one>} other {Tem # <many>}}}} ~ <one> ~ <many> ~ <one> ~ <many>
Preço: {p, number, currency} em {d, date, short} ~ Preço
Olá {name}, <one> está aqui. ~ <one> está aqui.
""",
    "en-pt": """
{n, plural, one {# <one>} other {# <many>}} ~ <one> ~ <many>
You have {n, plural, =0 {nothing} one {# <one>} other {# <many>}} on the table. \
~ <many> ~ on the table
{g, select, female {She saw <many>} male {He saw <many>} other {They saw <many>}} \
~ She saw <many>. ~ He saw <many>. ~ They saw <many>.
{n, selectordinal, one {#st <one>} two {#nd <one>} few {#rd <one>} other {#th <one>}} \
~ <one> ~ <one> ~ <one> ~ <one>
{g, select, female {{n, plural, one {She has # <one>} other {She has # <many>}}} \
other {{n, plural, one {They have # <one>} other {They have # <many>}}}} \
~ <one> ~ <many> ~ <one> ~ <many>
Price: {p, number, currency} on {d, date, short} ~ Price
Hello {name}, the <one> is open. ~ The <one> is open.
""",
}


def _skeleton(message: str) -> str:
    """An ICU message without its texts, which are inside an even number of braces."""
    kept, depth = [], 0
    for character in message:
        depth += character == "{"
        if depth % 2 or character in "{}#":
            kept.append(character)
        depth -= character == "}"
    return " ".join("".join(kept).split())


def _icu(message: str, output: str) -> Iterator[str]:
    ((_, value),) = messages(output) or [("", "")]
    if _skeleton(message) != _skeleton(value):
        yield f"syntax {_skeleton(message)!r} became {_skeleton(value)!r}"


@family
def icu(chance: random.Random) -> Iterator[Case]:
    """ICU messages: plural, select, selectordinal, nested, and formats."""
    for direction in DIRECTIONS:
        for row in _ICU[direction].strip().splitlines():
            for noun in chance.sample(_NOUNS[direction], 5):
                one, many = noun.split()
                texts = row.replace("<one>", one).replace("<many>", many)
                message, *bare = map(str.strip, texts.split(" ~ "))
                yield Case(
                    direction, "po", po([message]), tuple(bare), check=partial(_icu, message)
                )


_CREDITS = "translator-credits"


def _accelerator(mark: str, output: str) -> Iterator[str]:
    ((_, value),) = messages(output) or [("", "")]
    if len(re.findall(rf"{mark}(?=\w)", value)) != 1:
        yield f"accelerator {mark}: {value!r}"


@family
def accelerators(chance: random.Random) -> Iterator[Case]:
    """Accelerators of menus, at the beginning and inside of words."""
    labels = parallel("""
        Abrir arquivo = Open File
        Salvar = Save
        Imprimir página = Print page
        Cancelar = Cancel
        Ajuda = Help
        Apagar mensagem = Delete message
        Fechar = Close
        Enviar arquivo = Send file
        Pesquisar = Search
        Configurações = Settings
        Nova página = New page
        Localizar e substituir = Find and Replace
    """)
    for direction in DIRECTIONS:
        for label in labels[direction]:
            for mark in "_&~":
                places = [m.start() for m in re.finditer(r"\w", label)]
                place = chance.choice([0, 0, chance.choice(places)])
                end = chance.choice(["", "", "...", ":"])
                message = label[:place] + mark + label[place:] + end
                check = partial(_accelerator, mark)
                yield Case(direction, "po", po([message]), (label,), check=check)
        yield Case(direction, "po", po([_CREDITS]), keep=(_CREDITS,))


def _dots(output: str) -> Iterator[str]:
    if not re.search(r"[^.…](…|\.\.\.)\s*$", output):
        yield "does not end with three dots"


def _begins_with_dots(output: str) -> Iterator[str]:
    if not re.match(r"(…|\.\.\.)[^.…]", output):
        yield "does not begin with three dots"


@family
def ellipses(chance: random.Random) -> Iterator[Case]:
    """Three dots, or one character of three, do not become two or four."""
    texts = parallel("""
        Carregando = Loading
        Salvando o arquivo = Saving the file
        Abrindo a pasta = Opening the folder
        Espere = Please wait
        Pesquisar = Search
        Abrir = Open
        Salvar como = Save as
        Enviando a mensagem = Sending the message
        Ela gosta da casa = She likes the house
        Imprimir = Print
        Mas o carro é novo = But the car is new
        Configurações = Settings
    """)
    for direction in DIRECTIONS:
        for text in texts[direction]:
            for dots in ("...", "…"):
                source = f"{text}{dots}"
                yield Case(direction, "text", f"{source}\n", (text,), check=_dots)
            yield Case(direction, "text", f"...{text}\n", (text,), check=_begins_with_dots)
