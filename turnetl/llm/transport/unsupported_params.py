"""Request parameters that a model rejects, learned from its errors.

For known model names, the adapters know which models accept a temperature, an effort, or which of
two names for the response limit. A name that the user chose, as of a deployment, may stand for any
model.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

_REJECTION = re.compile(
    r"(?:not|n't|no longer) (?:be )?(?:support|allow|permit|accept|avail)|unsupported|deprecated"
    r"|unrecogni[sz]ed|unknown|unexpected|extra (?:inputs|fields)|only the default",
    re.IGNORECASE,
)
_PARAMETERS: Mapping[str, re.Pattern[str]] = {
    "temperature": re.compile(r"\btemperature\b", re.IGNORECASE),
    "reasoning_effort": re.compile(r"\breasoning[_. ]effort\b", re.IGNORECASE),
    "effort": re.compile(r"\beffort\b", re.IGNORECASE),
    "thinkingConfig": re.compile(r"thinking[_ ]?(?:config|level|budget)", re.IGNORECASE),
    "max_tokens": re.compile(r"\bmax_tokens\b"),
    "max_completion_tokens": re.compile(r"\bmax_completion_tokens\b"),
}
"""How errors name them. Some are nested inside a section of the request body."""
_ALTERNATIVES = {
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": "max_tokens",
}
"""The response limit must be sent under one of its names: a budget relies on it."""


class UnsupportedParams:
    """The parameters that one model rejects; none at first."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def removed_from(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the request body without rejected parameters."""
        if not self._names:
            return dict(body)
        accepted = {}
        for name, value in body.items():
            if name not in self._names:
                accepted[name] = self.removed_from(value) if isinstance(value, dict) else value
            elif name in _ALTERNATIVES:
                accepted[_ALTERNATIVES[name]] = value
        return accepted

    def learn(self, message: str, sent: Mapping[str, Any]) -> str:
        """Return the parameter to retry without; an empty string if the error names none.

        Args:
            message: the provider's error message.
            sent: the request body.
        """
        if not _REJECTION.search(message):
            return ""
        # An error may also name the parameter to use instead, which was not sent.
        name = next((name for name in _known(sent) if _PARAMETERS[name].search(message)), "")
        if _ALTERNATIVES.get(name) in self._names:
            return ""
        self._names |= {name} if name else set()
        return name


def _known(sent: Mapping[str, Any]) -> Iterator[str]:
    for name, value in sent.items():
        if name in _PARAMETERS:
            yield name
        elif isinstance(value, dict):
            yield from _known(value)
