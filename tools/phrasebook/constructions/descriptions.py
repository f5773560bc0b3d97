"""What things are like: qualities, comparison, colour and ownership."""

from tools.phrasebook import clauses, english, phrases, portuguese
from tools.phrasebook.adjectives import COLOURS, FITTING
from tools.phrasebook.clauses import affirm, ask, deny, exclamation, question, statement
from tools.phrasebook.draw import Draw
from tools.phrasebook.entries import Adjective, Gender, Kind, Noun, NounPhrase, Person, Text
from tools.phrasebook.nouns import PLACES, SHOWS, SMALL, TRANSPORT, named, of_kind
from tools.phrasebook.subjects import NAMES
from tools.phrasebook.variation import vary

_DESCRIBED = tuple(
    noun for noun in of_kind(*FITTING) if noun.kind not in (Kind.FAMILY, Kind.STRANGER)
)
_GOODS = (
    *of_kind(Kind.CLOTHING, Kind.DEVICE),
    *SMALL,
    *named("casa apartamento sofá carro bicicleta barco"),
)
# Seldom anybody's own.
_PUBLIC = (*PLACES, *TRANSPORT, *named("táxi"), *SHOWS)
_COLOURED = (*of_kind(Kind.CLOTHING), *named("carro bicicleta caneta bolsa mala porta cadeira"))


def _subject(draw: Draw, noun: Noun) -> NounPhrase:
    many = not noun.mass and draw.chance(0.3)
    roll = draw.between(1, 10)
    if roll <= 5:
        return phrases.the(noun, None, many)
    if roll <= 7:
        return phrases.this(noun, None, many)
    if roll == 8 or noun in _PUBLIC:
        return phrases.that(noun, None, many)
    return phrases.somebodys(draw, noun, many=many)


def _agreeing(adjective: Adjective, subject: NounPhrase) -> Text:
    pt = portuguese.agree(adjective.pt, subject.gender, subject.person.plural)
    return Text(pt, adjective.en)


def _quality(draw: Draw) -> tuple[NounPhrase, Adjective, Text]:
    noun = draw.one(_DESCRIBED)
    subject, adjective = _subject(draw, noun), draw.adjective_for(noun)
    words = _agreeing(adjective, subject)
    if draw.chance(0.25) and adjective not in _ABSOLUTE:
        words = Text(f"muito {words.pt}", f"very {words.en}")
    return subject, adjective, words


_ABSOLUTE = tuple(
    adjective for adjectives in FITTING.values() for adjective in adjectives
    if adjective in COLOURS or adjective.en in ("open", "closed", "broken", "delicious")
)  # fmt: skip


def quality(draw: Draw) -> Text:
    """A sopa está muito quente / the soup is very hot."""
    subject, adjective, words = _quality(draw)
    return statement(affirm(subject, clauses.is_(subject.person, adjective.passing), words))


def quality_denied(draw: Draw) -> Text:
    """Estes casacos não são novos / these coats are not new."""
    subject, adjective, words = _quality(draw)
    return statement(deny(subject, clauses.is_(subject.person, adjective.passing), words))


def quality_asked(draw: Draw) -> Text:
    """A loja está aberta? / is the shop open?"""
    subject, adjective, words = _quality(draw)
    return question(ask(subject, clauses.is_(subject.person, adjective.passing), words))


def quality_past(draw: Draw) -> Text:
    """O café estava frio / the coffee was cold."""
    subject, adjective, words = _quality(draw)
    return vary(draw, subject, clauses.was(subject.person, adjective.passing), words)


def too_much(draw: Draw) -> Text:
    """Este vestido é caro demais / this dress is too expensive."""
    noun = draw.one(_GOODS)
    subject, adjective = _subject(draw, noun), draw.adjective_for(noun)
    while adjective in _ABSOLUTE or adjective.en in _WELCOME:
        adjective = draw.adjective_for(noun)
    words = _agreeing(adjective, subject)
    rest = Text(f"{words.pt} demais", f"too {words.en}")
    return statement(affirm(subject, clauses.is_(subject.person, adjective.passing), rest))


