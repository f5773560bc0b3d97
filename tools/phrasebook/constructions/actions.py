"""What people do: habits, past, plans, present actions, desires and abilities."""

from collections.abc import Callable

from tools.phrasebook import clauses, times, verbs
from tools.phrasebook.clauses import (
    VerbGroup,
    affirm,
    ask,
    chain,
    deny,
    question,
    statement,
    with_object,
)
from tools.phrasebook.draw import Draw
from tools.phrasebook.entries import NounPhrase, Person, Text, Verb
from tools.phrasebook.phrases import object_phrase, usual_object
from tools.phrasebook.subjects import another, anyone
from tools.phrasebook.variation import vary

_Tense = Callable[[Verb, Person], VerbGroup]
_Time = Callable[[Draw, Verb], Text]


# Done in an instant, or not on purpose: nobody "is losing a key now" or wants to.
_MOMENTARY = ("perder", "encontrar", "esquecer", "ver")
_DELIBERATE = tuple(verb for verb in verbs.ACTIONS if verb.pt not in _MOMENTARY)


def _predicate(
    draw: Draw, subject: NounPhrase, options: tuple[Verb, ...] = _DELIBERATE
) -> tuple[Verb, Text]:
    """Something done once: a verb, mostly with an object."""
    if draw.chance(0.15):
        return draw.one(verbs.ACTIVITIES), clauses.NOTHING
    verb = draw.one(options)
    thing = object_phrase(draw, verb, subject.person)
    while thing.pt == subject.pt:
        thing = object_phrase(draw, verb, subject.person)
    return verb, with_object(verb, thing)


def _usual_predicate(draw: Draw, subject: NounPhrase) -> tuple[Verb, Text]:
    """Something done again and again."""
    if draw.chance(0.2):
        return draw.one(verbs.ACTIVITIES), clauses.NOTHING
    verb = draw.one(_HABITUAL)
    thing = usual_object(draw, verb, subject.person)
    while thing.pt == subject.pt:
        thing = usual_object(draw, verb, subject.person)
    return verb, with_object(verb, thing)


_ONCE = ("perder", "encontrar", "procurar", "esquecer", "alugar", "pintar", "consertar", "ver")
_HABITUAL = tuple(verb for verb in verbs.ACTIONS if verb.pt not in (*_ONCE, "carregar", "aprender"))


def _parts(
    draw: Draw, subject: NounPhrase, tense: _Tense, when: _Time
) -> tuple[NounPhrase, VerbGroup, Text]:
    """Subject, verb and the rest of something done once."""
    options = verbs.ACTIONS if tense is clauses.past else _DELIBERATE
    verb, thing = _predicate(draw, subject, options)
    return subject, tense(verb, subject.person), chain(thing, when(draw, verb))


def _usual_parts(draw: Draw, subject: NounPhrase) -> tuple[NounPhrase, VerbGroup, Text]:
    verb, thing = _usual_predicate(draw, subject)
    return subject, clauses.present(verb, subject.person), chain(thing, draw.one(times.USUAL))


def habit(draw: Draw) -> Text:
    """Ana lava camisas todos os dias / Ana washes shirts every day."""
    return statement(affirm(*_usual_parts(draw, anyone(draw))))


def habit_denied(draw: Draw) -> Text:
    """Nós não comemos carne aos domingos / we do not eat meat on Sundays."""
    return statement(deny(*_usual_parts(draw, anyone(draw))))


def habit_asked(draw: Draw) -> Text:
    """Você lê jornais à noite? / do you read newspapers at night?"""
    return question(ask(*_usual_parts(draw, another(draw))))


def frequency(draw: Draw) -> Text:
    """Ela sempre bebe café / she always drinks coffee."""
    subject, often = anyone(draw), draw.one(times.FREQUENCY)
    verb, thing = _usual_predicate(draw, subject)
    group = clauses.present(verb, subject.person)
    placed = VerbGroup(f"{often.pt} {group.pt}", "", "", f"{often.en} {group.plain}")
    return statement(affirm(subject, placed, thing))


def past(draw: Draw) -> Text:
    """Ele comprou dois livros ontem / he bought two books yesterday."""
    return statement(affirm(*_parts(draw, anyone(draw), clauses.past, times.past)))


def past_denied(draw: Draw) -> Text:
    """Eu não abri a porta ontem / I did not open the door yesterday."""
    return statement(deny(*_parts(draw, anyone(draw), clauses.past, times.past)))


