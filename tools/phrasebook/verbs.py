"""The verbs, each with the objects it sensibly takes."""

from tools.phrasebook import nouns
from tools.phrasebook.entries import Verb
from tools.phrasebook.nouns import named

# Actions on an object.
ACTIONS = (
    Verb("comer", "eat", "ate", nouns.EDIBLE, brief=True),
    Verb("beber", "drink", "drank", nouns.DRINKS, brief=True),
    Verb(
        "comprar", "buy", "bought",
        (*nouns.EDIBLE, *nouns.GOODS, *named("livro revista jornal carro bicicleta mesa sofá")),
    ),
    Verb(
        "vender", "sell", "sold",
        (*nouns.FRUIT, *nouns.GOODS, *named("livro carro bicicleta barco casa mesa cadeira cama")),
    ),
    Verb("ler", "read", "read", named("livro jornal revista carta"), brief=True),
    Verb("escrever", "write", "wrote", named("livro carta")),
    Verb(
        "abrir", "open", "",
        named("porta janela caixa mala garrafa gaveta geladeira carta loja"), brief=True,
    ),
    Verb("fechar", "close", "", named("porta janela caixa mala gaveta loja livro"), brief=True),
    Verb(
        "lavar", "wash", "",
        (*nouns.CLOTHES, *named("carro copo prato faca maçã bicicleta")), brief=True,
    ),
    Verb(
        "limpar", "clean", "",
        (*nouns.ROOMS, *named("mesa casa carro gaveta geladeira janela")), brief=True,
    ),
    Verb("perder", "lose", "lost", nouns.PORTABLE),
    Verb("encontrar", "find", "found", (*nouns.SMALL, *named("gato cachorro"))),
    Verb(
        "procurar", "look", "",
        (*nouns.SMALL, *named("gato cachorro")), en_link="for", brief=True,
    ),
    Verb("esquecer", "forget", "forgot", nouns.PORTABLE),
    Verb(
        "usar", "use", "",
        named("computador telefone mapa faca caneta carro câmera bicicleta"), brief=True,
    ),
    Verb(
        "consertar", "repair", "",
        named("carro bicicleta computador relógio telefone câmera porta cadeira mesa barco"),
    ),
    Verb("pintar", "paint", "", (*nouns.ROOMS, *named("porta janela casa mesa cadeira barco"))),
    Verb(
        "fazer", "make", "made",
        named("bolo sanduíche salada sopa café chá suco pão"), brief=True,
    ),
    Verb(
        "cortar", "cut", "cut",
        (*nouns.FRUIT, *named("pão bolo queijo carne batata")), brief=True,
    ),
    Verb("cozinhar", "cook", "", named("arroz batata peixe frango carne ovo"), brief=True),
    Verb("estudar", "study", "", (*nouns.SCHOOL_SUBJECTS, *nouns.LANGUAGES)),
    Verb("aprender", "learn", "learnt", (*nouns.SCHOOL_SUBJECTS, *nouns.LANGUAGES)),
    Verb("ensinar", "teach", "taught", (*nouns.SCHOOL_SUBJECTS, *nouns.LANGUAGES)),
    Verb("tocar", "play", "", nouns.INSTRUMENTS, brief=True),
    Verb("jogar", "play", "", nouns.SPORTS, brief=True),
    Verb("visitar", "visit", "", (*nouns.FAMILY, *named("museu igreja universidade escola"))),
    Verb("ajudar", "help", "", nouns.PEOPLE, brief=True),
    Verb("chamar", "call", "", (*nouns.PEOPLE, *named("táxi")), brief=True),
    Verb(
        "esperar", "wait", "",
        (*nouns.PEOPLE, *named("ônibus trem táxi")), en_link="for", brief=True,
    ),
    Verb("pegar", "take", "took", named("ônibus trem táxi avião"), brief=True),
    Verb("alugar", "rent", "", named("casa apartamento carro bicicleta barco")),
    Verb("dirigir", "drive", "drove", named("carro ônibus táxi")),
    Verb("assistir", "watch", "", named("filme jogo concerto"), pt_link="a", brief=True),
    Verb(
        "ouvir", "listen", "",
        named("música concerto professora médico"), en_link="to", brief=True,
    ),
    Verb(
        "trazer", "bring", "brought",
        (*nouns.EDIBLE, *nouns.DRINKS, *named("livro mapa guarda-chuva boneca câmera prato copo")),
        brief=True,
    ),
    Verb(
        "carregar", "carry", "",
        named("mala bolsa caixa mesa cadeira criança guarda-chuva"), brief=True,
    ),
    Verb("ver", "see", "saw", (*nouns.ANIMALS, *nouns.PEOPLE, *nouns.TRANSPORT)),
)  # fmt: skip

