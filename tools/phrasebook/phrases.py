"""Noun phrases in both languages at once: determiner, number, noun and adjective."""

from tools.phrasebook import english, portuguese
from tools.phrasebook.draw import Draw
from tools.phrasebook.entries import (
    Adjective,
    Gender,
    Kind,
    Noun,
    NounPhrase,
    Person,
    Text,
    Verb,
)
from tools.phrasebook.numbers import spelt

# Owners by person; where Portuguese has no possessive adjective of its own ("seu" is
# kept for "your"), the owner follows the noun: o livro dele / his book.
_PT_OWNERS = {Person.I: "meu", Person.YOU: "seu", Person.WE: "nosso"}
_EN_OWNERS = {Person.I: "my", Person.YOU: "your", Person.WE: "our"}
HIS, HER, THEIR = Text("dele", "his"), Text("dela", "her"), Text("deles", "their")
_SPEAKING = (Person.I, Person.YOU, Person.WE)

# Kinds that are somebody's or well known rather than "a" or "two".
_DEFINITE = (Kind.ROOM, Kind.STRANGER, Kind.OPENING)
_TASTES = (
    Kind.FRUIT, Kind.FOOD, Kind.DISH, Kind.HOT_DRINK, Kind.COLD_DRINK, Kind.CLOTHING, Kind.READING,
)  # fmt: skip
# There is no letter yet when one is written, nor a certain house when one is rented.
_BRINGING_FORTH = ("escrever", "fazer", "alugar")
# Nobody drives two cars.
_ONE_AT_A_TIME = ("pegar", "dirigir", "esperar", "chamar")
_BY_THE_DOZEN = (Kind.FRUIT, Kind.DISH)


def _words(noun: Noun, adjective: Adjective | None, many: bool) -> Text:
    pt = portuguese.plural(noun.pt) if many else noun.pt
    en = (noun.en_plural or english.plural(noun.en)) if many else noun.en
    if adjective is None:
        return Text(pt, en)
    agreeing = portuguese.agree(adjective.pt, noun.gender, many)
    return Text(
        f"{agreeing} {pt}" if adjective.first else f"{pt} {agreeing}", f"{adjective.en} {en}"
    )


def _phrase(pt: str, en: str, noun: Noun, many: bool) -> NounPhrase:
    return NounPhrase(pt, en, noun.gender, Person.THEY if many else Person.HE)


def bare(noun: Noun, adjective: Adjective | None = None) -> NounPhrase:
    """Things in general: maçãs / apples, pão / bread."""
    words = _words(noun, adjective, not noun.mass)
    return _phrase(words.pt, words.en, noun, not noun.mass)


def a(noun: Noun, adjective: Adjective | None = None) -> NounPhrase:
    """Uma maçã / an apple."""
    words = _words(noun, adjective, False)
    one = "um" if noun.gender is Gender.MASCULINE else "uma"
    return _phrase(f"{one} {words.pt}", f"{english.article(words.en)} {words.en}", noun, False)


def the(noun: Noun, adjective: Adjective | None = None, many: bool = False) -> NounPhrase:
    """A maçã / the apple; as maçãs / the apples."""
    words = _words(noun, adjective, many)
    definite = portuguese.determiner("o", noun.gender, many)
    return _phrase(f"{definite} {words.pt}", f"the {words.en}", noun, many)


def this(noun: Noun, adjective: Adjective | None = None, many: bool = False) -> NounPhrase:
    """Esta maçã / this apple; estas maçãs / these apples."""
    words = _words(noun, adjective, many)
    near = portuguese.determiner("este", noun.gender, many)
    return _phrase(f"{near} {words.pt}", f"{'these' if many else 'this'} {words.en}", noun, many)


def that(noun: Noun, adjective: Adjective | None = None, many: bool = False) -> NounPhrase:
    """Aquela maçã / that apple; aquelas maçãs / those apples."""
    words = _words(noun, adjective, many)
    far = portuguese.determiner("aquele", noun.gender, many)
    return _phrase(f"{far} {words.pt}", f"{'those' if many else 'that'} {words.en}", noun, many)


def counted(number: int, noun: Noun, adjective: Adjective | None = None) -> NounPhrase:
    """Duas maçãs verdes / two green apples; the number is at least two."""
    words = _words(noun, adjective, True)
    count = spelt(number, noun.gender)
    return _phrase(f"{count.pt} {words.pt}", f"{count.en} {words.en}", noun, True)


def many_of(noun: Noun) -> NounPhrase:
    """Muitas maçãs / many apples; muito pão / much bread."""
    plenty = portuguese.agree("muito", noun.gender, not noun.mass)
    words = _words(noun, None, not noun.mass)
    much = "much" if noun.mass else "many"
    return _phrase(f"{plenty} {words.pt}", f"{much} {words.en}", noun, not noun.mass)


