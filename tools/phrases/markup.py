"""Sentences with addresses, placeholders, tags, code and numbers that a translation must keep.

The contents are random, so that a model learns to copy whatever is there.
"""

import random
import re

Pair = tuple[str, str]

COUNT, SEED = 12000, 1
_WORDS = (
    "sol", "lua", "casa", "rio", "flor", "mesa", "porto", "livro", "gato", "pedra", "blog", "news",
    "shop", "data", "user", "file", "name", "path", "home", "list", "item", "page", "code", "test",
    "main", "docs", "help", "info", "mail", "city", "date", "time", "count", "total", "title",
    "status", "index", "order", "report", "image", "value", "email", "address", "message",
    "version", "product", "customer",
)  # fmt: skip
_ONSETS, _NUCLEI, _CODAS = "bcdfghjklmnprstvwxz", "aeiou", ("", "", "", "n", "r", "s", "x", "t")
_COMMANDS = ("git", "ls", "cd", "npm", "pip", "make", "docker", "ssh", "curl", "grep", "find")


def filled(templates: list[Pair]) -> list[Pair]:
    """COUNT pairs, less repeats, from templates with marks in the same order on both sides."""
    chance = random.Random(SEED)
    made = (_filled(chance, chance.choice(templates)) for _ in range(COUNT))
    return list(dict.fromkeys(made))


def _filled(chance: random.Random, template: Pair) -> Pair:
    contents = [_MAKERS[mark](chance) for mark in _MARK.findall(template[0])]

    def fill(side: str) -> str:
        left = iter(contents)
        return _MARK.sub(lambda mark: next(left), side)

    return fill(template[0]), fill(template[1])


def _url(chance: random.Random) -> str:
    host = chance.choice(("www.", "docs.", "")) + _name(chance, "-")
    host += chance.choice((".com", ".org", ".com.br", ".pt", ".net", ".io"))
    path = "".join(f"/{_name(chance, '-')}" for _ in range(chance.randrange(3)))
    if path:
        ends = ("", "/", ".html", f"?id={_number(chance)}", f"#{_word(chance)}-{_version(chance)}")
        path += chance.choice(ends)
    return chance.choice(("https://", "https://", "http://", "")) + host + path


def _name(chance: random.Random, joint: str) -> str:
    return joint.join(_word(chance) for _ in range(chance.choice((1, 1, 2))))


def _word(chance: random.Random) -> str:
    """A known word or an invented one, so that a model learns to copy letter by letter."""
    if chance.random() < 0.5:
        return chance.choice(_WORDS)
    if chance.random() < 0.2:
        return f"{chance.randrange(16**8):08x}"[: chance.choice((4, 6, 8))]
    syllables = (
        chance.choice(_ONSETS) + chance.choice(_NUCLEI) + chance.choice(_CODAS)
        for _ in range(chance.randint(1, 4))
    )
    return "".join(syllables)


def _mail(chance: random.Random) -> str:
    return f"{_name(chance, '.')}@{_name(chance, '-')}{chance.choice(('.com', '.org', '.com.br'))}"


def _field(chance: random.Random) -> str:
    form = chance.choice(("{{{}}}", "{{{}}}", "{{{{{}}}}}", "%({})s", "${{{}}}", "%{{{}}}"))
    pattern = "-".join("x" * chance.choice((2, 4, 4, 8)) for _ in range(chance.randint(1, 5)))
    inside = (_name(chance, "_"), _name(chance, "-"), str(chance.randrange(4)), pattern)
    return form.format(chance.choice(inside))


def _format(chance: random.Random) -> str:
    return chance.choice(("%s", "%s", "%d", "%1$s", "%2$s", "%.2f", "%i", "%@", "%d%%"))


def _variable(chance: random.Random) -> str:
    name = _name(chance, "_").upper()
    return chance.choice((f"${name}", f"${name}", f"${{{name}}}", f"${name}/{_name(chance, '-')}"))


def _code(chance: random.Random) -> str:
    name, command = _name(chance, "_"), chance.choice(_COMMANDS)
    forms = (
        f"{command} {_name(chance, '-')}",
        f"{command} --{_name(chance, '-')}",
        f"{name}()",
        f"{name}.{_name(chance, '_')}",
        f"{name} = {_number(chance)}",
        f"{name}.py",
    )
    return f"`{chance.choice(forms)}`"


def _identifier(chance: random.Random) -> str:
    parts = [_word(chance) for _ in range(chance.randint(2, 3))]
    forms = (
        "_".join(parts).upper(),
        "_".join(parts),
        "".join(each.capitalize() for each in parts),
        parts[0] + "".join(each.capitalize() for each in parts[1:]),
        f"{parts[0].capitalize()}::{parts[1]}()",
        f"{parts[0]}.{parts[1]}",
        f"{parts[0].capitalize()}::${parts[1]}{_word(chance).capitalize()}",
    )
    return chance.choice(forms)


def _number(chance: random.Random) -> str:
    return str(chance.randrange(10 ** chance.randint(1, 5)))


def _version(chance: random.Random) -> str:
    return ".".join(str(chance.randrange(20)) for _ in range(chance.choice((2, 3))))


_MAKERS = {
    "URL": _url,
    "MAIL": _mail,
    "NAME": _field,
    "FORMAT": _format,
    "VARIABLE": _variable,
    "CODE": _code,
    "NUMBER": _number,
    "VERSION": _version,
    "SYMBOL": _identifier,
}
_MARK = re.compile("|".join(_MAKERS))
