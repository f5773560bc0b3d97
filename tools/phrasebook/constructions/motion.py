"""Going, coming back, travelling, living and staying."""

from tools.phrasebook import clauses, phrases, portuguese, times, verbs
from tools.phrasebook.clauses import (
    chain,
    exclamation,
)
from tools.phrasebook.draw import Draw
from tools.phrasebook.entries import Noun, Person, Text, Verb
from tools.phrasebook.nouns import PLACES, named
from tools.phrasebook.subjects import anyone
from tools.phrasebook.variation import vary

CITIES = (
    Text("Lisboa", "Lisbon"),
    Text("Paris", "Paris"),
    Text("Londres", "London"),
    Text("Roma", "Rome"),
    Text("Berlim", "Berlin"),
    Text("Madri", "Madrid"),
    Text("Nova York", "New York"),
)
_MEANS = (
    Text("de ônibus", "by bus"),
    Text("de trem", "by train"),
    Text("de carro", "by car"),
    Text("de bicicleta", "by bicycle"),
    Text("de táxi", "by taxi"),
    Text("a pé", "on foot"),
)
_PATHS = named("parque praça jardim praia mercado museu")
_STOPS = named("hospital hotel museu teatro escola mercado estação aeroporto praia igreja")


def _to(place: Noun) -> Text:
    goal = phrases.the(place)
    return Text(portuguese.contract("a", goal.pt), f"to {place.en if place.en_bare else goal.en}")


def _from(place: Noun) -> Text:
    source = phrases.the(place)
    en = place.en if place.en_bare else source.en
    return Text(portuguese.contract("de", source.pt), f"back from {en}")


def at(place: Noun) -> Text:
    """No parque / in the park; na escola / at school."""
    where = phrases.the(place)
    en = place.en if place.en_bare else where.en
    return Text(portuguese.contract("em", where.pt), f"{place.en_place} {en}")


def going_usually(draw: Draw) -> Text:
    """Ana vai à escola de ônibus todos os dias / Ana goes to school by bus every day."""
    subject = anyone(draw)
    means = draw.one(_MEANS) if draw.chance(0.5) else clauses.NOTHING
    rest = chain(_to(draw.one(PLACES)), means, draw.one(times.USUAL))
    return vary(draw, subject, clauses.present(verbs.GO, subject.person), rest)


def going_tomorrow(draw: Draw) -> Text:
    """Nós vamos ao mercado amanhã / we are going to the market tomorrow."""
    subject = anyone(draw)
    going = clauses.going_on(verbs.GO, subject.person)
    group = going._replace(pt=portuguese.present("ir", subject.person))
    means = draw.one(_MEANS) if draw.chance(0.2) else clauses.NOTHING
    rest = chain(_to(draw.one(PLACES)), means, draw.one(times.FUTURE))
    return vary(draw, subject, group, rest)


def went(draw: Draw) -> Text:
    """Eles foram à praia no sábado passado / they went to the beach last Saturday."""
    subject = anyone(draw)
    means = draw.one(_MEANS) if draw.chance(0.2) else clauses.NOTHING
    rest = chain(_to(draw.one(PLACES)), means, draw.one(times.PAST))
    return vary(draw, subject, clauses.past(verbs.GO, subject.person), rest)


def wanting_to_go(draw: Draw) -> Text:
    """Você quer ir ao cinema hoje à noite? / do you want to go to the cinema tonight?"""
    subject = anyone(draw)
    when = draw.one(times.FUTURE) if draw.chance(0.5) else clauses.NOTHING
    modal = draw.one(clauses.MODALS)
    group = clauses.governed(modal, verbs.GO, subject.person)
    return vary(draw, subject, group, chain(_to(draw.one(PLACES)), when))


def outing(draw: Draw) -> Text:
    """Vamos ao cinema! / let's go to the cinema!"""
    means = draw.one(_MEANS) if draw.chance(0.4) else clauses.NOTHING
    return exclamation(chain(Text("vamos", "let's go"), _to(draw.one(PLACES)), means))


def coming_back(draw: Draw) -> Text:
    """Meu tio voltou do hospital ontem / my uncle came back from the hospital yesterday."""
    subject, source = anyone(draw), _from(draw.one(PLACES))
    if draw.chance(0.5):
        group, when = clauses.past(verbs.COME, subject.person), draw.one(times.PAST)
    else:
        group, when = clauses.going_to(verbs.COME, subject.person), draw.one(times.FUTURE)
    return vary(draw, subject, group, chain(source, when))


