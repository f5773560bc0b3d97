"""Where things are, what there is, and the way there."""

from tools.phrasebook import clauses, phrases, portuguese, times
from tools.phrasebook.clauses import chain, question, statement
from tools.phrasebook.constructions.motion import CITIES, at
from tools.phrasebook.draw import Draw
from tools.phrasebook.entries import Kind, Noun, NounPhrase, Person, Text
from tools.phrasebook.nouns import ANIMALS, PLACES, ROOMS, SMALL, STRANGERS, named, of_kind
from tools.phrasebook.numbers import spelt
from tools.phrasebook.variation import vary

_RELATIONS = (
    Text("perto de", "near"),
    Text("longe de", "far from"),
    Text("ao lado de", "next to"),
    Text("atrás de", "behind"),
    Text("em frente a", "in front of"),
)
_SPOTS = (
    Text("embaixo de", "under"),
    Text("atrás de", "behind"),
    Text("ao lado de", "next to"),
    Text("perto de", "near"),
)
_SURFACES = named(
    "mesa cadeira cama sofá gaveta caixa bolsa mala carro cozinha sala quarto garagem"
)
_SOLID = named("mesa cadeira cama sofá caixa mala carro")
_SIGHTS = (*PLACES, *named("jardim"))


def _related(relation: Text, place: NounPhrase) -> Text:
    return Text(portuguese.contract(relation.pt, place.pt), f"{relation.en} {place.en}")


def _two(draw: Draw, nouns: tuple[Noun, ...]) -> tuple[NounPhrase, NounPhrase]:
    first = draw.one(nouns)
    second = draw.one([noun for noun in nouns if noun is not first])
    return phrases.the(first), phrases.the(second)


def _stands(place: NounPhrase) -> clauses.VerbGroup:
    # What does not move "fica", what does "está"; English has "is" for both.
    return clauses.is_(place.person, True)._replace(pt="fica")


def where_is(draw: Draw) -> Text:
    """Onde fica a farmácia mais próxima? / where is the nearest pharmacy?"""
    noun = draw.one(PLACES)
    pt, en = phrases.the(noun)[:2]
    if draw.chance(0.5):
        pt, en = phrases.the(noun, draw.adjective_for(noun))[:2]
    elif draw.chance(0.3):
        pt, en = (
            f"{pt} mais {portuguese.agree('próximo', noun.gender, False)}",
            f"the nearest {noun.en}",
        )
    return question(Text(f"onde fica {pt}", f"where is {en}"))


def where_are_things(draw: Draw) -> Text:
    """Onde estão minhas chaves? / where are my keys?"""
    noun = draw.one((*SMALL, *named("carro bicicleta gato cachorro casaco camisa vestido")))
    thing = _somebodys_or_the(draw, noun, many=draw.chance(0.4))
    be = clauses.is_(thing.person, True)
    return question(Text(f"onde {be.pt} {thing.pt}", f"where {be.plain} {thing.en}"))


def _somebodys_or_the(draw: Draw, noun: Noun, many: bool) -> NounPhrase:
    if draw.chance(0.7):
        return phrases.somebodys(draw, noun, many=many)
    return phrases.the(noun, draw.adjective_for(noun), many)


def neighbours(draw: Draw) -> Text:
    """O hotel fica em frente à estação / the hotel is in front of the station."""
    first, second = _two(draw, _SIGHTS)
    return vary(draw, first, _stands(first), _related(draw.one(_RELATIONS), second))


def between(draw: Draw) -> Text:
    """O banco fica entre o cinema e a praça / the bank is between the cinema and the square."""
    first, second = _two(draw, _SIGHTS)
    third = phrases.the(draw.one(_SIGHTS))
    while third in (first, second):
        third = phrases.the(draw.one(_SIGHTS))
    rest = Text(f"entre {second.pt} e {third.pt}", f"between {second.en} and {third.en}")
    return statement(clauses.affirm(first, _stands(first), rest))


