"""Commands, suggestions, orders in a shop, giving and liking."""

from tools.phrasebook import clauses, phrases, portuguese, times, verbs
from tools.phrasebook.clauses import (
    affirm,
    ask,
    chain,
    exclamation,
    question,
    statement,
    with_object,
)
from tools.phrasebook.draw import Draw
from tools.phrasebook.entries import NounPhrase, Person, Text, Verb
from tools.phrasebook.nouns import DRINKS, EDIBLE, FAMILY, FRUIT, STRANGERS, named
from tools.phrasebook.numbers import spelt
from tools.phrasebook.subjects import HE, NAMES, SHE, THEY, YOU, anyone
from tools.phrasebook.variation import vary

_COMMANDED = tuple(
    verb for verb in verbs.ACTIONS if verb.pt not in ("perder", "encontrar", "ver", "esquecer")
)
_FORBIDDEN = (*_COMMANDED, *verbs.actions("perder esquecer"))

# What things are sold by: uma garrafa de leite, dois quilos de batatas.
_BOTTLE = (named("garrafa")[0], named("água leite suco vinho cerveja"))
_GLASS = (named("copo")[0], named("água leite suco vinho cerveja"))
_BOX = (named("caixa")[0], (*FRUIT, *named("ovo chá")))
_PORTIONS = (_BOTTLE, _GLASS, _BOX)
_WEIGHED = (*FRUIT, *named("batata pão arroz queijo carne peixe frango"))


def _order(draw: Draw, options: tuple[Verb, ...]) -> tuple[Verb, Text]:
    verb = draw.one(options)
    return verb, with_object(verb, phrases.object_phrase(draw, verb, Person.YOU))


def command(draw: Draw) -> Text:
    """Feche a janela, por favor. / close the window, please."""
    verb, thing = _order(draw, _COMMANDED)
    order = chain(Text(portuguese.command(verb.pt), verb.en), thing)
    if draw.chance(0.5):
        return exclamation(order)
    return statement(Text(f"{order.pt}, por favor", f"{order.en}, please"))


def prohibition(draw: Draw) -> Text:
    """Não abra a janela! / do not open the window!"""
    verb = draw.one(_FORBIDDEN)
    thing = with_object(verb, phrases.known_object(draw, verb, Person.YOU))
    return exclamation(
        chain(Text(f"não {portuguese.command(verb.pt)}", f"do not {verb.en}"), thing)
    )


def suggestion(draw: Draw) -> Text:
    """Vamos fazer um bolo! / let's make a cake!"""
    verb, thing = _order(draw, _COMMANDED)
    when = times.future(draw, verb) if draw.chance(0.4) else clauses.NOTHING
    return exclamation(chain(Text(f"vamos {verb.pt}", f"let's {verb.en}"), thing, when))


def portion(draw: Draw) -> Text:
    """Eu gostaria de duas garrafas de leite, por favor. / I would like two bottles of milk, ..."""
    container, contents = draw.one(_PORTIONS)
    number, content = draw.between(1, 6), phrases.bare(draw.one(contents))
    amount = phrases.a(container) if number == 1 else phrases.counted(number, container)
    goods = Text(f"{amount.pt} de {content.pt}", f"{amount.en} of {content.en}")
    if draw.chance(0.5):
        return statement(
            Text(f"eu gostaria de {goods.pt}, por favor", f"I would like {goods.en}, please")
        )
    people = anyone(draw)
    return statement(
        affirm(people, clauses.past(_BUY, people.person), chain(goods, times.past(draw, _BUY)))
    )


def weight(draw: Draw) -> Text:
    """Eu preciso de dois quilos de arroz / I need two kilos of rice."""
    verb = draw.one(_WEIGHING)
    number, content = spelt(draw.between(2, 20)), phrases.bare(draw.object_of(verb))
    goods = Text(f"{number.pt} quilos de {content.pt}", f"{number.en} kilos of {content.en}")
    people = anyone(draw)
    linked = Text(
        portuguese.contract(verb.pt_link, goods.pt) if verb.pt_link else goods.pt, goods.en
    )
    return vary(draw, people, clauses.present(verb, people.person), linked)


_BUY = Verb("comprar", "buy", "bought", brief=True)
_WANT = Verb("querer", "want", "", (*EDIBLE, *DRINKS))
_WEIGHING = (
    Verb("querer", "want", "", _WEIGHED),
    Verb("precisar", "need", "", _WEIGHED, pt_link="de"),
)


