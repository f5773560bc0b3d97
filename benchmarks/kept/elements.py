"""Links and emphasis: elements that change places, siblings, capitals, accents, many tags."""

import random
import re
import unicodedata
from collections.abc import Iterator
from functools import partial

from benchmarks.kept.cases import DIRECTIONS, Case, family
from benchmarks.kept.words import Sentence, is_translated, parallel, sentences

_TAGS = [
    ("<a href='/{n}'>", "</a>"),
    ("<b>", "</b>"),
    ("<i>", "</i>"),
    ("<span class='c{n}'>", "</span>"),
]
_LABELS = parallel("""
    Produtos = Products
    Preços = Prices
    Nome = Name
    Senha = Password
    Cancelar = Cancel
    Imprimir = Print
    Ajuda = Help
    Notícias = News
    Endereço = Address
    Pesquisar = Search
    Configurações = Settings
    Página = Page
    azul = blue
    verde = green
    amarelo = yellow
    vermelho = red
    Salvar arquivo = Save file
    Abrir pasta = Open folder
    Livros = Books
    Música = Music
    Carros = Cars
    Casas = Houses
    Mensagens = Messages
    Documentação = Documentation
""")


def _two_elements(sentence: Sentence, chance: random.Random) -> str:
    """The sentence with elements around its noun and its adjective."""
    marks = []
    for number in (1, 2):
        start, end = chance.choice(_TAGS)
        marks.append(start.replace("{n}", str(number)) + "{}" + end)
    return sentence.marked(*marks)


@family
def two_elements(chance: random.Random) -> Iterator[Case]:
    """Sentences with two elements, in which the words change places; 40 in each direction."""
    for direction in DIRECTIONS:
        for sentence in sentences(direction, 40, chance):
            source = f"<p>{_two_elements(sentence, chance)}</p>\n"
            yield Case(direction, "html", source, (str(sentence),))


@family
def one_element(chance: random.Random) -> Iterator[Case]:
    """Sentences with one element around the noun, or around both words."""
    for direction in DIRECTIONS:
        for number, sentence in enumerate(sentences(direction, 40, chance)):
            start, end = chance.choice(_TAGS)
            text = sentence.marked("".join([start.replace("{n}", "1"), "{}", end]))
            if number % 4 == 0:
                frame = re.sub(r"\{\w+\} \{\w+\}", rf"{start}\g<0>{end}", sentence.frame)
                text = Sentence(frame, sentence.noun, sentence.adjective).marked()
            yield Case(direction, "html", f"<p>{text}</p>\n", (str(sentence),))


def _inside(direction: str, words: tuple[str, ...], output: str) -> Iterator[str]:
    """Yield elements that do not hold the translation of what they held."""
    found = re.findall(r"<a href='(\d)'>(.*?)</a>", output)
    contents = {int(number): re.sub(r"<[^>]*>", "", content) for number, content in found}
    for number, word in enumerate(words, start=1):
        content = contents.get(number, "")
        if not is_translated(direction, word, content):
            yield f"{word!r} became {content!r}"


@family
def own_words(chance: random.Random) -> Iterator[Case]:
    """Whether each of two links holds the translation of its own word, not only letters."""
    for direction in DIRECTIONS:
        for sentence in sentences(direction, 40, chance):
            text = sentence.marked("<a href='1'>{}</a>", "<a href='2'>{}</a>")
            check = partial(_inside, direction, (sentence.noun, sentence.adjective))
            yield Case(direction, "html", f"<p>{text}</p>\n", (str(sentence),), check=check)


@family
def siblings(chance: random.Random) -> Iterator[Case]:
    """Menus, labels and tag lists: elements without text between them are separate texts."""
    frames = {
        "<nav>{}</nav>": "<a href='/{n}'>{}</a>",
        "<p>{}</p>": "<span class='tag'>{}</span>",
        "<form>{}</form>": "<label for='f{n}'>{}</label> <input id='f{n}'>",
        "<ul><li>{}</li></ul>": "<a href='/{n}'><b>{}</b></a>",
        "<div>{}</div>": "<button>{}</button>",
        "<td>{}</td>": "<em>{}</em>",
    }
    for direction in DIRECTIONS:
        labels = _LABELS[direction]
        for number in range(30):
            frame, element = list(frames.items())[number % len(frames)]
            texts = chance.sample(labels, chance.randint(2, 6))
            made = [
                element.replace("{n}", str(place)).replace("{}", text)
                for place, text in enumerate(texts)
            ]
            source = frame.replace("{}", chance.choice([" ", "\n  ", ""]).join(made))
            yield Case(direction, "html", f"{source}\n", tuple(texts))