# States of an owner or of a mind: they need no time to go with them.
STATES = (
    Verb(
        "querer", "want", "",
        (*nouns.EDIBLE, *nouns.DRINKS, *nouns.GOODS, *named("livro bicicleta gato cachorro")),
    ),
    Verb(
        "ter", "have", "had",
        (
            *nouns.GOODS,
            *nouns.ANIMALS,
            *named("livro revista carro bicicleta casa apartamento irmão irmã filho filha amigo"),
        ),
    ),
    Verb("preferir", "prefer", "", (*nouns.EDIBLE, *nouns.DRINKS, *nouns.CLOTHES)),
    Verb(
        "precisar", "need", "",
        (*nouns.GOODS, *nouns.EDIBLE, *named("carro médico livro enfermeira táxi mesa cama")),
        pt_link="de",
    ),
    Verb("conhecer", "know", "knew", nouns.PEOPLE),
    Verb("amar", "love", "", named("irmão irmã pai mãe filho filha avó tio tia")),
)  # fmt: skip

LIKING = Verb(
    "gostar", "like", "",
    (
        *nouns.EDIBLE, *nouns.DRINKS, *nouns.ANIMALS, *nouns.CLOTHES, *nouns.PEOPLE,
        *nouns.LANGUAGES, *nouns.SCHOOL_SUBJECTS, *nouns.SPORTS,
        *named("livro filme festa concerto"),
    ),
    pt_link="de",
)  # fmt: skip

# Giving: the object goes to somebody.
GIVING_GOODS = (*nouns.SMALL, *named("maçã bolo relógio"))
GIVING = (
    Verb("dar", "give", "gave", GIVING_GOODS),
    Verb("mostrar", "show", "", (*nouns.SMALL, *named("casa carro jardim"))),
    Verb("enviar", "send", "sent", named("carta livro revista caixa mapa câmera")),
    Verb("emprestar", "lend", "lent", (*nouns.PORTABLE, *named("carro bicicleta casaco"))),
    Verb("vender", "sell", "sold", named("carro casa bicicleta barco computador relógio")),
)

# Activities without an object.
ACTIVITIES = (
    Verb("nadar", "swim", "swam", brief=True),
    Verb("correr", "run", "ran", brief=True),
    Verb("dançar", "dance", brief=True),
    Verb("cantar", "sing", "sang", brief=True),
    Verb("dormir", "sleep", "slept", brief=True),
    Verb("viajar", "travel"),
    Verb("cozinhar", "cook", brief=True),
    Verb("caminhar", "walk", brief=True),
    Verb("descansar", "rest", brief=True),
    Verb("trabalhar", "work"),
    Verb("estudar", "study"),
)


def actions(names: str) -> tuple[Verb, ...]:
    """The actions with these Portuguese names, separated by spaces."""
    by_name = {verb.pt: verb for verb in ACTIONS}
    return tuple(by_name[name] for name in names.split())


GO = Verb("ir", "go", "went")
COME = Verb("voltar", "come", "came")  # used with "back"
LIVE = Verb("morar", "live")
WORK = Verb("trabalhar", "work")
STUDY = Verb("estudar", "study")
WALK = Verb("caminhar", "walk")
TALK = Verb("falar", "talk")
SPEAK = Verb("falar", "speak", "spoke", nouns.LANGUAGES)
