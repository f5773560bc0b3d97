"""A server whose models know a few phrases in many languages, for tests of clients.

The application, the queue and HTTP are those of ``nmt serve``; a text that is not in the book stays
as it is, and terms of glossaries replace its words. ``python -m tests.serve.phrasebook --port N``
serves it, with the key "phrasebook".
"""

import argparse
import socket
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path

from nmt_cli.search.lines import Line, Translation
from nmt_cli.search.options import DecodingOptions
from nmt_cli.serve.app import create_app
from nmt_cli.serve.options import ServeOptions
from nmt_cli.serve.server import Server
from nmt_cli.serve.service import Service

KEY = "phrasebook"
PROTON_BEAM = {
    "ar": "شعاع البروتون",
    "bg": "протонен лъч",
    "cs": "protonový paprsek",
    "da": "protonstråle",
    "de": "Protonenstrahl",
    "el": "δέσμη πρωτονίων",
    "en": "proton beam",
    "es": "haz de protones",
    "et": "prootonikiirgus",
    "fi": "protonisäde",
    "fr": "faisceau de protons",
    "hu": "protonnyaláb",
    "id": "berkas proton",
    "it": "fascio di protoni",
    "ja": "陽子ビーム",
    "ko": "양성자 빔",
    "lt": "protonų spindulys",
    "lv": "protonu staru kūlis",
    "nb": "protonstråle",
    "nl": "protonenbundel",
    "pl": "wiązka protonów",
    "pt": "feixe de prótons",
    "ro": "fascicul de protoni",
    "ru": "протонный луч",
    "sk": "protónový lúč",
    "sl": "protonski žarek",
    "sv": "protonstråle",
    "tr": "proton ışını",
    "uk": "протонний пучок",
    "zh": "质子束",
}
PHRASES = [
    PROTON_BEAM,
    {"en": "A document's title", "de": "Der Titel eines Dokuments"},
    {"en": "My First Heading", "de": "Meine erste Überschrift"},
]


@dataclass(frozen=True)
class Phrasebook:
    """A translator between two languages."""

    source: str
    target: str
    name: str = ""

    def translate(
        self, lines: Iterable[str | Line], first_number: int = 1, seconds: float = inf
    ) -> Iterator[Translation]:
        for line in lines:
            line = Line(line) if isinstance(line, str) else line
            text = line.text.strip()
            for phrase in PHRASES:
                if text and phrase.get(self.source) == text and self.target in phrase:
                    yield Translation(line.text.replace(text, phrase[self.target]), -1.0, [1])
                    break
            else:
                result = line.text
                for term in reversed(line.terms):
                    result = result[: term.start] + term.target + result[term.end :]
                yield Translation(result, -1.0, [1])


class PhraseModel:
    """What a server needs of a model."""

    has_attention, beam_size, size, used, is_loaded = False, 1, 0, 0.0, True

    def __init__(self, source: str, target: str) -> None:
        self.source, self.target, self.version = source, target, f"{source}-{target}"
        self.folder, self.steps, self.name = Path(self.version), (self,), self.version

    def translator(self, options: DecodingOptions, pause: Callable[[], None]) -> Phrasebook:
        return Phrasebook(self.source, self.target)

    def reload_if_changed(self) -> None:
        pass


class PhraseDetector:
    """Knows the languages of phrases, and takes all other texts for English."""

    def rank(self, text: str, languages: Sequence[str]) -> list[tuple[str, float]]:
        known = [code for phrase in PHRASES for code in phrase if phrase[code] == text.strip()]
        best = next((code for code in languages if code in known), "en")
        return sorted(
            ((code, float(code == best)) for code in languages), key=lambda pair: -pair[1]
        )

    def choose(self, text: str, sources: Sequence[str], target: str) -> tuple[str, float]:
        return self.rank(text, [*sources, target])[0]


def phrase_service(options: ServeOptions) -> Service:
    """Return a service that translates between English and each language, and so between all."""
    service = Service([], options)
    others = [code for code in PROTON_BEAM if code != "en"]
    pairs = [pair for code in others for pair in ((code, "en"), ("en", code))]
    service.models.served = [PhraseModel(*pair) for pair in pairs]
    service.models.languages = service.models.sources = service.models.all_targets = sorted(
        PROTON_BEAM
    )
    service.detector = PhraseDetector()
    return service


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    port = parser.parse_args().port
    with tempfile.NamedTemporaryFile("w", suffix=".keys") as keys:
        keys.write(f"{KEY}\n")
        keys.flush()
        options = ServeOptions(api_keys=Path(keys.name), threads=1, port=port)
        service = phrase_service(options)
    with socket.create_server(("127.0.0.1", port)) as listener:
        Server(create_app(service, print), options).run(sockets=[listener])


if __name__ == "__main__":
    main()