def _receiver(draw: Draw, giver: NounPhrase) -> NounPhrase:
    roll = draw.between(1, 3)
    if roll == 1:
        return draw.one([name for name in NAMES if name is not giver])
    if roll == 2:
        return phrases.the(draw.one(STRANGERS))
    return phrases.somebodys(draw, draw.one(FAMILY), giver.person)


def _gift(draw: Draw, giver: NounPhrase) -> tuple[Verb, Text]:
    verb = draw.one(verbs.GIVING)
    thing = phrases.object_phrase(draw, verb, giver.person)
    receiver = _receiver(draw, giver)
    while receiver.pt == giver.pt:
        receiver = _receiver(draw, giver)
    to = Text(portuguese.contract("a", receiver.pt), f"to {receiver.en}")
    return verb, chain(Text(thing.pt, thing.en), to)


def giving(draw: Draw) -> Text:
    """Ela deu o livro à professora ontem / she gave the book to the teacher yesterday."""
    giver = anyone(draw)
    verb, gift = _gift(draw, giver)
    return statement(
        affirm(giver, clauses.past(verb, giver.person), chain(gift, times.past(draw, verb)))
    )


def giving_planned(draw: Draw) -> Text:
    """Eu vou mostrar a casa aos alunos / I am going to show the house to the students."""
    giver = anyone(draw)
    verb, gift = _gift(draw, giver)
    return vary(draw, giver, clauses.going_to(verb, giver.person), gift)


def giving_asked_for(draw: Draw) -> Text:
    """Você pode emprestar a bicicleta a Pedro? / can you lend the bicycle to Pedro?"""
    verb, gift = _gift(draw, YOU)
    return question(ask(YOU, clauses.governed(clauses.CAN, verb, Person.YOU), gift))


def liking(draw: Draw) -> Text:
    """Eu gosto de laranjas / I like oranges; ela não gosta deste filme / she does not like ..."""
    subject = anyone(draw)
    choose = draw.one((phrases.usual_object, phrases.known_object))
    thing = choose(draw, verbs.LIKING, subject.person)
    while thing.pt == subject.pt:
        thing = choose(draw, verbs.LIKING, subject.person)
    group = clauses.present(verbs.LIKING, subject.person)
    return vary(draw, subject, group, with_object(verbs.LIKING, thing))


def pastime(draw: Draw) -> Text:
    """Ana gosta de nadar no verão / Ana likes to swim in summer."""
    subject, modal = anyone(draw), draw.one((clauses.LIKE, clauses.PREFER, clauses.KNOW))
    verb = draw.one(_SKILLS if modal is clauses.KNOW else (*verbs.ACTIVITIES, *_PASTIMES))
    thing = clauses.NOTHING
    if verb.objects:
        thing = with_object(verb, phrases.bare(draw.object_of(verb)))
    when = draw.one((*times.SEASONS, *times.USUAL)) if draw.chance(0.5) else clauses.NOTHING
    if modal is clauses.KNOW:
        when = clauses.NOTHING  # one can swim all the year round
    group = clauses.governed(modal, verb, subject.person)
    rest = chain(thing, when)
    if modal is clauses.PREFER:
        return statement(affirm(subject, group, rest))
    return vary(draw, subject, group, rest)


_PASTIMES = verbs.actions("tocar jogar cozinhar ler estudar ensinar")


_SKILLS = tuple(
    verb for verb in (*verbs.ACTIVITIES, *verbs.ACTIONS)
    if verb.pt in ("nadar", "dançar", "cantar", "cozinhar", "tocar", "jogar", "ensinar")
)  # fmt: skip


def offer(draw: Draw) -> Text:
    """Quem quer café? / who wants coffee? você quer mais queijo? / do you want more cheese?"""
    food = phrases.bare(draw.object_of(_WANT))
    if draw.chance(0.3):
        return question(Text(f"quem quer {food.pt}", f"who wants {food.en}"))
    people = draw.one((YOU, HE, SHE, THEY, *NAMES))
    group = clauses.present(_WANT, people.person)
    return question(ask(people, group, Text(f"mais {food.pt}", f"more {food.en}")))


CONSTRUCTIONS = (
    command, prohibition, suggestion, portion, weight,
    giving, giving_planned, giving_asked_for, liking, pastime, offer,
)  # fmt: skip
