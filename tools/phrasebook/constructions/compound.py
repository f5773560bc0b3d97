"""Longer sentences of two clauses: and, but, because, when, if, that, before."""

from tools.phrasebook import adjectives, clauses, english, phrases, portuguese, times, verbs
from tools.phrasebook.clauses import affirm, chain, deny, statement, with_object
from tools.phrasebook.draw import Draw
from tools.phrasebook.entries import Kind, Noun, NounPhrase, Person, Text, Verb
from tools.phrasebook.nouns import DRINKS, EDIBLE, SPORTS, named, of_kind
from tools.phrasebook.phrases import object_phrase, usual_object
from tools.phrasebook.subjects import (
    HE,
    NAMES,
    PRONOUNS,
    SHE,
    WE,
    YOU,
    I,
    pronoun_for,
    someone,
)

_PLEASANT = verbs.actions("encontrar comprar consertar ver visitar vender")
_UNPLEASANT = verbs.actions("perder esquecer")
_AT_HOME = tuple(
    verb for verb in (*verbs.ACTIONS, *verbs.ACTIVITIES)
    if verb.pt in (
        "ler", "cozinhar", "dormir", "descansar", "estudar", "limpar", "ouvir", "dançar", "cantar",
        "tocar", "fazer", "beber", "lavar", "trabalhar",
    )
)  # fmt: skip


def _one_or_pronoun(draw: Draw) -> NounPhrase:
    return draw.one(PRONOUNS) if draw.chance(0.6) else someone(draw)


def _join(first: Text, link: Text, second: Text) -> Text:
    return statement(chain(first, link, second))


def because_of_past(draw: Draw) -> Text:
    """Ela está triste porque ela perdeu a chave ontem / she is sad because she lost the key ..."""
    subject = _one_or_pronoun(draw)
    again = pronoun_for(subject)
    word = draw.one((adjectives.HAPPY, adjectives.SAD))
    mood = Text(portuguese.agree(word.pt, subject.gender, subject.person.plural), word.en)
    verb = draw.one(_PLEASANT if word is adjectives.HAPPY else _UNPLEASANT)
    thing = with_object(verb, object_phrase(draw, verb, subject.person))
    reason = affirm(
        again, clauses.past(verb, again.person), chain(thing, draw.one(times.YESTERDAY))
    )
    feeling = affirm(subject, clauses.is_(subject.person, True), mood)
    return _join(feeling, Text("porque", "because"), reason)


def because_of_mood(draw: Draw) -> Text:
    """Ele não pode trabalhar porque ele está doente / he cannot work because he is ill."""
    subject = _one_or_pronoun(draw)
    again = pronoun_for(subject)
    modal, verb = draw.one((clauses.CAN, clauses.WANT)), draw.one(_AT_HOME)
    thing = clauses.NOTHING
    if verb.objects:
        thing = with_object(verb, object_phrase(draw, verb, subject.person))
    refusal = deny(subject, clauses.governed(modal, verb, subject.person), thing)
    state = affirm(again, clauses.is_(again.person, True), _weary(draw, again))
    return _join(refusal, Text("porque", "because"), state)


def _weary(draw: Draw, subject: NounPhrase) -> Text:
    if subject.person in (Person.I, Person.YOU):
        return Text("doente", "ill")
    word = draw.one((adjectives.TIRED, adjectives.ILL, adjectives.BUSY))
    return Text(portuguese.agree(word.pt, subject.gender, subject.person.plural), word.en)


def _two_objects(draw: Draw, verb: Verb) -> tuple[Noun, Noun]:
    first = second = draw.object_of(verb)
    while second is first:
        second = draw.object_of(verb)
    return first, second


_CONTRASTED = (
    Verb("gostar", "like", "", EDIBLE, pt_link="de"),
    Verb("gostar", "like", "", DRINKS, pt_link="de"),
    Verb("gostar", "like", "", SPORTS, pt_link="de"),
    Verb("comer", "eat", "", EDIBLE),
    Verb("querer", "want", "", (*EDIBLE, *DRINKS)),
    verbs.SPEAK,
)


def contrast(draw: Draw) -> Text:
    """Eu gosto de café, mas eu não gosto de chá / I like coffee, but I do not like tea."""
    subject = _one_or_pronoun(draw)
    again = pronoun_for(subject)
    verb = draw.one(_CONTRASTED)
    first, second = _two_objects(draw, verb)
    likes = affirm(
        subject, clauses.present(verb, subject.person), with_object(verb, phrases.bare(first))
    )
    dislikes = deny(
        again, clauses.present(verb, again.person), with_object(verb, phrases.bare(second))
    )
    return statement(Text(f"{likes.pt}, mas {dislikes.pt}", f"{likes.en}, but {dislikes.en}"))


def weather_habit(draw: Draw) -> Text:
    """Quando chove, ela lê livros / when it rains, she reads books."""
    subject, verb = _one_or_pronoun(draw), draw.one(_AT_HOME)
    thing = clauses.NOTHING
    if verb.objects:
        thing = with_object(verb, usual_object(draw, verb, subject.person))
    sky = draw.one((Text("chove", "rains"), Text("neva", "snows")))
    does = affirm(subject, clauses.present(verb, subject.person), thing)
    return statement(Text(f"quando {sky.pt}, {does.pt}", f"when it {sky.en}, {does.en}"))


