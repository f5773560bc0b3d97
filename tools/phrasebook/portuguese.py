"""Portuguese inflection: plurals, agreement, contractions and conjugation (Brazilian use)."""

from functools import cache

from tools.phrasebook.entries import Gender, Person

_IRREGULAR_PLURALS = {
    "pão": "pães",
    "mão": "mãos",
    "irmão": "irmãos",
    "alemão": "alemães",
    "fácil": "fáceis",
    "difícil": "difíceis",
    "útil": "úteis",
}

_IRREGULAR_FEMININES = {"bom": "boa", "mau": "má", "alemão": "alemã", "espanhol": "espanhola"}

# Forms for eu, ele (and você), nós, eles.
Forms = tuple[str, str, str, str]

_PRESENT: dict[str, Forms] = {
    "ser": ("sou", "é", "somos", "são"),
    "estar": ("estou", "está", "estamos", "estão"),
    "ter": ("tenho", "tem", "temos", "têm"),
    "ir": ("vou", "vai", "vamos", "vão"),
    "fazer": ("faço", "faz", "fazemos", "fazem"),
    "trazer": ("trago", "traz", "trazemos", "trazem"),
    "ver": ("vejo", "vê", "vemos", "veem"),
    "ler": ("leio", "lê", "lemos", "leem"),
    "dar": ("dou", "dá", "damos", "dão"),
    "dizer": ("digo", "diz", "dizemos", "dizem"),
    "querer": ("quero", "quer", "queremos", "querem"),
    "poder": ("posso", "pode", "podemos", "podem"),
    "saber": ("sei", "sabe", "sabemos", "sabem"),
    "sair": ("saio", "sai", "saímos", "saem"),
    "ouvir": ("ouço", "ouve", "ouvimos", "ouvem"),
    "dormir": ("durmo", "dorme", "dormimos", "dormem"),
    "preferir": ("prefiro", "prefere", "preferimos", "preferem"),
    "perder": ("perco", "perde", "perdemos", "perdem"),
    "doer": ("doo", "dói", "doemos", "doem"),
}

_PAST: dict[str, Forms] = {
    "ter": ("tive", "teve", "tivemos", "tiveram"),
    "ir": ("fui", "foi", "fomos", "foram"),
    "fazer": ("fiz", "fez", "fizemos", "fizeram"),
    "trazer": ("trouxe", "trouxe", "trouxemos", "trouxeram"),
    "ver": ("vi", "viu", "vimos", "viram"),
    "dar": ("dei", "deu", "demos", "deram"),
    "sair": ("saí", "saiu", "saímos", "saíram"),
}

# The past of states. Only these verbs describe in the past.
_IMPERFECT: dict[str, Forms] = {
    "ser": ("era", "era", "éramos", "eram"),
    "estar": ("estava", "estava", "estávamos", "estavam"),
}

_IRREGULAR_COMMANDS = {"ir": "vá", "dar": "dê", "ser": "seja"}

_FORM = {Person.I: 0, Person.YOU: 1, Person.HE: 1, Person.WE: 2, Person.THEY: 3}

# Masculine and feminine singular, masculine and feminine plural.
_DETERMINERS: dict[str, Forms] = {
    "o": ("o", "a", "os", "as"),
    "este": ("este", "esta", "estes", "estas"),
    "aquele": ("aquele", "aquela", "aqueles", "aquelas"),
    "meu": ("meu", "minha", "meus", "minhas"),
    "seu": ("seu", "sua", "seus", "suas"),
    "nosso": ("nosso", "nossa", "nossos", "nossas"),
}


@cache
def plural(word: str) -> str:
    """The plural of a noun or adjective given in the singular."""
    if word in _IRREGULAR_PLURALS:
        return _IRREGULAR_PLURALS[word]
    if word.endswith("vel"):
        return word[:-1] + "is"
    for ending, replacement in (
        ("ão", "ões"), ("m", "ns"), ("al", "ais"), ("el", "éis"), ("ol", "óis"), ("ul", "uis"),
        ("ês", "eses"), ("r", "res"), ("z", "zes"),
    ):  # fmt: skip
        if word.endswith(ending):
            return word[: -len(ending)] + replacement
    # "o ônibus, os ônibus": an unstressed -s already marks a plural.
    return word if word.endswith("s") else word + "s"


