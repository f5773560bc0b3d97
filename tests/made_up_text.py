"""Made-up Portuguese and English sentences, enough to learn a small vocabulary."""

from itertools import product

_PEOPLE = [
    ("A minha avó", "My grandmother"),
    ("O padeiro", "The baker"),
    ("Ninguém", "Nobody"),
    ("O João", "João"),
    ("Cada criança", "Every child"),
]
_ACTIONS = [
    ("comprou três maçãs", "bought three apples"),
    ("não gosta de café", "does not like coffee"),
    ("abriu a janela", "opened the window"),
    ("perdeu o último comboio", "missed the last train"),
    ("escreveu uma canção", "wrote a song"),
]
_TIMES = [
    ("ontem à noite.", "last night."),
    ("às 10h30, não é?", "at 10:30, right?"),
    ("em Março de 1987!", "in March 1987!"),
    ("antes do pôr-do-sol...", "before sunset..."),
]
_PAIRS = [
    (" ".join(source), " ".join(target))
    for source, target in (zip(*parts, strict=True) for parts in product(_PEOPLE, _ACTIONS, _TIMES))
]

PORTUGUESE = [source for source, _ in _PAIRS]
ENGLISH = [target for _, target in _PAIRS]