def weather_plan(draw: Draw) -> Text:
    """Se chover amanhã, eu vou limpar a cozinha / if it rains tomorrow, I am going to clean ..."""
    subject, verb = _one_or_pronoun(draw), draw.one(_AT_HOME)
    thing = clauses.NOTHING
    if verb.objects:
        thing = with_object(verb, object_phrase(draw, verb, subject.person))
    sky = draw.one((Text("chover", "rains"), Text("nevar", "snows")))
    when = draw.one(times.TOMORROW)
    does = affirm(subject, clauses.going_to(verb, subject.person), thing)
    return statement(
        Text(f"se {sky.pt} {when.pt}, {does.pt}", f"if it {sky.en} {when.en}, {does.en}")
    )


def belief(draw: Draw) -> Text:
    """Eu acho que este livro é interessante / I think that this book is interesting."""
    thinker = draw.one((I, HE, SHE, WE, YOU, *NAMES))
    noun = draw.one(_JUDGED)
    subject = draw.one((phrases.the, phrases.this))(noun)
    word = draw.adjective_for(noun)
    verb = draw.one((Verb("achar", "think"), Verb("saber", "know"), Verb("dizer", "say")))
    fact = affirm(
        subject,
        clauses.is_(Person.HE, word.passing),
        Text(portuguese.agree(word.pt, subject.gender, False), word.en),
    )
    opinion = affirm(thinker, clauses.present(verb, thinker.person))
    return _join(opinion, Text("que", "that"), fact)


_JUDGED = (
    *of_kind(Kind.CLOTHING, Kind.READING, Kind.PLACE, Kind.OUTDOORS, Kind.SHOW, Kind.DEVICE),
    *named("carro casa apartamento sopa bolo maçã laranja cozinha jardim"),
)


_ENUMERATED = (
    Verb("comprar", "buy", "bought", EDIBLE, brief=True),
    Verb("comer", "eat", "ate", EDIBLE, brief=True),
    Verb("gostar", "like", "", (*EDIBLE, *DRINKS), pt_link="de"),
)


def pair_of_objects(draw: Draw) -> Text:
    """Nós compramos pão e queijo ontem / we bought bread and cheese yesterday."""
    subject = _one_or_pronoun(draw)
    verb = draw.one(_ENUMERATED)
    first, second = _two_objects(draw, verb)
    one, two = phrases.bare(first), phrases.bare(second)
    both = Text(clauses.join(verb.pt_link, f"{one.pt} e {two.pt}"), f"{one.en} and {two.en}")
    if verb.pt == "gostar":
        return statement(affirm(subject, clauses.present(verb, subject.person), both))
    group = clauses.past(verb, subject.person)
    return statement(affirm(subject, group, chain(both, times.past(draw, verb))))


def pair_of_people(draw: Draw) -> Text:
    """Ana e Pedro vão comprar uma casa / Ana and Pedro are going to buy a house."""
    first = draw.one(NAMES)
    second = draw.one([name for name in NAMES if name is not first])
    if draw.chance(0.4):
        second = phrases.owned(draw.one((Person.I, Person.WE)), draw.one(_KIN))
    subject = NounPhrase(
        f"{first.pt} e {second.pt}", f"{first.en} and {second.en}", HE.gender, Person.THEY
    )
    verb = draw.one(_AT_HOME + _PLEASANT)
    thing = clauses.NOTHING
    if verb.objects:
        thing = with_object(verb, object_phrase(draw, verb, Person.THEY))
    tense = draw.one((clauses.going_to, clauses.past))
    when = (times.future if tense is clauses.going_to else times.past)(draw, verb)
    return statement(affirm(subject, tense(verb, Person.THEY), chain(thing, when)))


_KIN = named("irmão irmã pai mãe filho filha avó tio tia vizinho")


def order_of_actions(draw: Draw) -> Text:
    """Ele sempre bebe água antes de correr / he always drinks water before running."""
    subject = _one_or_pronoun(draw)
    verb, later = draw.one(_AT_HOME), draw.one(verbs.ACTIVITIES)
    while verb.pt == later.pt:
        later = draw.one(verbs.ACTIVITIES)
    thing = clauses.NOTHING
    if verb.objects:
        thing = with_object(verb, usual_object(draw, verb, subject.person))
    link = draw.one((Text("antes de", "before"), Text("depois de", "after")))
    often = draw.one((*times.FREQUENCY, clauses.NOTHING))
    group = clauses.present(verb, subject.person)
    placed = clauses.VerbGroup(
        clauses.join(often.pt, group.pt), "", "", clauses.join(often.en, group.plain)
    )
    then = Text(f"{link.pt} {later.pt}", f"{link.en} {english.gerund(later.en)}")
    return statement(affirm(subject, placed, chain(thing, then)))


CONSTRUCTIONS = (
    because_of_past, because_of_mood, contrast, weather_habit, weather_plan, belief,
    pair_of_objects, pair_of_people, order_of_actions,
)  # fmt: skip