def owned(owner: Person, noun: Noun, many: bool = False) -> NounPhrase:
    """Minha maçã / my apple, for an owner of the first or second person."""
    words = _words(noun, None, many)
    pt = portuguese.determiner(_PT_OWNERS[owner], noun.gender, many)
    return _phrase(f"{pt} {words.pt}", f"{_EN_OWNERS[owner]} {words.en}", noun, many)


def owned_by(owner: Text, noun: Noun, many: bool = False) -> NounPhrase:
    """A maçã dela / her apple, the owner being "dela" / "her"."""
    words = _words(noun, None, many)
    definite = portuguese.determiner("o", noun.gender, many)
    return _phrase(f"{definite} {words.pt} {owner.pt}", f"{owner.en} {words.en}", noun, many)


def belonging(owner: NounPhrase, noun: Noun, many: bool = False) -> NounPhrase:
    """O livro do professor / the teacher's book."""
    possessor = Text(portuguese.contract("de", owner.pt), english.possessive(owner.en))
    return owned_by(possessor, noun, many)


def somebodys(draw: Draw, noun: Noun, doer: Person = Person.I, many: bool = False) -> NounPhrase:
    """A noun with an owner.

    With a doer of the third person "seu" would be understood as "his own", so "your" is
    not drawn there.
    """
    if draw.chance(0.6):
        speaking = _SPEAKING if doer in _SPEAKING else (Person.I, Person.WE)
        return owned(draw.one(speaking), noun, many)
    return owned_by(draw.one((HIS, HER, THEIR)), noun, many)


def object_phrase(draw: Draw, verb: Verb, doer: Person) -> NounPhrase:
    """An object of the verb on one occasion: the, a, this, two, my, with adjective or not."""
    noun = draw.object_of(verb)
    if noun.kind is Kind.NAMELIKE:
        return bare(noun)
    if noun.kind is Kind.FAMILY:
        if verb.pt == "ter":
            return a(noun) if draw.chance(0.4) else counted(draw.between(2, 6), noun)
        return somebodys(draw, noun, doer, many=draw.chance(0.2) and noun.pt not in ("pai", "mãe"))
    if noun.kind is Kind.ROOM:
        return the(noun) if draw.chance(0.6) else somebodys(draw, noun, doer)
    adjective = _occasional_adjective(draw, noun)
    roll = draw.between(11 if verb.pt in _BRINGING_FORTH else 1, 20)
    if roll <= 3 and noun.kind is not Kind.STRANGER:
        return somebodys(draw, noun, doer, many=noun.kind in _BY_THE_DOZEN)
    if roll <= 5:
        return (this if draw.chance(0.5) else that)(noun, adjective)
    if roll <= 10 or noun.kind in _DEFINITE:
        return the(noun, adjective, many=not noun.mass and draw.chance(0.25))
    if noun.mass:
        return bare(noun, adjective)
    if roll <= 14 and verb.pt not in _ONE_AT_A_TIME:
        return counted(draw.between(2, 12 if noun.kind in _BY_THE_DOZEN else 4), noun, adjective)
    return a(noun, adjective)


def known_object(draw: Draw, verb: Verb, doer: Person) -> NounPhrase:
    """An object that both speakers know: the, this, that, my."""
    noun = draw.object_of(verb)
    if noun.kind is Kind.NAMELIKE:
        return bare(noun)
    if noun.kind is Kind.FAMILY or (draw.chance(0.25) and noun.kind is not Kind.STRANGER):
        return somebodys(draw, noun, doer, many=noun.kind in _BY_THE_DOZEN)
    determined = draw.one((the, the, this, that))
    return determined(noun, _occasional_adjective(draw, noun), not noun.mass and draw.chance(0.25))


def usual_object(draw: Draw, verb: Verb, doer: Person) -> NounPhrase:
    """An object of the verb again and again: eats apples, cleans the kitchen, helps her aunt."""
    noun = draw.object_of(verb)
    if noun.kind is Kind.FAMILY:
        return somebodys(draw, noun, doer)
    if noun.kind in _DEFINITE or noun.kind in (Kind.HOME, Kind.FURNITURE):
        return the(noun)
    if noun.kind in _TASTES and draw.chance(0.3):
        return bare(noun, draw.adjective_for(noun))
    return bare(noun)


def _occasional_adjective(draw: Draw, noun: Noun) -> Adjective | None:
    if noun.kind is Kind.STRANGER or draw.chance(0.65):
        return None
    adjective = draw.adjective_for(noun)
    # Not "open the open door"; food and drink are what they are when they are served.
    return None if adjective.passing and noun.kind not in _TASTES else adjective
