"""Prices, sums, the time, dates and timetables."""

from tools.phrasebook import clauses, english, phrases, portuguese, times
from tools.phrasebook.clauses import chain, question, statement
from tools.phrasebook.constructions.motion import CITIES
from tools.phrasebook.draw import Draw
from tools.phrasebook.entries import Kind, Noun, NounPhrase, Person, Text, Verb
from tools.phrasebook.nouns import (
    FAMILY,
    SHOWS,
    TRANSPORT,
    named,
    of_kind,
)
from tools.phrasebook.numbers import spelt
from tools.phrasebook.subjects import NAMES, another, anyone

_CURRENCIES = (Text("reais", "reais"), Text("euros", "euros"), Text("dólares", "dollars"))
_WARES = (
    *of_kind(Kind.CLOTHING, Kind.DEVICE, Kind.FRUIT, Kind.DISH, Kind.FOOD, Kind.COLD_DRINK),
    *named("livro revista caneta caderno mala bolsa guarda-chuva mapa copo faca boneca"),
    *named("bicicleta mesa cadeira"),
)  # fmt: skip
_CHEAP = (Kind.FRUIT, Kind.DISH, Kind.FOOD, Kind.COLD_DRINK, Kind.READING)
_COST = Verb("custar", "cost")


def _amount(draw: Draw, noun: Noun) -> Text:
    if noun.kind in _CHEAP:
        return spelt(draw.between(2, 20))
    if noun.kind is Kind.THING or draw.chance(0.5):
        return spelt(draw.between(5, 99))
    return spelt(10 * draw.between(10, 99))


def _ware(draw: Draw, noun: Noun) -> NounPhrase:
    many = not noun.mass and draw.chance(0.3)
    determined = draw.one((phrases.the, phrases.the, phrases.this, phrases.that))
    adjective = draw.adjective_for(noun) if draw.chance(0.25) else None
    return determined(noun, adjective, many)


def price(draw: Draw) -> Text:
    """Esta camisa custa cento e vinte reais / this shirt costs one hundred and twenty reais."""
    noun = draw.one(_WARES)
    ware, currency = _ware(draw, noun), draw.one(_CURRENCIES)
    amount = _amount(draw, noun)
    rest = Text(f"{amount.pt} {currency.pt}", f"{amount.en} {currency.en}")
    clause = draw.one((clauses.affirm, clauses.affirm, clauses.affirm, clauses.deny))
    return statement(clause(ware, clauses.present(_COST, ware.person), rest))


def how_much(draw: Draw) -> Text:
    """Quanto custam estes livros? / how much do these books cost?"""
    ware = _ware(draw, draw.one(_WARES))
    group = clauses.present(_COST, ware.person)
    return question(
        Text(f"quanto {group.pt} {ware.pt}", f"how much {group.auxiliary} {ware.en} cost")
    )


def paying(draw: Draw) -> Text:
    """Ela pagou trinta euros pelo vestido / she paid thirty euros for the dress."""
    noun = draw.one(_WARES)
    buyer, ware = anyone(draw), _ware(draw, noun)
    amount, currency = _amount(draw, noun), draw.one(_CURRENCIES)
    when = draw.one(times.YESTERDAY)
    sum_ = Text(f"{amount.pt} {currency.pt}", f"{amount.en} {currency.en}")
    for_ = Text(portuguese.contract("por", ware.pt), f"for {ware.en}")
    group = clauses.past(Verb("pagar", "pay", "paid"), buyer.person)
    return statement(clauses.affirm(buyer, group, chain(sum_, for_, when)))


def addition(draw: Draw) -> Text:
    """Dois mais três são cinco / two plus three is five."""
    first, second = draw.between(2, 30), draw.between(2, 30)
    one, two, total = spelt(first), spelt(second), spelt(first + second)
    return statement(
        Text(f"{one.pt} mais {two.pt} são {total.pt}", f"{one.en} plus {two.en} is {total.en}")
    )


def time_of_day(draw: Draw) -> Text:
    """São três e meia da tarde / it is half past three in the afternoon."""
    hour = draw.between(1, 12)
    if draw.chance(0.3):
        time = times.clock_before(hour, draw.one((5, 10, 15, 20)))
        verb = "são"  # so many minutes are missing
    else:
        time = times.clock(hour, draw.one((0, 5, 10, 15, 20, 25, 30)))
        verb = "é" if hour == 1 else "são"
    part = times.part_of_day(draw, hour) if draw.chance(0.7) else clauses.NOTHING
    return statement(chain(Text(verb, "it is"), time, part))


