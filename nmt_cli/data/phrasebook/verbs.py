"""The verbs, each with the objects it sensibly takes."""

from nmt_cli.data.phrasebook import nouns
from nmt_cli.data.phrasebook.entries import Verb
from nmt_cli.data.phrasebook.nouns import named

# Actions on an object.
ACTIONS = (
    Verb("comer", "eat", "ate", nouns.EDIBLE),
    Verb("beber", "drink", "drank", nouns.DRINKS),
    Verb(
        "comprar", "buy", "bought",
        (*nouns.EDIBLE, *nouns.GOODS, *named("livro revista jornal carro bicicleta mesa sofá")),
    ),
    Verb(
        "vender", "sell", "sold",
        (*nouns.FRUIT, *nouns.GOODS, *named("livro carro bicicleta barco casa mesa cadeira cama")),
    ),
    Verb("ler", "read", "read", named("livro jornal revista carta")),
    Verb("escrever", "write", "wrote", named("livro carta")),
    Verb("abrir", "open", "", named("porta janela caixa mala garrafa gaveta geladeira carta loja")),
    Verb("fechar", "close", "", named("porta janela caixa mala gaveta loja livro")),
    Verb("lavar", "wash", "", (*nouns.CLOTHES, *named("carro copo prato faca maçã bicicleta"))),
    Verb("limpar", "clean", "", (*nouns.ROOMS, *named("mesa casa carro gaveta geladeira janela"))),
    Verb("perder", "lose", "lost", nouns.PORTABLE),
    Verb("encontrar", "find", "found", (*nouns.SMALL, *named("gato cachorro"))),
    Verb("procurar", "look", "", (*nouns.SMALL, *named("gato cachorro")), en_link="for"),
    Verb("esquecer", "forget", "forgot", nouns.PORTABLE),
    Verb("usar", "use", "", named("computador telefone mapa faca caneta carro câmera bicicleta")),
    Verb(
        "consertar", "repair", "",
        named("carro bicicleta computador relógio telefone câmera porta cadeira mesa barco"),
    ),
    Verb("pintar", "paint", "", (*nouns.ROOMS, *named("porta janela casa mesa cadeira barco"))),
    Verb("fazer", "make", "made", named("bolo sanduíche salada sopa café chá suco pão")),
    Verb("cortar", "cut", "cut", (*nouns.FRUIT, *named("pão bolo queijo carne batata"))),
    Verb("cozinhar", "cook", "", named("arroz batata peixe frango carne ovo")),
    Verb("estudar", "study", "", (*nouns.SCHOOL_SUBJECTS, *nouns.LANGUAGES)),
    Verb("aprender", "learn", "learnt", (*nouns.SCHOOL_SUBJECTS, *nouns.LANGUAGES)),
    Verb("ensinar", "teach", "taught", (*nouns.SCHOOL_SUBJECTS, *nouns.LANGUAGES)),
    Verb("tocar", "play", "", nouns.INSTRUMENTS),
    Verb("jogar", "play", "", nouns.SPORTS),
    Verb("visitar", "visit", "", (*nouns.FAMILY, *named("museu igreja universidade escola"))),
    Verb("ajudar", "help", "", nouns.PEOPLE),
    Verb("chamar", "call", "", (*nouns.PEOPLE, *named("táxi"))),
    Verb("esperar", "wait", "", (*nouns.PEOPLE, *named("ônibus trem táxi")), en_link="for"),
    Verb("pegar", "take", "took", named("ônibus trem táxi avião")),
    Verb("alugar", "rent", "", named("casa apartamento carro bicicleta barco")),
    Verb("dirigir", "drive", "drove", named("carro ônibus táxi")),
    Verb("assistir", "watch", "", named("filme jogo concerto"), pt_link="a"),
    Verb("ouvir", "listen", "", named("música concerto professora médico"), en_link="to"),
    Verb(
        "trazer", "bring", "brought",
        (*nouns.EDIBLE, *nouns.DRINKS, *named("livro mapa guarda-chuva bola câmera prato copo")),
    ),
    Verb("carregar", "carry", "", named("mala bolsa caixa mesa cadeira criança guarda-chuva")),
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
    Verb("nadar", "swim", "swam"),
    Verb("correr", "run", "ran"),
    Verb("dançar", "dance"),
    Verb("cantar", "sing", "sang"),
    Verb("dormir", "sleep", "slept"),
    Verb("viajar", "travel"),
    Verb("cozinhar", "cook"),
    Verb("caminhar", "walk"),
    Verb("descansar", "rest"),
    Verb("trabalhar", "work"),
    Verb("estudar", "study"),
)

GO = Verb("ir", "go", "went")
COME = Verb("voltar", "come", "came")  # told with "back"
LIVE = Verb("morar", "live")
WORK = Verb("trabalhar", "work")
STUDY = Verb("estudar", "study")
WALK = Verb("caminhar", "walk")
TALK = Verb("falar", "talk")
SPEAK = Verb("falar", "speak", "spoke", nouns.LANGUAGES)
STAY = Verb("ficar", "stay")