_WELCOME = (
    "new",
    "modern",
    "useful",
    "beautiful",
    "interesting",
    "comfortable",
    "clean",
    "important",
    "good",
)


def _comparative(adjective: Adjective, subject: NounPhrase) -> Text:
    pt = adjective.pt_more
    if pt:
        pt = portuguese.plural(pt) if subject.person.plural else pt
    else:
        pt = f"mais {_agreeing(adjective, subject).pt}"
    if adjective.en_more:
        return Text(pt, f"more {adjective.en}")
    return Text(pt, adjective.en_comparative or english.graded(adjective.en, "er"))


def _superlative(adjective: Adjective, subject: NounPhrase) -> Text:
    pt = _comparative(adjective, subject).pt
    if adjective.en_more:
        return Text(pt, f"most {adjective.en}")
    return Text(pt, adjective.en_superlative or english.graded(adjective.en, "est"))


_COMPARED_KINDS = (
    Kind.FRUIT, Kind.CLOTHING, Kind.READING, Kind.THING, Kind.DEVICE, Kind.FURNITURE, Kind.ROOM,
    Kind.HOME, Kind.PLACE, Kind.OUTDOORS, Kind.VEHICLE, Kind.ANIMAL, Kind.SHOW, Kind.STRANGER,
)  # fmt: skip


def _compared(draw: Draw) -> tuple[Noun, Noun, Adjective]:
    first = draw.one(of_kind(draw.one(_COMPARED_KINDS)))
    second = draw.one([noun for noun in of_kind(first.kind) if noun is not first])
    adjective = draw.adjective_for(first)
    while adjective.passing or adjective in COLOURS:
        adjective = draw.adjective_for(first)
    return first, second, adjective


def comparison(draw: Draw) -> Text:
    """O trem é mais rápido do que o ônibus / the train is faster than the bus."""
    first, second, adjective = _compared(draw)
    subject, other = phrases.the(first), phrases.the(second)
    if draw.chance(0.3):
        subject, other = phrases.this(first), phrases.that(first)
    words = _comparative(adjective, subject)
    rest = Text(f"{words.pt} do que {other.pt}", f"{words.en} than {other.en}")
    return vary(draw, subject, clauses.is_(subject.person, False), rest)


def equality(draw: Draw) -> Text:
    """A saia é tão cara quanto o vestido / the skirt is as expensive as the dress."""
    first, second, adjective = _compared(draw)
    subject, other = phrases.the(first), phrases.the(second)
    if draw.chance(0.3):
        subject, other = phrases.this(first), phrases.that(first)
    words = _agreeing(adjective, subject)
    rest = Text(f"tão {words.pt} quanto {other.pt}", f"as {words.en} as {other.en}")
    clause = draw.one((affirm, deny))
    return statement(clause(subject, clauses.is_(subject.person, False), rest))


_THIS_IS = (
    NounPhrase("este", "this", Gender.MASCULINE, Person.HE),
    NounPhrase("esta", "this", Gender.FEMININE, Person.HE),
)


def superlative(draw: Draw) -> Text:
    """Este é o livro mais caro da loja / this is the most expensive book in the shop."""
    first, _, adjective = _compared(draw)
    subject = _THIS_IS[first.gender.value]
    words, noun = _superlative(adjective, subject), phrases.the(first)
    scope = draw.one(_SCOPES[first.kind])
    pt = f"{noun.pt} {words.pt}"
    if adjective.pt_more:
        pt = f"{noun.pt[0]} {words.pt} {first.pt}"
    rest = Text(f"{pt} {scope.pt}", f"the {words.en} {first.en} {scope.en}")
    return vary(draw, subject, clauses.is_(Person.HE, False), rest)