def strolling(draw: Draw) -> Text:
    """Nós caminhamos pelo parque aos domingos / we walk through the park on Sundays."""
    subject, path = anyone(draw), phrases.the(draw.one(_PATHS))
    through = Text(portuguese.contract("por", path.pt), f"through {path.en}")
    verb = draw.one((verbs.WALK, Verb("correr", "run", "ran")))
    if draw.chance(0.5):
        group, when = clauses.present(verb, subject.person), draw.one(times.USUAL)
    else:
        group, when = clauses.past(verb, subject.person), draw.one(times.PAST)
    return vary(draw, subject, group, chain(through, when))


def travelling(draw: Draw) -> Text:
    """Ela vai viajar para Roma de trem / she is going to travel to Rome by train."""
    subject, city = anyone(draw), draw.one(CITIES)
    to = Text(f"para {city.pt}", f"to {city.en}")
    means = draw.one(_MEANS[:3]) if draw.chance(0.4) else clauses.NOTHING
    travel = Verb("viajar", "travel")
    if draw.chance(0.4):
        group, when = clauses.past(travel, subject.person), draw.one(times.PAST)
    else:
        group, when = clauses.going_to(travel, subject.person), draw.one(times.FUTURE)
    return vary(draw, subject, group, chain(to, means, when))


def living(draw: Draw) -> Text:
    """Minha avó mora em Lisboa / my grandmother lives in Lisbon."""
    subject, city = anyone(draw), draw.one(CITIES)
    verb = draw.one((verbs.LIVE, verbs.WORK, verbs.STUDY))
    rest = Text(f"em {city.pt}", f"in {city.en}")
    return vary(draw, subject, clauses.present(verb, subject.person), rest)


def company(draw: Draw) -> Text:
    """Eu fui ao parque com meu irmão ontem / I went to the park with my brother yesterday."""
    subject = anyone(draw)
    friend = phrases.somebodys(draw, draw.one(named("irmão irmã tio tia filho amigo")), Person.HE)
    while friend.pt == subject.pt:
        friend = phrases.somebodys(draw, draw.one(named("irmã tia filha")), Person.HE)
    together = Text(f"com {friend.pt}", f"with {friend.en}")
    if draw.chance(0.5):
        rest = chain(_to(draw.one(PLACES)), together, draw.one(times.PAST))
        return vary(draw, subject, clauses.past(verbs.GO, subject.person), rest)
    rest = chain(together, at(draw.one(named("parque praia restaurante cinema jardim museu"))))
    return vary(draw, subject, clauses.going_on(verbs.TALK, subject.person), rest)


def staying(draw: Draw) -> Text:
    """Eles estão na estação / they are at the station."""
    subject, place = anyone(draw), at(draw.one(PLACES))
    if draw.chance(0.5):
        return vary(draw, subject, clauses.is_(subject.person, True), place)
    rest = chain(place, draw.one(times.YESTERDAY))
    return vary(draw, subject, clauses.was(subject.person, True), rest)


def doing_somewhere(draw: Draw) -> Text:
    """As crianças estão correndo no jardim / the children are running in the garden."""
    subject = anyone(draw)
    verb, places = draw.one(_WHEREABOUTS)
    rest = at(draw.one(places))
    return vary(draw, subject, clauses.going_on(verb, subject.person), rest)


_WHEREABOUTS = (
    (Verb("correr", "run"), named("parque praia jardim praça")),
    (Verb("dormir", "sleep"), named("quarto sala sofá cama jardim hotel")),
    (Verb("trabalhar", "work"), named("hospital banco escola jardim hotel restaurante padaria")),
    (Verb("estudar", "study"), named("biblioteca escola universidade cozinha quarto sala")),
    (Verb("cantar", "sing"), named("igreja teatro banheiro jardim praça")),
    (Verb("dançar", "dance"), named("praça praia sala teatro restaurante")),
    (Verb("esperar", "wait"), named("estação aeroporto hotel carro banco farmácia hospital")),
    (Verb("descansar", "rest"), named("jardim praia parque sofá sala quarto")),
)


def traffic(draw: Draw) -> Text:
    """Este ônibus vai à estação / this bus goes to the station."""
    vehicle = draw.one((phrases.the, phrases.this, phrases.that))(draw.one(named("ônibus táxi")))
    goal = draw.one(_STOPS)
    if draw.chance(0.3):
        time = times.at_clock(draw)
        arrival = phrases.the(goal)
        en = goal.en if goal.en_bare else arrival.en
        rest = chain(Text(portuguese.contract("a", arrival.pt), f"at {en}"), time)
        group = clauses.present(Verb("chegar", "arrive"), vehicle.person)
        return vary(draw, vehicle, group, rest)
    return vary(draw, vehicle, clauses.present(verbs.GO, vehicle.person), _to(goal))


CONSTRUCTIONS = (
    going_usually, going_tomorrow, went, wanting_to_go, outing, coming_back, strolling,
    travelling, living, company, staying, doing_somewhere, traffic,
)  # fmt: skip
