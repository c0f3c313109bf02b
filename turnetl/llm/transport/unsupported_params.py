"""What is said beside a request and a model does not want: learnt from its refusals.

Which models take a temperature, an effort, or the one name or the other for the longest answer is
known by their names. Behind a name that a person gave, as of a deployment, may be any.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

_REFUSES = re.compile(
    r"(?:not|n't|no longer) (?:be )?(?:support|allow|permit|accept|avail)|unsupported|deprecated"
    r"|unrecogni[sz]ed|unknown|unexpected|extra (?:inputs|fields)|only the default",
    re.IGNORECASE,
)
_CALLED: Mapping[str, re.Pattern[str]] = {
    "temperature": re.compile(r"\btemperature\b", re.IGNORECASE),
    "reasoning_effort": re.compile(r"\breasoning[_. ]effort\b", re.IGNORECASE),
    "effort": re.compile(r"\beffort\b", re.IGNORECASE),
    "thinkingConfig": re.compile(r"thinking[_ ]?(?:config|level|budget)", re.IGNORECASE),
    "max_tokens": re.compile(r"\bmax_tokens\b"),
    "max_completion_tokens": re.compile(r"\bmax_completion_tokens\b"),
}
"""How refusals name them. Some stand in a section of what is sent."""
_OTHER_NAME = {
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": "max_tokens",
}
"""A longest answer must be said: a budget reckons with it."""


class UnsupportedParams:
    """What is known of one model; nothing at first."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def without(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is sent without what is not wanted."""
        if not self._names:
            return dict(body)
        kept = {}
        for name, value in body.items():
            if name not in self._names:
                kept[name] = self.without(value) if isinstance(value, dict) else value
            elif name in _OTHER_NAME:
                kept[_OTHER_NAME[name]] = value
        return kept

    def learn(self, words: str, sent: Mapping[str, Any]) -> str:
        """Return what was not wanted, if it may be asked again without it; else nothing.

        Args:
            words: in which the provider refused.
            sent: to it.
        """
        if not _REFUSES.search(words):
            return ""
        # A refusal may name the other, too, as what is wanted instead.
        found = next((name for name in _names(sent) if _CALLED[name].search(words)), "")
        if _OTHER_NAME.get(found) in self._names:
            return ""
        self._names |= {found} if found else set()
        return found


def _names(sent: Mapping[str, Any]) -> Iterator[str]:
    for name, value in sent.items():
        if name in _CALLED:
            yield name
        elif isinstance(value, dict):
            yield from _names(value)