_SHOP = (Text("da loja", "in the shop"), Text("do mercado", "in the market"))
_CITY = (Text("da cidade", "in the city"), Text("do país", "in the country"))
_WORLD = (Text("do mundo", "in the world"), *_CITY)
_SCOPES: dict[Kind, tuple[Text, ...]] = {
    Kind.ROOM: (Text("da casa", "in the house"),),
    Kind.HOME: _CITY,
    Kind.PLACE: _WORLD,
    Kind.OUTDOORS: _WORLD,
    Kind.STRANGER: (Text("da escola", "in the school"), *_WORLD),
    Kind.ANIMAL: _WORLD,
    Kind.SHOW: (Text("do ano", "of the year"), Text("do mês", "of the month")),
    Kind.VEHICLE: _WORLD,
    **dict.fromkeys(_COMPARED_KINDS[:6], _SHOP),
}


def wonder(draw: Draw) -> Text:
    """Que casa bonita! / what a beautiful house!"""
    noun = draw.one([noun for noun in _DESCRIBED if not noun.mass])
    adjective = draw.adjective_for(noun)
    many = draw.chance(0.3)
    pt, en, _, _ = phrases.the(noun, adjective, many)
    pt, en = pt.partition(" ")[2], en.partition(" ")[2]
    return exclamation(Text(f"que {pt}", f"what {en if many else english.article(en) + ' ' + en}"))


def colour(draw: Draw) -> Text:
    """De que cor é a camisa dela? / what colour is her shirt?"""
    noun = draw.one(_COLOURED)
    subject = _subject(draw, noun)
    be = clauses.is_(subject.person, False)
    return question(
        Text(f"de que cor {be.pt} {subject.pt}", f"what colour {be.plain} {subject.en}")
    )


def whose(draw: Draw) -> Text:
    """De quem é este livro? / whose book is this?"""
    noun, many = draw.one((*_GOODS, *of_kind(Kind.ANIMAL))), draw.chance(0.5)
    near = draw.chance(0.6)
    thing = (phrases.this if near else phrases.that)(noun, None, many)
    be = clauses.is_(thing.person, False)
    pointer, words = thing.en.split(" ", 1)
    return question(Text(f"de quem {be.pt} {thing.pt}", f"whose {words} {be.plain} {pointer}"))


_MINE = (Text("meu", "mine"), Text("seu", "yours"), Text("nosso", "ours"))
_HIS = (Text("dele", "his"), Text("dela", "hers"), Text("deles", "theirs"))


def mine(draw: Draw) -> Text:
    """Esta caneta é minha / this pen is mine; o carro é dela / the car is hers."""
    noun, many = draw.one((*_GOODS, *of_kind(Kind.ANIMAL))), draw.chance(0.4)
    thing = draw.one((phrases.the, phrases.this, phrases.that))(noun, None, many)
    if draw.chance(0.5):
        owner = draw.one(_MINE)
        owner = owner._replace(pt=portuguese.determiner(owner.pt, thing.gender, many))
    else:
        owner = draw.one(_HIS)
    return vary(draw, thing, clauses.is_(thing.person, False), owner)


def belonging(draw: Draw) -> Text:
    """O carro do médico é novo / the doctor's car is new."""
    noun = draw.one(_GOODS)
    owner = draw.one(NAMES) if draw.chance(0.4) else phrases.the(draw.one(of_kind(Kind.STRANGER)))
    if draw.chance(0.3):
        owner = phrases.owned(draw.one((Person.I, Person.WE)), draw.one(of_kind(Kind.FAMILY)))
    subject = phrases.belonging(owner, noun, many=draw.chance(0.2))
    adjective = draw.adjective_for(noun)
    return vary(
        draw, subject, clauses.is_(subject.person, adjective.passing), _agreeing(adjective, subject)
    )


CONSTRUCTIONS = (
    quality, quality_denied, quality_asked, quality_past, too_much, comparison, equality,
    superlative, wonder, colour, whose, mine, belonging,
)  # fmt: skip
