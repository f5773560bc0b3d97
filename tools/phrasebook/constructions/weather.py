"""The weather, today, yesterday and tomorrow, here and elsewhere."""

from tools.phrasebook import clauses, times
from tools.phrasebook.clauses import chain, question, statement
from tools.phrasebook.constructions.motion import CITIES
from tools.phrasebook.draw import Draw
from tools.phrasebook.entries import Person, Text, Verb

_FALLING = (Verb("chover", "rain"), Verb("nevar", "snow"))
_FELT = (
    Text("quente", "hot"),
    Text("frio", "cold"),
    Text("nublado", "cloudy"),
    Text("ensolarado", "sunny"),
)
_TODAY = (Text("hoje", "today"), Text("agora", "now"), Text("esta manhã", "this morning"))


def _city(draw: Draw) -> Text:
    if draw.chance(0.3):
        return clauses.NOTHING
    city = draw.one(CITIES)
    return Text(f"em {city.pt}", f"in {city.en}")


def _sentence(draw: Draw, group: clauses.VerbGroup, rest: Text) -> Text:
    """It has no counterpart in Portuguese: está chovendo / it is raining."""
    roll = draw.between(1, 4)
    if roll == 1:
        return question(chain(Text(group.pt, f"{group.auxiliary} it {group.main}".strip()), rest))
    if roll == 2:
        denied = clauses.join(group.auxiliary, "not", group.main)
        return statement(chain(Text(f"não {group.pt}", f"it {denied}"), rest))
    return statement(chain(Text(group.pt, f"it {group.plain}"), rest))


def raining(draw: Draw) -> Text:
    """Está chovendo em Londres / it is raining in London."""
    group = clauses.going_on(draw.one(_FALLING), Person.HE)
    return _sentence(draw, group, chain(_city(draw), draw.one((clauses.NOTHING, *times.NOW))))


def rained(draw: Draw) -> Text:
    """Choveu muito ontem / it rained a lot yesterday."""
    group = clauses.past(draw.one(_FALLING), Person.HE)
    much = Text("muito", "a lot") if draw.chance(0.5) else clauses.NOTHING
    return _sentence(draw, group, chain(much, _city(draw), draw.one(times.PAST)))


def rain_expected(draw: Draw) -> Text:
    """Vai nevar em Paris amanhã / it is going to snow in Paris tomorrow."""
    group = clauses.going_to(draw.one(_FALLING), Person.HE)
    much = Text("muito", "a lot") if draw.chance(0.3) else clauses.NOTHING
    return _sentence(draw, group, chain(much, _city(draw), draw.one(times.FUTURE)))


def climate(draw: Draw) -> Text:
    """Chove muito em Lisboa no inverno / it rains a lot in Lisbon in winter."""
    verb = draw.one(_FALLING)
    group = clauses.present(verb, Person.HE)
    much = Text("muito", "a lot") if draw.chance(0.5) else clauses.NOTHING
    month = draw.one(times.MONTHS)
    when = draw.one((*times.SEASONS, Text(f"em {month.pt}", f"in {month.en}")))
    return _sentence(draw, group, chain(much, _city(draw), when))


def temperature(draw: Draw) -> Text:
    """Está frio em Berlim hoje / it is cold in Berlin today."""
    felt = draw.one(_FELT)
    degree = Text("muito", "very") if draw.chance(0.4) else clauses.NOTHING
    group = clauses.is_(Person.HE, True)
    when = draw.one(_TODAY)
    if draw.chance(0.4):
        group, when = clauses.was(Person.HE, True), draw.one(times.PAST)
    return _sentence(draw, group, chain(degree, felt, _city(draw), when))


CONSTRUCTIONS = (raining, rained, rain_expected, climate, temperature)