def past_asked(draw: Draw) -> Text:
    """Você leu esta carta ontem? / did you read this letter yesterday?"""
    return question(ask(*_parts(draw, another(draw), clauses.past, times.past)))


def plan(draw: Draw) -> Text:
    """Nós vamos alugar um carro amanhã / we are going to rent a car tomorrow."""
    return statement(affirm(*_parts(draw, anyone(draw), clauses.going_to, times.future)))


def plan_denied(draw: Draw) -> Text:
    """Ela não vai vender a casa amanhã / she is not going to sell the house tomorrow."""
    return statement(deny(*_parts(draw, anyone(draw), clauses.going_to, times.future)))


def plan_asked(draw: Draw) -> Text:
    """Você vai cozinhar amanhã? / are you going to cook tomorrow?"""
    return question(ask(*_parts(draw, another(draw), clauses.going_to, times.future)))


def ongoing(draw: Draw) -> Text:
    """Meu pai está lendo o jornal agora / my father is reading the newspaper now."""
    return statement(affirm(*_ongoing_parts(draw, anyone(draw))))


def ongoing_denied(draw: Draw) -> Text:
    """Eles não estão dormindo / they are not sleeping."""
    return statement(deny(*_ongoing_parts(draw, anyone(draw))))


def ongoing_asked(draw: Draw) -> Text:
    """Ela está trabalhando agora? / is she working now?"""
    return question(ask(*_ongoing_parts(draw, another(draw))))


def _ongoing_parts(draw: Draw, subject: NounPhrase) -> tuple[NounPhrase, VerbGroup, Text]:
    verb, thing = _predicate(draw, subject)
    when = draw.one(times.NOW) if draw.chance(0.4) else clauses.NOTHING
    return subject, clauses.going_on(verb, subject.person), chain(thing, when)


# "I do not prefer tea" would leave open what I do prefer; and no family is unloved.
_DENIABLE = tuple(verb for verb in verbs.STATES if verb.pt not in ("preferir", "amar"))


def _state_parts(
    draw: Draw, subject: NounPhrase, options: tuple[Verb, ...]
) -> tuple[NounPhrase, VerbGroup, Text]:
    verb = draw.one(options)
    thing = object_phrase(draw, verb, subject.person)
    while thing.pt == subject.pt:
        thing = object_phrase(draw, verb, subject.person)
    return subject, clauses.present(verb, subject.person), with_object(verb, thing)


def state(draw: Draw) -> Text:
    """Ele quer um chapéu preto / he wants a black hat."""
    return statement(affirm(*_state_parts(draw, anyone(draw), verbs.STATES)))


def state_denied(draw: Draw) -> Text:
    """Ela não quer duas maçãs verdes / she does not want two green apples."""
    return statement(deny(*_state_parts(draw, anyone(draw), _DENIABLE)))


def state_asked(draw: Draw) -> Text:
    """Você tem um carro? / do you have a car?"""
    return question(ask(*_state_parts(draw, another(draw), _DENIABLE)))


def _modal_parts(draw: Draw, subject: NounPhrase) -> tuple[NounPhrase, VerbGroup, Text]:
    modal = draw.one(clauses.MODALS)
    verb, thing = _predicate(draw, subject)
    when = times.future(draw, verb) if verb.brief and draw.chance(0.3) else clauses.NOTHING
    return subject, clauses.governed(modal, verb, subject.person), chain(thing, when)


def modal(draw: Draw) -> Text:
    """Eu preciso comprar pão / I need to buy bread."""
    return statement(affirm(*_modal_parts(draw, anyone(draw))))


def modal_denied(draw: Draw) -> Text:
    """Você não pode abrir esta porta / you cannot open this door."""
    return statement(deny(*_modal_parts(draw, anyone(draw))))


def modal_asked(draw: Draw) -> Text:
    """Você quer tocar piano? / do you want to play the piano?"""
    return question(ask(*_modal_parts(draw, another(draw))))


def wish(draw: Draw) -> Text:
    """Nós gostaríamos de visitar o museu / we would like to visit the museum."""
    subject = anyone(draw)
    verb, thing = _predicate(draw, subject)
    group = clauses.would_like(verb, subject.person)
    return vary(draw, subject, group, thing)


CONSTRUCTIONS = (
    habit, habit_denied, habit_asked, frequency,
    past, past_denied, past_asked,
    plan, plan_denied, plan_asked,
    ongoing, ongoing_denied, ongoing_asked,
    state, state_denied, state_asked,
    modal, modal_denied, modal_asked, wish,
)  # fmt: skip
