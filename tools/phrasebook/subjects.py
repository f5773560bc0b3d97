"""Who sentences are about: pronouns, names and people."""

from tools.phrasebook import phrases
from tools.phrasebook.draw import Draw
from tools.phrasebook.entries import Gender, NounPhrase, Person
from tools.phrasebook.nouns import FAMILY, STRANGERS

_M, _F = Gender.MASCULINE, Gender.FEMININE

I = NounPhrase("eu", "I", _M, Person.I)  # noqa: E741 (the pronoun has no longer name)
YOU = NounPhrase("você", "you", _M, Person.YOU)
HE = NounPhrase("ele", "he", _M, Person.HE)
SHE = NounPhrase("ela", "she", _F, Person.HE)
WE = NounPhrase("nós", "we", _M, Person.WE)
THEY = NounPhrase("eles", "they", _M, Person.THEY)

# "They" are always "eles", "you" is always "você": one English word, one Portuguese.
PRONOUNS = (I, YOU, HE, SHE, WE, THEY)

NAMES = (
    NounPhrase("Ana", "Ana", _F, Person.HE),
    NounPhrase("Maria", "Maria", _F, Person.HE),
    NounPhrase("Júlia", "Júlia", _F, Person.HE),
    NounPhrase("Pedro", "Pedro", _M, Person.HE),
    NounPhrase("João", "João", _M, Person.HE),
    NounPhrase("Paulo", "Paulo", _M, Person.HE),
)

_RELATIVES = tuple(
    phrases.owned(owner, noun) for owner in (Person.I, Person.YOU, Person.WE) for noun in FAMILY
) + tuple(phrases.owned_by(owner, noun) for owner in (phrases.HIS, phrases.HER) for noun in FAMILY)
_SINGLE = tuple(phrases.the(noun) for noun in STRANGERS)
_SEVERAL = tuple(
    phrases.owned(owner, noun, many=True)
    for owner in (Person.I, Person.WE)
    for noun in FAMILY
    if noun.pt not in ("pai", "mãe")
) + tuple(phrases.the(noun, many=True) for noun in STRANGERS)


def anyone(draw: Draw) -> NounPhrase:
    """A pronoun (half of the time), a name or a person."""
    roll = draw.between(1, 20)
    if roll <= 10:
        return draw.one(PRONOUNS)
    if roll <= 13:
        return draw.one(NAMES)
    if roll <= 16:
        return draw.one(_RELATIVES)
    return draw.one(_SINGLE if roll <= 18 else _SEVERAL)


def another(draw: Draw) -> NounPhrase:
    """Anyone but the speaker: whom questions are about."""
    subject = anyone(draw)
    while subject.person in (Person.I, Person.WE):
        subject = anyone(draw)
    return subject


def someone(draw: Draw) -> NounPhrase:
    """One person other than speaker and listener, whose gender shows in both languages."""
    roll = draw.between(1, 10)
    if roll <= 4:
        return draw.one((HE, SHE))
    if roll <= 7:
        return draw.one(NAMES)
    return draw.one(_RELATIVES if roll <= 9 else _SINGLE)


def acquaintance(draw: Draw) -> NounPhrase:
    """One person of whom more is known than a trade: he, she, Ana, my uncle."""
    roll = draw.between(1, 10)
    if roll <= 4:
        return draw.one((HE, SHE))
    return draw.one(NAMES if roll <= 7 else _RELATIVES)


def pronoun_for(subject: NounPhrase) -> NounPhrase:
    """The pronoun that takes up a subject: Ana: ela; meu irmão: ele."""
    if subject.person is Person.HE:
        return HE if subject.gender is Gender.MASCULINE else SHE
    return {Person.I: I, Person.YOU: YOU, Person.WE: WE, Person.THEY: THEY}[subject.person]
