"""Two references, and translations by three made-up systems."""

import random

SENTENCES = 120
WORDS = ["a", "the", "house", "cat", "dog", "tree", ",", ".", "(old)", "green-ish", "runs"]
WORDS += ["sleeps", "didn't", "over", "under", "10.5", "é", "ção"]


def lines(seed: int, longest: int = 24) -> list[str]:
    """Return SENTENCES lines of 1 to ``longest`` words."""
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(1, longest))) for _ in range(SENTENCES)]


def damaged(text: list[str], share: float, seed: int) -> list[str]:
    """Drop a share of the words of a text, and swap the same share of neighbours."""
    draw = random.Random(seed)
    damaged_lines = []
    for line in text:
        words = [word for word in line.split() if draw.random() >= share]
        for place in range(1, len(words)):
            if draw.random() < share:
                words[place - 1], words[place] = words[place], words[place - 1]
        damaged_lines.append(" ".join(words))
    return damaged_lines


REFERENCE = lines(0)
SECOND = damaged(REFERENCE, 0.05, 1)
SYSTEMS = {
    "good": damaged(REFERENCE, 0.1, 2),
    "similar": damaged(REFERENCE, 0.1, 3),
    "bad": damaged(REFERENCE, 0.3, 4),
}
