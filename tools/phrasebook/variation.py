"""The same clause as a statement, a negation or a question."""

from tools.phrasebook.clauses import (
    NOTHING,
    VerbGroup,
    affirm,
    ask,
    deny,
    question,
    statement,
)
from tools.phrasebook.draw import Draw
from tools.phrasebook.entries import NounPhrase, Person, Text


def vary(draw: Draw, subject: NounPhrase, group: VerbGroup, rest: Text = NOTHING) -> Text:
    """A finished sentence: a statement half of the time, else a negation or a question.

    People do not ask whether they themselves buy bread, so the first person has no questions.
    """
    roll = draw.between(1, 4)
    if roll == 1:
        return statement(deny(subject, group, rest))
    if roll == 2 and subject.person not in (Person.I, Person.WE):
        return question(ask(subject, group, rest))
    return statement(affirm(subject, group, rest))
