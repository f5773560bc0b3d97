"""The same clause as a statement, a negation or a question."""

from nmt_cli.data.phrasebook.clauses import (
    NOTHING,
    VerbGroup,
    affirm,
    ask,
    deny,
    question,
    statement,
)
from nmt_cli.data.phrasebook.draw import Draw
from nmt_cli.data.phrasebook.entries import NounPhrase, Person, Text


def vary(draw: Draw, subject: NounPhrase, group: VerbGroup, rest: Text = NOTHING) -> Text:
    """A finished sentence: stated half of the time, else denied or asked.

    Nobody asks about himself whether he buys bread, so of speakers all is stated.
    """
    roll = draw.between(1, 4)
    if roll == 1:
        return statement(deny(subject, group, rest))
    if roll == 2 and subject.person not in (Person.I, Person.WE):
        return question(ask(subject, group, rest))
    return statement(affirm(subject, group, rest))