@family
def capitals_with_elements(chance: random.Random) -> Iterator[Case]:
    """Sentences in capitals with one or two elements."""
    for direction in DIRECTIONS:
        for number, sentence in enumerate(sentences(direction, 30, chance)):
            loud = Sentence(
                re.sub(
                    r"\{\w+\}|[^{]",
                    lambda part: part[0] if "{" in part[0] else part[0].upper(),
                    sentence.frame,
                ),
                sentence.noun.upper(),
                sentence.adjective.upper(),
            )
            text = _two_elements(loud, chance) if number % 2 else loud.marked("<b>{}</b>")
            tag = chance.choice(["p", "h1"])
            yield Case(direction, "html", f"<{tag}>{text}</{tag}>\n", (str(sentence),))


@family
def decomposed_accents(chance: random.Random) -> Iterator[Case]:
    """Portuguese with decomposed accents (NFD), in elements and in plain lines."""
    texts = [
        "A <b>instalação</b> é <i>rápida</i>.",
        "Não há <b>configurações</b>; verifique a <i>conexão</i>.",
        "A <a href='/'>informação</a> está na <b>página</b>.",
        "O <b>médico</b> comprou um <i>relógio</i> novo.",
        "Minha <b>mãe</b> escreveu para o <i>irmão</i>.",
        "A <i>música</i> é muito <b>útil</b>.",
        "O <b>avião</b> é <i>rápido</i>.",
        "A <b>documentação</b> não é <a href='/'>difícil</a>.",
        "Abra as <b>configurações</b> da <i>página</i>.",
        "O <a href='/'>usuário</a> apagou o <b>botão</b>.",
    ]
    for text in texts:
        bare = re.sub("<[^>]*>", "", text)
        forms = [f"<p>{text}</p>", f"<p><b>{bare}</b></p>", f"<li>{text}</li>"]
        for form in forms:
            yield Case("pt-en", "html", unicodedata.normalize("NFD", form) + "\n", (bare,))
        yield Case("pt-en", "text", unicodedata.normalize("NFD", bare) + "\n", (bare,), same=True)


@family
def markdown_elements(chance: random.Random) -> Iterator[Case]:
    """Two marks of Markdown in a sentence: links, emphasis, alternative texts."""
    marks = ["[{}](/{n})", "**{}**", "*{}*", "[**{}**](/{n})", "[{}][{n}]", "_{}_"]
    for direction in DIRECTIONS:
        for sentence in sentences(direction, 40, chance):
            chosen = [chance.choice(marks).replace("{n}", str(number)) for number in (1, 2)]
            source = f"{sentence.marked(*chosen)}\n"
            if chance.random() < 0.2:
                source = f"[![{sentence}](s.svg)](u) ![{sentence.noun}](a.png)\n"
            source += "".join(f"\n[{n}]: /{n}\n" for n in (1, 2) if f"][{n}]" in source)
            bare = (str(sentence), sentence.noun) if "svg" in source else (str(sentence),)
            yield Case(direction, "markdown", source, bare)


@family
def many_tags(chance: random.Random) -> Iterator[Case]:
    """Up to 800 elements in a paragraph, of sentences or of words; 20 s each."""
    for direction in DIRECTIONS:
        for count in (100, 400, 800):
            texts = sentences(direction, 200, chance)
            marked = [chance.choice(texts) for _ in range(count)]
            source = " ".join(sentence.marked("<b>{}</b>") for sentence in marked)
            yield Case(direction, "html", f"<p>{source}</p>\n", tuple(map(str, marked)), seconds=20)
            labels = [chance.choice(_LABELS[direction]) for _ in range(count)]
            source = ", ".join(f"<a href='/{n}'>{text}</a>" for n, text in enumerate(labels))
            yield Case(direction, "html", f"<p>{source}</p>\n", seconds=20)
