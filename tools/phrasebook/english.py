"""English inflection: plurals, articles, verb forms and comparison (British spelling)."""

from functools import cache

from tools.phrasebook.entries import Person

_BE = {
    Person.I: "am",
    Person.YOU: "are",
    Person.HE: "is",
    Person.WE: "are",
    Person.THEY: "are",
}

# The final consonant doubles: swimming, bigger.
_DOUBLED = {"swim", "run", "cut", "forget", "travel", "big", "hot", "sad", "get"}

_VOWELS = "aeiou"


@cache
def plural(noun: str) -> str:
    """The regular plural: key: keys, box: boxes, strawberry: strawberries."""
    if noun.endswith("y") and noun[-2] not in _VOWELS:
        return noun[:-1] + "ies"
    if noun.endswith(("s", "x", "ch", "sh", "ato")):
        return noun + "es"
    return noun + "s"


@cache
def article(phrase: str) -> str:
    """A or an, by the sound that the phrase begins with."""
    if phrase.startswith(("useful", "university")):  # a spelt vowel that sounds like "you"
        return "a"
    return "an" if phrase[0].lower() in _VOWELS else "a"


def be(person: Person) -> str:
    """Present of be."""
    return _BE[person]


def was(person: Person) -> str:
    """Past of be."""
    return "was" if person in (Person.I, Person.HE) else "were"


def do(person: Person) -> str:
    """Do or does."""
    return "does" if person is Person.HE else "do"


@cache
def present(base: str, person: Person) -> str:
    """Simple present: buy or buys."""
    if person is not Person.HE:
        return base
    if base == "have":
        return "has"
    if base.endswith("y") and base[-2] not in _VOWELS:
        return base[:-1] + "ies"
    return base + ("es" if base.endswith(("s", "x", "ch", "sh", "o")) else "s")


@cache
def past(base: str) -> str:
    """The regular past: paint: painted."""
    if base in _DOUBLED:
        return base + base[-1] + "ed"
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in _VOWELS:
        return base[:-1] + "ied"
    return base + "ed"


@cache
def gerund(base: str) -> str:
    """The -ing form: make: making."""
    if base in _DOUBLED:
        return base + base[-1] + "ing"
    if base.endswith("e") and not base.endswith("ee"):
        return base[:-1] + "ing"
    return base + "ing"


@cache
def graded(adjective: str, ending: str) -> str:
    """A short adjective with -er or -est: happy, -er: happier."""
    if adjective in _DOUBLED:
        return adjective + adjective[-1] + ending
    if adjective.endswith("e"):
        return adjective[:-1] + ending
    if adjective.endswith("y"):
        return adjective[:-1] + "i" + ending
    return adjective + ending


def possessive(owner: str) -> str:
    """Ana: Ana's; my parents: my parents'."""
    return owner + ("'" if owner.endswith("s") else "'s")
