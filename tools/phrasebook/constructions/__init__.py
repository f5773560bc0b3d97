"""All constructions of the grammar: each makes one finished sentence pair from a draw."""

from collections.abc import Callable

from tools.phrasebook.constructions import (
    actions,
    compound,
    descriptions,
    figures,
    motion,
    openquestions,
    people,
    places,
    requests,
    set_phrases,
    weather,
)
from tools.phrasebook.draw import Draw
from tools.phrasebook.entries import Text

Construction = Callable[[Draw], Text]

_TOPICS: tuple[tuple[Construction, ...], ...] = (
    actions.CONSTRUCTIONS,
    requests.CONSTRUCTIONS,
    openquestions.CONSTRUCTIONS,
    motion.CONSTRUCTIONS,
    places.CONSTRUCTIONS,
    descriptions.CONSTRUCTIONS,
    people.CONSTRUCTIONS,
    figures.CONSTRUCTIONS,
    weather.CONSTRUCTIONS,
    compound.CONSTRUCTIONS,
)

# Set phrases are fixed, not composed, and are listed separately.
CONSTRUCTIONS: dict[str, Construction] = {
    construction.__name__: construction for topic in _TOPICS for construction in topic
}
# These draw on all verbs in all persons and have the most to say.
WIDE = frozenset(construction.__name__ for construction in actions.CONSTRUCTIONS)
SET_PHRASES: tuple[Text, ...] = set_phrases.SET_PHRASES
