"""The interface of Apertium APy (https://wiki.apertium.org/wiki/Apertium-apy), as in OmegaT."""

from http.client import responses
from typing import Any

from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute

from nmt_cli.serve.api import Call, Interface
from nmt_cli.web import language_name, two_letter_code


class Apertium(Interface):
    """The endpoints of Apertium."""

    missing_field = 400, "Missing argument {name}"
    unknown_target = 400, "That pair is not installed"

    def routes(self) -> list[BaseRoute]:
        """Return the routes of Apertium; LibreTranslate's ``POST /translate`` also translates."""
        return [
            self.endpoint("/translate", self.translate),
            self.endpoint("/listPairs", self.pairs),
            self.endpoint("/listLanguageNames", self.names),
            self.endpoint("/identifyLang", self.identify, "q"),
        ]

    @classmethod
    def error_body(cls, status: int, message: str) -> dict[str, Any]:
        """Return the JSON of an error."""
        reason = responses.get(status, "Unknown")
        return {"status": "error", "code": status, "message": reason, "explanation": message}

    async def translate(self, call: Call) -> dict[str, Any]:
        """Translate a text, plain or HTML (``format``); nothing is marked as unknown."""
        call.request.scope["interface"] = self
        self.require(call, "langpair", "q")
        pair, text = call.text("langpair").split("|"), call.text("q")
        if len(pair) != 2 or not all(pair):
            raise HTTPException(400, "That pair is invalid, use e.g. eng|spa")
        model = self.find(*map(two_letter_code, pair))
        self.charge(call, [text])
        format = "html" if call.text("format") == "html" else ""
        ((best, *_),) = await self.in_time(call, self.service.translate([model], [text], format))
        return _response({"translatedText": best.text})

    async def pairs(self, call: Call) -> dict[str, Any]:
        """List the pairs of languages."""
        return _response(
            [
                {"sourceLanguage": source, "targetLanguage": target}
                for source in self.models.sources
                for target in self.models.targets(source)
            ]
        )

    async def names(self, call: Call) -> dict[str, str]:
        """Return the English names of ``languages``, or of all that are served."""
        return {
            code: language_name(two_letter_code(code))
            for code in call.text("languages").split() or self.models.languages
        }

    async def identify(self, call: Call) -> dict[str, float]:
        """Return the languages of the server with their probabilities, likeliest first."""
        return dict(self.service.detector.rank(call.text("q"), self.models.languages))


def _response(data: Any) -> dict[str, Any]:
    return {"responseData": data, "responseDetails": None, "responseStatus": 200}