@cache
def agree(adjective: str, gender: Gender, many: bool) -> str:
    """An adjective, given in the masculine singular, made to agree with its noun."""
    form = adjective
    if gender is Gender.FEMININE:
        if adjective in _IRREGULAR_FEMININES:
            form = _IRREGULAR_FEMININES[adjective]
        elif adjective.endswith("o"):
            form = adjective[:-1] + "a"
        elif adjective.endswith("or"):
            form = adjective + "a"
        elif adjective.endswith("ês"):
            form = adjective[:-2] + "esa"
    return plural(form) if many else form


def determiner(word: str, gender: Gender, many: bool) -> str:
    """The article "o", a demonstrative or a possessive made to agree: meu: minhas."""
    return _DETERMINERS[word][gender.value + 2 * many]


def _contractions() -> dict[tuple[str, str], str]:
    table = {("de", "ele"): "dele", ("de", "ela"): "dela", ("de", "eles"): "deles"}
    for preposition, stem in (("de", "d"), ("em", "n"), ("por", "pel")):
        for article in _DETERMINERS["o"]:
            table[preposition, article] = stem + article
    for article, fused in zip(_DETERMINERS["o"], ("ao", "à", "aos", "às"), strict=True):
        table["a", article] = fused
    for this in (*_DETERMINERS["este"], *_DETERMINERS["aquele"]):
        table["de", this] = "d" + this
        table["em", this] = "n" + this
    for that in _DETERMINERS["aquele"]:
        table["a", that] = "à" + that[1:]
    # A possessive takes no article ("meu carro") except after a preposition
    # that would swallow it ("no meu carro").
    for owner in ("meu", "seu", "nosso"):
        for possessive, article in zip(_DETERMINERS[owner], _DETERMINERS["o"], strict=True):
            for preposition in ("de", "em", "a", "por"):
                table[preposition, possessive] = f"{table[preposition, article]} {possessive}"
    return table


_CONTRACTIONS = _contractions()


def contract(preposition: str, phrase: str) -> str:
    """Put a preposition, of one word or more, before a noun phrase: em + a mesa = na mesa."""
    before, _, last = preposition.rpartition(" ")
    first, _, rest = phrase.partition(" ")
    fused = _CONTRACTIONS.get((last, first))
    words = (before, fused, rest) if fused else (preposition, phrase)
    return " ".join(word for word in words if word)


@cache
def present(infinitive: str, person: Person) -> str:
    """Present indicative: comprar, I: compro."""
    forms = _PRESENT.get(infinitive) or _regular_present(infinitive)
    return forms[_FORM[person]]


def _regular_present(infinitive: str) -> Forms:
    stem, ending = infinitive[:-2], infinitive[-2:]
    if ending == "ar":
        return (stem + "o", stem + "a", stem + "amos", stem + "am")
    soft = {"c": "ç", "g": "j"}  # the sound stays, so the letter changes before -o
    first = stem[:-1] + soft.get(stem[-1], stem[-1]) + "o"
    return (first, stem + "e", stem + ("emos" if ending == "er" else "imos"), stem + "em")


@cache
def past(infinitive: str, person: Person) -> str:
    """Simple past: comprar, I: comprei."""
    forms = _PAST.get(infinitive) or _regular_past(infinitive)
    return forms[_FORM[person]]


def _regular_past(infinitive: str) -> Forms:
    stem, ending = infinitive[:-2], infinitive[-2:]
    if ending == "ar":
        hard = {"c": "qu", "g": "gu", "ç": "c"}  # as above, before -e
        first = stem[:-1] + hard.get(stem[-1], stem[-1]) + "ei"
        return (first, stem + "ou", stem + "amos", stem + "aram")
    if ending == "er":
        return (stem + "i", stem + "eu", stem + "emos", stem + "eram")
    return (stem + "i", stem + "iu", stem + "imos", stem + "iram")


def imperfect(infinitive: str, person: Person) -> str:
    """The past of ser and estar in descriptions: estava."""
    return _IMPERFECT[infinitive][_FORM[person]]


def gerund(infinitive: str) -> str:
    """Comprar: comprando."""
    return infinitive[:-1] + "ndo"


@cache
def command(infinitive: str) -> str:
    """Polite imperative: comprar: compre; fazer: faça."""
    if infinitive in _IRREGULAR_COMMANDS:
        return _IRREGULAR_COMMANDS[infinitive]
    if infinitive.endswith("ar"):
        return past(infinitive, Person.I)[:-1]
    return present(infinitive, Person.I)[:-1] + "a"