def thing_in_place(draw: Draw) -> Text:
    """As chaves estão na mesa / the keys are on the table."""
    noun = draw.one((*SMALL, *ANIMALS[:2]))
    thing = _somebodys_or_the(draw, noun, many=draw.chance(0.4))
    spot = _spot(draw)
    return vary(draw, thing, clauses.is_(thing.person, True), spot)


def _spot(draw: Draw) -> Text:
    if draw.chance(0.5):
        return at(draw.one(_SURFACES))
    return _related(draw.one(_SPOTS), phrases.the(draw.one(_SOLID)))


# Food and drink keep to the kitchen, animals to where they can walk.
_LARDER = named("cozinha mesa geladeira")
_RUNS = named("jardim cozinha sala quarto garagem parque praça praia casa")


def _existing(draw: Draw) -> tuple[NounPhrase, Text]:
    """Some countable things and a place to find them."""
    roll, most = draw.between(1, 5), 30
    if roll == 1:
        noun, spot = draw.one(ANIMALS), at(draw.one(_RUNS))
    elif roll == 2:
        noun, spot = draw.one(of_kind(Kind.FRUIT, Kind.DISH)), at(draw.one(_LARDER))
    else:
        noun, spot, most = draw.one(SMALL), _spot(draw), 12
    adjective = draw.adjective_for(noun) if draw.chance(0.35) else None
    if draw.chance(0.4):
        return phrases.a(noun, adjective), spot
    return phrases.counted(draw.between(2, most), noun, adjective), spot


def there_is(draw: Draw) -> Text:
    """Há três gatos no jardim / there are three cats in the garden."""
    thing, spot = _population(draw) if draw.chance(0.3) else _existing(draw)
    be = clauses.is_(thing.person, True).plain
    if draw.chance(0.3):
        return question(Text(f"há {thing.pt} {spot.pt}", f"{be} there {thing.en} {spot.en}"))
    return statement(Text(f"há {thing.pt} {spot.pt}", f"there {be} {thing.en} {spot.en}"))


def _population(draw: Draw) -> tuple[NounPhrase, Text]:
    if draw.chance(0.5):
        who = phrases.counted(draw.between(2, 60), draw.one(STRANGERS))
        return who, at(draw.one((*PLACES, *ROOMS[:2])))
    where = draw.one(CITIES)
    return phrases.many_of(draw.one(PLACES)), Text(f"em {where.pt}", f"in {where.en}")


def there_was(draw: Draw) -> Text:
    """Havia muitos turistas na praia ontem / there were many tourists on the beach yesterday."""
    if draw.chance(0.5):
        people, where = draw.one(STRANGERS), at(draw.one(PLACES))
        crowd = phrases.many_of(people)
        when = draw.one(times.YESTERDAY)
        return statement(chain(Text("havia", "there were"), _text(crowd), where, when))
    thing, spot = _existing(draw)
    return statement(
        chain(Text("havia", f"there {clauses.was(thing.person, True).plain}"), _text(thing), spot)
    )


def _text(phrase: NounPhrase) -> Text:
    return Text(phrase.pt, phrase.en)


_STORES = of_kind(Kind.FRUIT, Kind.FOOD, Kind.DISH, Kind.HOT_DRINK, Kind.COLD_DRINK)


def there_is_none(draw: Draw) -> Text:
    """Não há leite na cozinha / there is no milk in the kitchen."""
    if draw.chance(0.6):
        noun, spot = draw.one(_STORES), at(draw.one(_LARDER))
    else:
        noun, spot = draw.one(SMALL), at(draw.one(_SURFACES))
    thing = phrases.bare(noun)
    be = clauses.is_(thing.person, True).plain
    return statement(Text(f"não há {thing.pt} {spot.pt}", f"there {be} no {thing.en} {spot.en}"))