def departure(draw: Draw) -> Text:
    """O trem para Roma sai às oito e dez / the train to Rome leaves at ten past eight."""
    vehicle, city = phrases.the(draw.one(TRANSPORT)), draw.one(CITIES)
    subject = vehicle._replace(pt=f"{vehicle.pt} para {city.pt}", en=f"{vehicle.en} to {city.en}")
    verb = Verb("sair", "leave", "left")
    if draw.chance(0.4):
        subject = vehicle._replace(
            pt=f"{vehicle.pt} de {city.pt}", en=f"{vehicle.en} from {city.en}"
        )
        verb = Verb("chegar", "arrive")
    group = clauses.present(verb, Person.HE)
    if draw.chance(0.15):
        opener = Text("a que horas", "what time")
        return question(clauses.ask(subject, group, opener=opener))
    return statement(clauses.affirm(subject, group, times.at_clock(draw)))


_WITH_HOURS = named(
    "escola farmácia banco mercado padaria restaurante museu cinema biblioteca igreja correio loja"
)


def opening_hours(draw: Draw) -> Text:
    """A loja abre às nove horas / the shop opens at nine o'clock."""
    place = phrases.the(draw.one(_WITH_HOURS))
    verb = draw.one((Verb("abrir", "open"), Verb("fechar", "close")))
    group, time = clauses.present(verb, Person.HE), times.at_clock(draw)
    if draw.chance(0.3):
        return question(clauses.ask(place, group, opener=Text("a que horas", "what time")))
    return statement(clauses.affirm(place, group, time))


def show_time(draw: Draw) -> Text:
    """A reunião começa às três horas / the meeting starts at three o'clock."""
    show = phrases.the(draw.one(SHOWS))
    verb = draw.one((Verb("começar", "start"), Verb("terminar", "end")))
    when = times.at_clock(draw)
    if draw.chance(0.4):
        when = chain(when, times.on_day(draw.one(times.WEEKDAYS)))
    group = clauses.present(verb, Person.HE)
    if draw.chance(0.15):
        return question(clauses.ask(show, group, opener=Text("a que horas", "what time")))
    return statement(clauses.affirm(show, group, when))


def routine(draw: Draw) -> Text:
    """Pedro janta às oito horas / Pedro has dinner at eight o'clock."""
    subject = anyone(draw)
    verb, meal = draw.one(_ROUTINES)
    group, time = clauses.present(verb, subject.person), times.at_clock(draw)
    if draw.chance(0.2):
        opener = Text("a que horas", "what time")
        asked = another(draw)
        group = clauses.present(verb, asked.person)
        return question(clauses.ask(asked, group, meal, opener))
    clause = draw.one((clauses.affirm, clauses.affirm, clauses.deny))
    return statement(clause(subject, group, chain(meal, time)))


_ROUTINES = (
    (Verb("jantar", "have"), Text("", "dinner")),
    (Verb("almoçar", "have"), Text("", "lunch")),
    (Verb("acordar", "wake"), Text("", "up")),
    (Verb("chegar", "arrive"), Text("em casa", "home")),
    (Verb("sair", "leave"), Text("de casa", "home")),
)


def today(draw: Draw) -> Text:
    """Hoje é dia três de maio / today is the third of May."""
    roll, date = draw.between(1, 3), times.date(draw)
    if roll == 1:
        return statement(chain(Text("hoje é", "today is"), date))
    if roll == 2:
        return statement(chain(Text("amanhã é", "tomorrow is"), date))
    day = draw.one(times.WEEKDAYS)
    return statement(Text(f"hoje é {day.pt}, {date.pt}", f"today is {day.en}, {date.en}"))


def occasion(draw: Draw) -> Text:
    """O aniversário de Ana é no dia três de maio / Ana's birthday is on the third of May."""
    owner = draw.one(NAMES)
    if draw.chance(0.5):
        owner = phrases.owned(draw.one((Person.I, Person.YOU, Person.WE)), draw.one(FAMILY))
    party = Text(
        f"o aniversário {portuguese.contract('de', owner.pt)}",
        f"{english.possessive(owner.en)} birthday",
    )
    if draw.chance(0.5):
        show = phrases.the(draw.one(SHOWS))
        party = Text(show.pt, show.en)
    date = times.date(draw)
    return statement(chain(party, Text("é no", "is on"), date))


CONSTRUCTIONS = (
    price, how_much, paying, addition, time_of_day, departure, opening_hours, show_time,
    routine, today, occasion,
)  # fmt: skip
