"""Verb groups and clauses: tense, modality, negation and questions in both languages."""

from typing import NamedTuple

from tools.phrasebook import english, portuguese
from tools.phrasebook.entries import NounPhrase, Person, Text, Verb

NOTHING = Text("", "")


class VerbGroup(NamedTuple):
    """A conjugated verb.

    Attributes:
        pt: Portuguese, the same in statements, negations and questions.
        auxiliary: the English verb that moves before the subject in questions.
        main: what English then leaves after the subject ("" for plain "is").
        plain: English in affirmative statements.
    """

    pt: str
    auxiliary: str
    main: str
    plain: str


class Modal(NamedTuple):
    """A verb that governs another one.

    Attributes:
        pt: its Portuguese infinitive.
        pt_link: what precedes the governed infinitive ("de" in "gostar de nadar").
        en: its English base form, or the auxiliary itself where that never changes.
        en_link: "to", or nothing.
        auxiliary: whether the English verb is an auxiliary, and so needs no do.
    """

    pt: str
    en: str
    pt_link: str = ""
    en_link: str = "to"
    auxiliary: bool = False


CAN = Modal("poder", "can", en_link="", auxiliary=True)
MUST = Modal("dever", "must", en_link="", auxiliary=True)
WANT = Modal("querer", "want")
NEED = Modal("precisar", "need")
HAVE = Modal("ter", "have", pt_link="que")
KNOW = Modal("saber", "know", en_link="how to")
LIKE = Modal("gostar", "like", pt_link="de")
PREFER = Modal("preferir", "prefer")
MODALS = (CAN, MUST, WANT, NEED, HAVE)

_WOULD = {
    Person.I: "gostaria",
    Person.YOU: "gostaria",
    Person.HE: "gostaria",
    Person.WE: "gostaríamos",
    Person.THEY: "gostariam",
}


def join(*words: str) -> str:
    """Words with single spaces, leaving out the empty ones."""
    return " ".join(filter(None, words))


def present(verb: Verb, person: Person) -> VerbGroup:
    """Compra / buys."""
    pt = portuguese.present(verb.pt, person)
    return VerbGroup(pt, english.do(person), verb.en, english.present(verb.en, person))


def past(verb: Verb, person: Person) -> VerbGroup:
    """Comprou / bought."""
    pt = portuguese.past(verb.pt, person)
    return VerbGroup(pt, "did", verb.en, verb.en_past or english.past(verb.en))


def going_to(verb: Verb, person: Person) -> VerbGroup:
    """Vai comprar / is going to buy."""
    return _being(f"{portuguese.present('ir', person)} {verb.pt}", person, f"going to {verb.en}")


def going_on(verb: Verb, person: Person) -> VerbGroup:
    """Está comprando / is buying."""
    pt = f"{portuguese.present('estar', person)} {portuguese.gerund(verb.pt)}"
    return _being(pt, person, english.gerund(verb.en))


def governed(modal: Modal, verb: Verb, person: Person) -> VerbGroup:
    """Quer comprar / wants to buy; pode comprar / can buy."""
    pt = join(portuguese.present(modal.pt, person), modal.pt_link, verb.pt)
    if modal.auxiliary:
        return VerbGroup(pt, modal.en, verb.en, f"{modal.en} {verb.en}")
    tail = join(modal.en_link, verb.en)
    plain = f"{english.present(modal.en, person)} {tail}"
    return VerbGroup(pt, english.do(person), f"{modal.en} {tail}", plain)


def would_like(verb: Verb, person: Person) -> VerbGroup:
    """Gostaria de comprar / would like to buy."""
    tail = f"like to {verb.en}"
    return VerbGroup(f"{_WOULD[person]} de {verb.pt}", "would", tail, f"would {tail}")


def is_(person: Person, passing: bool) -> VerbGroup:
    """Está (passing) or é / is."""
    return _being(portuguese.present("estar" if passing else "ser", person), person, "")


def was(person: Person, passing: bool) -> VerbGroup:
    """Estava (passing) or era / was."""
    form = english.was(person)
    return VerbGroup(portuguese.imperfect("estar" if passing else "ser", person), form, "", form)


def _being(pt: str, person: Person, main: str) -> VerbGroup:
    form = english.be(person)
    return VerbGroup(pt, form, main, join(form, main))


def with_object(verb: Verb, thing: NounPhrase) -> Text:
    """The object with the prepositions that the verb asks for: do mercado / the market."""
    pt = portuguese.contract(verb.pt_link, thing.pt) if verb.pt_link else thing.pt
    return Text(pt, join(verb.en_link, thing.en))


def chain(*parts: Text) -> Text:
    """Several phrases in sequence, in the same order in both languages."""
    return Text(join(*(part.pt for part in parts)), join(*(part.en for part in parts)))


def affirm(subject: NounPhrase, group: VerbGroup, rest: Text = NOTHING) -> Text:
    """Ela compra pão / she buys bread."""
    return Text(join(subject.pt, group.pt, rest.pt), join(subject.en, group.plain, rest.en))


def deny(subject: NounPhrase, group: VerbGroup, rest: Text = NOTHING) -> Text:
    """Ela não compra pão / she does not buy bread."""
    negated = "cannot" if group.auxiliary == "can" else f"{group.auxiliary} not"
    return Text(
        join(subject.pt, "não", group.pt, rest.pt), join(subject.en, negated, group.main, rest.en)
    )


def ask(
    subject: NounPhrase, group: VerbGroup, rest: Text = NOTHING, opener: Text = NOTHING
) -> Text:
    """Ela compra pão / does she buy bread; with the opener "onde" / "where", an open question."""
    return Text(
        join(opener.pt, subject.pt, group.pt, rest.pt),
        join(opener.en, group.auxiliary, subject.en, group.main, rest.en),
    )


def statement(text: Text) -> Text:
    """A finished sentence with a full stop."""
    return _finish(text, ".")


def question(text: Text) -> Text:
    """A finished sentence with a question mark."""
    return _finish(text, "?")


def exclamation(text: Text) -> Text:
    """A finished sentence with an exclamation mark."""
    return _finish(text, "!")


def _finish(text: Text, mark: str) -> Text:
    return Text(
        text.pt[0].upper() + text.pt[1:] + mark,
        text.en[0].upper() + text.en[1:] + mark,
    )