def is_there_nearby(draw: Draw) -> Text:
    """Há um banco perto daqui? / is there a bank near here?"""
    noun = draw.one(PLACES)
    place = phrases.a(noun, draw.adjective_for(noun) if draw.chance(0.6) else None)
    spot = Text("perto daqui", "near here")
    if draw.chance(0.4):
        landmark = draw.one([other for other in PLACES if other is not noun])
        spot = _related(_RELATIONS[0], phrases.the(landmark))
    if draw.chance(0.6):
        return question(Text(f"há {place.pt} {spot.pt}", f"is there {place.en} {spot.en}"))
    return statement(Text(f"há {place.pt} {spot.pt}", f"there is {place.en} {spot.en}"))


_TURNS = (
    Text("vire à direita", "turn right"),
    Text("vire à esquerda", "turn left"),
    Text("pare", "stop"),
    Text("espere", "wait"),
)


_ORDER = (Text("depois de", "after"), Text("antes de", "before"))


def direction(draw: Draw) -> Text:
    """Vire à direita na praça / turn right at the square."""
    place = phrases.the(draw.one(PLACES))
    turn = draw.one(_TURNS)
    where = Text(portuguese.contract("em", place.pt), f"at {place.en}")
    if draw.chance(0.4):
        relation = draw.one(_ORDER if turn in _TURNS[:2] else _RELATIONS[2:])
        where = _related(relation, place)
    if draw.chance(0.3):
        turn, where = (
            Text("siga em frente até", "go straight ahead to"), Text(place.pt, place.en),
        )  # fmt: skip
        if draw.chance(0.6):
            then = draw.one(_TURNS[:2])
            where = Text(f"{place.pt} e {then.pt}", f"{place.en} and {then.en}")
    return statement(chain(turn, where))


def distance(draw: Draw) -> Text:
    """A praia fica a dez minutos do hotel / the beach is ten minutes from the hotel."""
    first, second = _two(draw, _SIGHTS)
    if draw.chance(0.6):
        count, unit = spelt(5 * draw.between(1, 12)), Text("minutos", "minutes")
    else:
        count, unit = spelt(draw.between(2, 10)), Text("quilômetros", "kilometres")
    rest = chain(
        Text(f"a {count.pt} {unit.pt}", f"{count.en} {unit.en}"),
        _related(Text("de", "from"), second),
    )
    return statement(clauses.affirm(first, _stands(first), rest))


def waiting_place(draw: Draw) -> Text:
    """Espere por mim em frente ao cinema / wait for me in front of the cinema."""
    relation, place = draw.one(_RELATIONS[2:]), phrases.the(draw.one(PLACES))
    order = draw.one((Text("espere por mim", "wait for me"), Text("espere por nós", "wait for us")))
    return statement(chain(order, _related(relation, place)))


_BUILT = (*of_kind(Kind.PLACE, Kind.ROOM, Kind.HOME), *named("carro ônibus trem"))


def entrance(draw: Draw) -> Text:
    """A porta da cozinha está fechada / the door of the kitchen is closed."""
    part = draw.one(of_kind(Kind.OPENING))
    whole = phrases.the(draw.one(_BUILT))
    many = draw.chance(0.4)
    pt, en, gender, person = phrases.the(part, None, many)
    subject = NounPhrase(
        f"{pt} {portuguese.contract('de', whole.pt)}", f"{en} of {whole.en}", gender, person
    )
    adjective = draw.adjective_for(part)
    state = Text(portuguese.agree(adjective.pt, gender, many), adjective.en)
    group = (clauses.was if draw.chance(0.3) else clauses.is_)(
        Person.THEY if many else Person.HE, adjective.passing
    )
    return vary(draw, subject, group, state)


CONSTRUCTIONS = (
    where_is, where_are_things, neighbours, between, thing_in_place, there_is, there_was,
    there_is_none, is_there_nearby, direction, distance, waiting_place, entrance,
)  # fmt: skip
