"""Fixed everyday phrases, with and without a name."""

from tools.phrasebook.entries import Text
from tools.phrasebook.subjects import NAMES

_PHRASES = (
    Text("Olá!", "Hello!"),
    Text("Bom dia!", "Good morning!"),
    Text("Boa tarde!", "Good afternoon!"),
    Text("Boa noite!", "Good night!"),
    Text("Tchau!", "Bye!"),
    Text("Adeus!", "Goodbye!"),
    Text("Até logo!", "See you later!"),
    Text("Até amanhã!", "See you tomorrow!"),
    Text("Até segunda-feira!", "See you on Monday!"),
    Text("Bem-vindo!", "Welcome!"),
    Text("Obrigado.", "Thank you."),
    Text("Muito obrigado.", "Thank you very much."),
    Text("De nada.", "You are welcome."),
    Text("Por favor.", "Please."),
    Text("Com licença.", "Excuse me."),
    Text("Desculpe.", "Sorry."),
    Text("Sim.", "Yes."),
    Text("Não.", "No."),
    Text("Sim, por favor.", "Yes, please."),
    Text("Não, obrigado.", "No, thank you."),
    Text("Talvez.", "Maybe."),
    Text("Claro!", "Of course!"),
    Text("Parabéns!", "Congratulations!"),
    Text("Feliz aniversário!", "Happy birthday!"),
    Text("Feliz Natal!", "Merry Christmas!"),
    Text("Feliz Ano Novo!", "Happy New Year!"),
    Text("Boa sorte!", "Good luck!"),
    Text("Boa viagem!", "Have a good trip!"),
    Text("Bom apetite!", "Enjoy your meal!"),
    Text("Saúde!", "Cheers!"),
    Text("Socorro!", "Help!"),
    Text("Cuidado!", "Be careful!"),
    Text("Tudo bem?", "How are you?"),
    Text("Eu estou bem, obrigado.", "I am fine, thank you."),
    Text("Qual é o seu nome?", "What is your name?"),
    Text("Prazer em conhecer você.", "Nice to meet you."),
    Text("De onde você é?", "Where are you from?"),
    Text("Que horas são?", "What time is it?"),
    Text("Que dia é hoje?", "What day is it today?"),
    Text("Quanto custa?", "How much does it cost?"),
    Text("Quanto é?", "How much is it?"),
    Text("A conta, por favor.", "The bill, please."),
    Text("Eu não sei.", "I do not know."),
    Text("Eu não entendo.", "I do not understand."),
    Text("Você pode repetir, por favor?", "Can you repeat that, please?"),
    Text("Você pode falar mais devagar, por favor?", "Can you speak more slowly, please?"),
    Text("O que é isto?", "What is this?"),
    Text("O que você faz?", "What do you do?"),
    Text("Eu estou perdido.", "I am lost."),
    Text("Como se diz isto em inglês?", "How do you say this in English?"),
    Text("Como se diz isto em português?", "How do you say this in Portuguese?"),
    Text("Chame a polícia!", "Call the police!"),
    Text("Chame uma ambulância!", "Call an ambulance!"),
    Text("Onde fica o banheiro?", "Where is the bathroom?"),
    Text("O tempo está bom hoje.", "The weather is good today."),
    Text("Eu te amo.", "I love you."),
    Text("Espere um momento, por favor.", "Wait a moment, please."),
    Text("Não há problema.", "No problem."),
    Text("Bom fim de semana!", "Have a good weekend!"),
    Text("Entre, por favor.", "Come in, please."),
    Text("Sente-se, por favor.", "Sit down, please."),
)

_ADDRESSED = (
    "Olá", "Bom dia", "Boa tarde", "Boa noite", "Tchau", "Até logo", "Até amanhã", "Parabéns",
    "Feliz aniversário", "Boa sorte", "Boa viagem", "Obrigado", "Muito obrigado",
)  # fmt: skip


def _with_name(phrase: Text, name: str) -> Text:
    mark = phrase.en[-1]
    return Text(f"{phrase.pt[:-1]}, {name}{mark}", f"{phrase.en[:-1]}, {name}{mark}")


SET_PHRASES = (
    *_PHRASES,
    *(
        _with_name(phrase, name.pt)
        for phrase in _PHRASES
        if phrase.pt[:-1] in _ADDRESSED
        for name in NAMES
    ),
    *(Text(f"Meu nome é {name.pt}.", f"My name is {name.en}.") for name in NAMES),
)
