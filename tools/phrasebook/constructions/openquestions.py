"""Questions that open with what, where, when, who, why, which, how or how many."""

from tools.phrasebook import adjectives, clauses, phrases, portuguese, times, verbs
from tools.phrasebook.clauses import ask, chain, question, with_object
from tools.phrasebook.draw import Draw
from tools.phrasebook.entries import Person, Text, Verb
from tools.phrasebook.nouns import PLACES
from tools.phrasebook.phrases import object_phrase, usual_object
from tools.phrasebook.subjects import HE, SHE, THEY, YOU, another, anyone

_WHAT = Text("o que", "what")
_WHERE = Text("onde", "where")
_WHEN = Text("quando", "when")
_WHY = Text("por que", "why")

_OPEN_ENDED = verbs.actions(
    "comer beber comprar vender ler escrever estudar ensinar "
    "fazer perder encontrar procurar lavar limpar trazer esquecer aprender"
)
_LASTING = tuple(verb for verb in _OPEN_ENDED if verb.pt not in ("perder", "encontrar", "esquecer"))


def what(draw: Draw) -> Text:
    """O que ela comprou ontem? / what did she buy yesterday?"""
    subject = another(draw)
    roll = draw.between(1, 4)
    if roll == 1:
        verb = draw.one(_OPEN_ENDED)
        group, when = clauses.past(verb, subject.person), times.past(draw, verb)
    elif roll == 2:
        verb = draw.one(_LASTING)
        group, when = clauses.going_to(verb, subject.person), times.future(draw, verb)
    elif roll == 3:
        verb = draw.one(_LASTING)
        group, when = clauses.going_on(verb, subject.person), clauses.NOTHING
    else:
        verb = draw.one(_LASTING)
        group, when = clauses.present(verb, subject.person), draw.one(times.USUAL)
    return question(ask(subject, group, chain(Text("", verb.en_link), when), _WHAT))


def where(draw: Draw) -> Text:
    """Onde você quer comprar vestidos? / where do you want to buy dresses?"""
    subject = another(draw)
    if draw.chance(0.3):
        verb = draw.one((verbs.LIVE, verbs.WORK, verbs.STUDY, *verbs.ACTIVITIES))
        return question(ask(subject, clauses.present(verb, subject.person), opener=_WHERE))
    verb = draw.one(_FOUND_SOMEWHERE)
    thing = with_object(verb, usual_object(draw, verb, subject.person))
    modal = draw.one((clauses.CAN, clauses.WANT))
    group = clauses.governed(modal, verb, subject.person)
    return question(ask(subject, group, thing, _WHERE))


_FOUND_SOMEWHERE = verbs.actions("comprar estudar esperar alugar aprender pegar lavar comer")


def when(draw: Draw) -> Text:
    """Quando ele vai pintar a porta? / when is he going to paint the door?"""
    subject = another(draw)
    verb = draw.one(_LASTING + _FOUND_SOMEWHERE)
    thing = with_object(verb, object_phrase(draw, verb, subject.person))
    return question(ask(subject, clauses.going_to(verb, subject.person), thing, _WHEN))


def why(draw: Draw) -> Text:
    """Por que você não quer café? / why do you not want coffee?"""
    subject = draw.one((YOU, HE, SHE, THEY))
    if draw.chance(0.5):
        verb = draw.one(verbs.STATES)
        thing = with_object(verb, object_phrase(draw, verb, subject.person))
        group = clauses.present(verb, subject.person)
    else:
        verb = draw.one(_LASTING)
        thing = with_object(verb, object_phrase(draw, verb, subject.person))
        group = clauses.going_on(verb, subject.person)
    if draw.chance(0.3):
        group = clauses.VerbGroup(f"não {group.pt}", group.auxiliary, f"not {group.main}", "")
    return question(ask(subject, group, thing, _WHY))


# One does not ask why somebody is ready.
_PUZZLING = tuple(mood for mood in adjectives.MOODS if mood is not adjectives.READY)


