"""The kinds of word and phrase that the grammar handles, each in both languages."""

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple


class Text(NamedTuple):
    """The same words in Portuguese and in English."""

    pt: str
    en: str


class Gender(Enum):
    """Grammatical gender of a Portuguese noun, or of the person that a subject refers to."""

    MASCULINE = 0
    FEMININE = 1


class Person(Enum):
    """Who acts. Portuguese 'você' shares its forms with 'ele', English 'you' does not."""

    I = "I"  # noqa: E741 (the pronoun has no longer name)
    YOU = "you"
    HE = "he"
    WE = "we"
    THEY = "they"

    @property
    def plural(self) -> bool:
        """Whether adjectives agree in the plural; 'you' is always singular here."""
        return self in (Person.WE, Person.THEY)


class Kind(Enum):
    """What a noun means: decides which verbs, adjectives and determiners suit it."""

    FRUIT = "fruit"
    FOOD = "food"
    DISH = "dish"
    HOT_DRINK = "hot drink"
    COLD_DRINK = "cold drink"
    CLOTHING = "clothing"
    READING = "reading"
    THING = "thing"
    DEVICE = "device"
    FURNITURE = "furniture"
    OPENING = "opening"
    ROOM = "room"
    HOME = "home"
    PLACE = "place"
    OUTDOORS = "outdoors"
    VEHICLE = "vehicle"
    ANIMAL = "animal"
    FAMILY = "family"
    STRANGER = "stranger"
    BODY = "body"
    SHOW = "show"
    NAMELIKE = "namelike"


@dataclass(frozen=True)
class Noun:
    """A noun.

    Attributes:
        pt: Portuguese singular.
        gender: Portuguese gender.
        en: English singular.
        kind: what it means.
        en_plural: English plural where it is irregular.
        mass: uncountable in English ("bread"), so neither counted nor put in the plural.
        en_place: the English preposition of rest: "in" the park, "at" the station, "on" the table.
        en_bare: English uses no article after to, at and from: "at school".
    """

    pt: str
    gender: Gender
    en: str
    kind: Kind
    en_plural: str = ""
    mass: bool = False
    en_place: str = "in"
    en_bare: bool = False


@dataclass(frozen=True)
class Adjective:
    """An adjective.

    Attributes:
        pt: Portuguese masculine singular.
        en: English.
        passing: a passing state, for which Portuguese says "estar" and not "ser".
        first: stands before the noun in Portuguese ("um bom livro").
        en_more: compared with "more" and "most" in English.
        pt_more: one-word Portuguese comparative ("maior").
        en_comparative: irregular English comparative ("better").
        en_superlative: irregular English superlative ("best").
    """

    pt: str
    en: str
    passing: bool = False
    first: bool = False
    en_more: bool = False
    pt_more: str = ""
    en_comparative: str = ""
    en_superlative: str = ""


@dataclass(frozen=True)
class Verb:
    """A verb and the nouns that it sensibly takes as objects.

    Attributes:
        pt: Portuguese infinitive.
        en: English base form.
        en_past: English past where it is irregular.
        objects: its possible objects; none for an intransitive verb.
        pt_link: preposition before the Portuguese object ("de" in "gostar de").
        en_link: preposition before the English object ("for" in "look for").
        brief: done within a day, and so told of yesterday, not of last year.
    """

    pt: str
    en: str
    en_past: str = ""
    objects: tuple[Noun, ...] = ()
    pt_link: str = ""
    en_link: str = ""
    brief: bool = False


class NounPhrase(NamedTuple):
    """Something that can be subject or object: "o meu irmão" / "my brother"."""

    pt: str
    en: str
    gender: Gender
    person: Person
