"""Words that touch a placeholder, a tag or a mark."""

import random
from collections.abc import Iterator

from benchmarks.kept.cases import DIRECTIONS, Case, family, po, srt
from benchmarks.kept.words import parallel, sentences

# Messages, each with its words as a sentence without placeholders.
_MESSAGES = parallel("""
    Página%d ~ Página = Page%d ~ Page
    Velocidade: %dkm/h ~ Velocidade = Speed: %dkm/h ~ Speed
    Tamanho: %dMB ~ Tamanho = Size: %dMB ~ Size
    Tamanho %dMB de %dMB ~ Tamanho = Size %dMB of %dMB ~ Size
    A imagem tem {w}x{h} pixels ~ A imagem = Image is {w}x{h} pixels ~ Image
    Usuário{name} enviou um arquivo ~ O usuário enviou = User{name} sent a file ~ The user sent
    Carregando%s ~ Carregando = Loading%s ~ Loading
    Salvando%s ~ Salvando = Saving%s ~ Saving
    Preço:%s ~ Preço = Price:%s ~ Price
    %sarquivo ~ arquivo = %sfile ~ file
    Arquivo{n} ~ Arquivo = File{n} ~ File
    Mensagem[%d] ~ Mensagem = Message[%d] ~ Message
    Erro(%s) ~ Erro = Error(%s) ~ Error
    Erro%d: o livro é novo ~ O livro é novo. = Error%d: the book is new ~ The book is new.
    Rua{number} ~ Rua = Street{number} ~ Street
    O livro{title} está aqui ~ O livro está aqui. = The book{title} is here ~ The book is here.
    Nome:{name} ~ Nome = Name:{name} ~ Name
    Abrir a pasta%1$s ~ Abrir a pasta = Open the folder%1$s ~ Open the folder
    %(count)dmensagens ~ mensagens = %(count)dmessages ~ messages
    Pasta{{name}} ~ Pasta = Folder{{name}} ~ Folder
""")


_SHORT = parallel("""
    Olá = Hello
    Bom dia = Good morning
    Obrigado = Thank you
    Boa noite = Good night
    Onde você está? = Where are you?
    Espere aqui = Wait here
""")


@family
def touching_po(chance: random.Random) -> Iterator[Case]:
    """Placeholders of messages without a space beside them."""
    for direction in DIRECTIONS:
        for message, bare in (row.split(" ~ ") for row in _MESSAGES[direction]):
            yield Case(direction, "po", po([message]), (bare,))
        for sentence in sentences(direction, 10, chance):
            mark = chance.choice(["{}%s", "{}{n}", "%d{}", "{}%(x)s", "{{{{x}}}}{}"])
            message = sentence.marked(noun=mark.replace("{{{{x}}}}", "{{x}}"))
            yield Case(direction, "po", po([message]), (str(sentence),))


@family
def touching_text(chance: random.Random) -> Iterator[Case]:
    """The same in plain lines."""
    for direction in DIRECTIONS:
        for message, bare in (row.split(" ~ ") for row in _MESSAGES[direction]):
            yield Case(direction, "text", f"{message}\n", (bare,))
        for sentence in sentences(direction, 10, chance):
            mark = chance.choice(["{}%s", "{}{n}", "{}[1]", "{}[^1]", "{}&nbsp;", "<i>{}"])
            yield Case(direction, "text", f"{sentence.marked(noun=mark)}\n", (str(sentence),))


@family
def touching_html(chance: random.Random) -> Iterator[Case]:
    """Placeholders of templates, entities and empty elements beside words."""
    marks = [
        "{}{{x}}",
        "{{x}}{}",
        "{}&nbsp;",
        "{}<br>",
        "<img src='a.png'>{}",
        "{}<wbr>",
        "{}&mdash;",
    ]
    for direction in DIRECTIONS:
        for sentence in sentences(direction, 30, chance):
            text = sentence.marked(noun=chance.choice(marks))
            keep = tuple(part for part in ("{{x}}",) if part in text)
            yield Case(direction, "html", f"<p>{text}</p>\n", (str(sentence),), keep)


@family
def touching_markdown(chance: random.Random) -> Iterator[Case]:
    """Footnote marks, code, images and line breaks beside words, also in tables and lists."""
    marks = ["{}[^1]", "{}[^1]", "{}`x`", "{}![](a.png)", "{}<br>", "{}<sup>1</sup>"]
    frames = ["{}\n", "- {}\n", "> {}\n", "# {}\n", "| A1 | B1 |\n|---|---|\n| 1 | {} |\n"]
    for direction in DIRECTIONS:
        for sentence in sentences(direction, 30, chance):
            text = sentence.marked(**{chance.choice(["noun", "adjective"]): chance.choice(marks)})
            source = chance.choice(frames).replace("{}", text)
            if "[^1]" in text:
                source += "\n[^1]: http://a.org\n"
            yield Case(direction, "markdown", source, (str(sentence),))


