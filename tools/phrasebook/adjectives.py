"""The adjectives and what each can sensibly describe."""

from tools.phrasebook.entries import Adjective, Kind

RED = Adjective("vermelho", "red")
BLUE = Adjective("azul", "blue")
GREEN = Adjective("verde", "green")
WHITE = Adjective("branco", "white")
BLACK = Adjective("preto", "black")
YELLOW = Adjective("amarelo", "yellow")

BIG = Adjective("grande", "big", pt_more="maior")
SMALL = Adjective("pequeno", "small", pt_more="menor")
NEW = Adjective("novo", "new")
OLD = Adjective("velho", "old")
BEAUTIFUL = Adjective("bonito", "beautiful", en_more=True)
EXPENSIVE = Adjective("caro", "expensive", en_more=True)
CHEAP = Adjective("barato", "cheap")
GOOD = Adjective(
    "bom", "good", first=True, pt_more="melhor", en_comparative="better", en_superlative="best"
)
INTERESTING = Adjective("interessante", "interesting", en_more=True)
IMPORTANT = Adjective("importante", "important", en_more=True)
USEFUL = Adjective("útil", "useful", en_more=True)
DIFFICULT = Adjective("difícil", "difficult", en_more=True)
LONG = Adjective("longo", "long")
SHORT = Adjective("curto", "short")
MODERN = Adjective("moderno", "modern", en_more=True)
FAMOUS = Adjective("famoso", "famous", en_more=True)
HEAVY = Adjective("pesado", "heavy")
LIGHT = Adjective("leve", "light")
STRONG = Adjective("forte", "strong")
COMFORTABLE = Adjective("confortável", "comfortable", en_more=True)
FAST = Adjective("rápido", "fast")
SLOW = Adjective("lento", "slow")
SWEET = Adjective("doce", "sweet")
RIPE = Adjective("maduro", "ripe", passing=True)
FRESH = Adjective("fresco", "fresh", passing=True)
DELICIOUS = Adjective("delicioso", "delicious", passing=True, en_more=True)
HOT = Adjective("quente", "hot", passing=True)
COLD = Adjective("frio", "cold", passing=True)
OPEN = Adjective("aberto", "open", passing=True)
CLOSED = Adjective("fechado", "closed", passing=True)
CLEAN = Adjective("limpo", "clean", passing=True)
DIRTY = Adjective("sujo", "dirty", passing=True)
BROKEN = Adjective("quebrado", "broken", passing=True)
TALL = Adjective("alto", "tall")
INTELLIGENT = Adjective("inteligente", "intelligent", en_more=True)
YOUNG = Adjective("jovem", "young")
KIND = Adjective("gentil", "kind")
BORING = Adjective("chato", "boring", en_more=True)
QUIET = Adjective("tranquilo", "quiet")

TIRED = Adjective("cansado", "tired", passing=True)
SAD = Adjective("triste", "sad", passing=True)
HAPPY = Adjective("feliz", "happy", passing=True)
ILL = Adjective("doente", "ill", passing=True)
BUSY = Adjective("ocupado", "busy", passing=True)
READY = Adjective("pronto", "ready", passing=True)
WORRIED = Adjective("preocupado", "worried", passing=True)
NERVOUS = Adjective("nervoso", "nervous", passing=True)
LATE = Adjective("atrasado", "late", passing=True)

COLOURS = (RED, BLUE, GREEN, WHITE, BLACK, YELLOW)

FITTING: dict[Kind, tuple[Adjective, ...]] = {
    Kind.FRUIT: (GREEN, BIG, SMALL, RIPE, FRESH, SWEET, CHEAP, EXPENSIVE, DELICIOUS),
    Kind.FOOD: (FRESH, HOT, COLD, CHEAP, EXPENSIVE, DELICIOUS),
    Kind.DISH: (BIG, SMALL, GOOD, HOT, COLD, DELICIOUS, FRESH),
    Kind.HOT_DRINK: (HOT, COLD),
    Kind.COLD_DRINK: (COLD, GOOD, SWEET, EXPENSIVE, CHEAP),
    Kind.CLOTHING: (
        *COLOURS, NEW, OLD, BEAUTIFUL, EXPENSIVE, CHEAP, CLEAN, DIRTY, SHORT, LONG, COMFORTABLE,
    ),
    Kind.READING: (NEW, OLD, INTERESTING, IMPORTANT, BORING),
    Kind.THING: (*COLOURS, NEW, OLD, BIG, SMALL, HEAVY, LIGHT, EXPENSIVE, CHEAP, BEAUTIFUL, USEFUL),
    Kind.DEVICE: (NEW, OLD, EXPENSIVE, CHEAP, MODERN, BLACK, WHITE, SMALL, USEFUL, BROKEN),
    Kind.FURNITURE: (*COLOURS, NEW, OLD, BIG, SMALL, HEAVY, BROKEN, EXPENSIVE, CHEAP, BEAUTIFUL),
    Kind.OPENING: (OPEN, CLOSED, BIG, SMALL, BROKEN, CLEAN, DIRTY),
    Kind.ROOM: (BIG, SMALL, CLEAN, DIRTY, BEAUTIFUL, QUIET),
    Kind.HOME: (BIG, SMALL, NEW, OLD, BEAUTIFUL, MODERN, EXPENSIVE, CHEAP, COMFORTABLE, QUIET),
    Kind.PLACE: (BIG, SMALL, NEW, OLD, BEAUTIFUL, MODERN, FAMOUS, QUIET),
    Kind.OUTDOORS: (BIG, SMALL, BEAUTIFUL, FAMOUS, QUIET),
    Kind.VEHICLE: (*COLOURS, NEW, OLD, FAST, SLOW, COMFORTABLE, MODERN, EXPENSIVE, CHEAP, BIG),
    Kind.ANIMAL: (BLACK, WHITE, BIG, SMALL, YOUNG, OLD, BEAUTIFUL, FAST, STRONG),
    Kind.FAMILY: (TALL, INTELLIGENT, YOUNG, STRONG, KIND, FAMOUS),
    Kind.STRANGER: (TALL, INTELLIGENT, YOUNG, STRONG, KIND, FAMOUS),
    Kind.SHOW: (LONG, SHORT, GOOD, INTERESTING, IMPORTANT, BORING, DIFFICULT),
}  # fmt: skip

MOODS = (TIRED, SAD, HAPPY, ILL, BUSY, READY, WORRIED, NERVOUS, LATE)
# "I am tired" leaves the speaker's gender open and "Eu estou cansado" does not; so
# speaker and listener only get moods with one form for both genders.
GENDERLESS_MOODS = (SAD, HAPPY, ILL)
TRAITS = FITTING[Kind.STRANGER]