def why_mood(draw: Draw) -> Text:
    """Por que ela está triste? / why is she sad?"""
    subject = another(draw)
    genderless = subject.person in (Person.I, Person.YOU)
    mood = draw.one(adjectives.GENDERLESS_MOODS if genderless else _PUZZLING)
    pt = portuguese.agree(mood.pt, subject.gender, subject.person.plural)
    return question(ask(subject, clauses.is_(subject.person, True), Text(pt, mood.en), _WHY))


def who(draw: Draw) -> Text:
    """Quem abriu a janela ontem? / who opened the window yesterday?"""
    roll = draw.between(1, 3)
    if roll == 1:
        verb = draw.one(verbs.ACTIONS)
        group, when_ = clauses.past(verb, Person.HE), times.past(draw, verb)
    elif roll == 2:
        verb = draw.one(_LASTING + _FOUND_SOMEWHERE)
        group, when_ = clauses.going_to(verb, Person.HE), times.future(draw, verb)
    else:
        verb = draw.one(verbs.STATES)
        group, when_ = clauses.present(verb, Person.HE), clauses.NOTHING
    thing = with_object(verb, object_phrase(draw, verb, Person.HE))
    rest = chain(thing, when_)
    return question(
        Text(clauses.join("quem", group.pt, rest.pt), clauses.join("who", group.plain, rest.en))
    )


def which(draw: Draw) -> Text:
    """Qual camisa você prefere? / which shirt do you prefer?"""
    subject = another(draw)
    verb = draw.one([verb for verb in verbs.STATES if verb.pt in ("querer", "preferir")])
    noun = draw.object_of(verb)
    group = clauses.present(verb, subject.person)
    if draw.chance(0.5):
        verb = draw.one(_CHOSEN)
        noun, group = draw.object_of(verb), clauses.going_to(verb, subject.person)
    rest = Text("", verb.en_link)
    return question(ask(subject, group, rest, Text(f"qual {noun.pt}", f"which {noun.en}")))


# Verbs whose objects there are several of, unlike "the piano" or mathematics.
_CHOSEN = tuple(verb for verb in _LASTING if verb.pt not in ("estudar", "aprender", "ensinar"))


def how_many(draw: Draw) -> Text:
    """Quantas maçãs você quer? / how many apples do you want?"""
    subject = another(draw)
    verb = draw.one(verbs.STATES[:2])
    group = clauses.present(verb, subject.person)
    when_ = clauses.NOTHING
    if draw.chance(0.6):
        verb = draw.one(_COUNTABLE)
        group, when_ = clauses.past(verb, subject.person), times.past(draw, verb)
    noun = draw.object_of(verb)
    things = phrases.bare(noun)
    much = portuguese.agree("quanto", noun.gender, not noun.mass)
    opener = Text(f"{much} {things.pt}", f"how {'much' if noun.mass else 'many'} {things.en}")
    return question(ask(subject, group, when_, opener))


_COUNTABLE = verbs.actions("comer beber comprar vender ler escrever trazer")


def how_often(draw: Draw) -> Text:
    """Com que frequência ela joga tênis? / how often does she play tennis?"""
    subject = another(draw)
    verb = draw.one(_LASTING + _REPEATED)
    thing = with_object(verb, usual_object(draw, verb, subject.person))
    opener = Text("com que frequência", "how often")
    return question(ask(subject, clauses.present(verb, subject.person), thing, opener))


_REPEATED: tuple[Verb, ...] = verbs.actions("jogar tocar visitar ouvir cozinhar")


def how_to_get(draw: Draw) -> Text:
    """Como eu posso chegar ao museu? / how can I get to the museum?"""
    subject, place = anyone(draw), draw.one(PLACES)
    to = Text(
        portuguese.contract("a", phrases.the(place).pt),
        f"to {place.en if place.en_bare else phrases.the(place).en}",
    )
    group = clauses.governed(clauses.CAN, Verb("chegar", "get"), subject.person)
    return question(ask(subject, group, to, Text("como", "how")))


CONSTRUCTIONS = (
    what, where, when, why, why_mood, who, which, how_many, how_often, how_to_get,
)  # fmt: skip