@family
def touching_srt(chance: random.Random) -> Iterator[Case]:
    """Subtitles with one unpaired tag, a hard space or a position; 50 in each direction."""
    marks = ["<i>{}", "{}</i>", "&nbsp;{}", "{\\an8}{}", "{}\\h", "<b>{}", "{}</font>", "-{}<i>"]
    for direction in DIRECTIONS:
        lines = _SHORT[direction] + list(map(str, sentences(direction, 44, chance)))
        for line in lines:
            mark = chance.choice([*marks, "space"])
            text = line.replace(" ", "\\h", 1) if mark == "space" else mark.replace("{}", line)
            yield Case(direction, "srt", srt([text]), (line,))


@family
def marks_in_words(chance: random.Random) -> Iterator[Case]:
    """Superscripts and subscripts after words, in formulas and units."""
    formulas = parallel("""
        A área é 10 <>. = The area is 10 <>.
        O professor escreveu <>. = The teacher wrote <>.
    """)
    cities = {
        "pt-en": "Ele mora em {} e trabalha em {}.",
        "en-pt": "He lives in {} and works in {}.",
    }
    names = [
        ("Recife", "Salvador"),
        ("Paris", "Recife"),
        ("Madrid", "Recife"),
        ("Salvador", "Paris"),
    ]
    marks = ["<sup>[{n}]</sup>", "<sup>{n}</sup>", "<sup>*</sup>", "<sub>{n}</sub>"]
    marks += ['<sup><a href="#n{n}">[{n}]</a></sup>']
    for direction in DIRECTIONS:
        for frame in formulas[direction]:
            for formula in ("m<sup>2</sup>", "CO<sub>2</sub>", "H<sub>2</sub>O", "x<sup>2</sup>"):
                source = frame.replace("<>", formula)
                yield Case(direction, "html", f"<p>{source}</p>\n", keep=(formula,))
        for pair in names:
            signs = [chance.choice(marks).replace("{n}", str(number)) for number in (1, 2)]
            kept = tuple(name + sign for name, sign in zip(pair, signs, strict=True))
            source, bare = (cities[direction].replace("{}", "%s") % words for words in (kept, pair))
            yield Case(direction, "html", f"<p>{source}</p>\n", (bare,), kept)
        for sentence in sentences(direction, 22, chance):
            sign = chance.choice(marks).replace("{n}", str(chance.randint(1, 30)))
            text = sentence.marked(**{chance.choice(["noun", "adjective"]): "{}" + sign})
            yield Case(direction, "html", f"<p>{text}</p>\n", (str(sentence),), (sign,))


@family
def named_placeholders(chance: random.Random) -> Iterator[Case]:
    """Placeholders whose names are words of the source language."""
    names = parallel("""
        nome_do_arquivo = file_name
        usuario = user
        mensagem = message
        total_de_paginas = total_pages
        cidade = city
        preço = price
    """)
    frames = parallel("""
        Erro ao abrir {}: {} ~ Erro ao abrir = Error opening {}: {} ~ Error
        O usuário {} enviou uma mensagem. ~ O usuário = User {} sent a message. ~ User
        Salve o arquivo {} na pasta {}. ~ Salve o arquivo. = Save the file {} in {}. ~ Save it.
        Olá, {}! Você tem {} mensagens. ~ mensagens = Hello, {}! You have {} messages. ~ messages
        O preço é {} ~ O preço = The price is {} ~ The price
    """)
    shapes = ["{{}}", "${{}}", "%({})s", "{{{}}}", "%{{}}"]
    for direction in DIRECTIONS:
        for number in range(30):
            frame, bare = frames[direction][number % 5].split(" ~ ")
            shape = chance.choice(shapes)
            kept = [shape.replace("{}", name) for name in chance.sample(names[direction], 2)]
            source = frame.replace("{}", kept[0], 1).replace("{}", kept[1])
            format = chance.choice(["text", "po", "markdown", "html"])
            document = po([source]) if format == "po" else f"{source}\n"
            document = f"<p>{source}</p>\n" if format == "html" else document
            yield Case(direction, format, document, (bare,), tuple(kept[: frame.count("{}")]))


@family
def footnotes(chance: random.Random) -> Iterator[Case]:
    """Markdown footnotes, their definitions in a row, and abbreviations in a row."""
    for direction in DIRECTIONS:
        for _ in range(30):
            texts = list(map(str, sentences(direction, chance.randint(2, 4), chance)))
            names = chance.sample(["1", "2", "3", "nota", "a-b", "10"], len(texts))
            if chance.random() < 0.3:
                head, *rest = texts
                names = chance.sample(["HTML", "CSS", "USB", "PDF"], len(rest))
                rows = [f"*[{name}]: {text}" for name, text in zip(names, rest, strict=True)]
                source = "\n".join([head, "", *rows, ""])
            else:
                marks = "".join(f"[^{name}]" for name in names[1:])
                rows = [f"[^{name}]: {text}" for name, text in zip(names, texts, strict=True)]
                source = "\n".join([f"{names[0]}[^{names[0]}] {marks}", "", *rows, ""])
            yield Case(direction, "markdown", source, tuple(texts))
