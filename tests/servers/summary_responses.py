"""Responses of a fake model to the request that refreshes summaries, apart from Graphiti's prompts.

The summary of an entity depends on all that the request says about it, and on nothing else: the
other entities of the request make no difference.
"""

import hashlib
import re

from tests.servers import canned_responses
from tests.servers.canned_responses import Json, Responders

_ENTITY = re.compile(r"^Entity (\d+): (.*)$", re.MULTILINE)


def described_entities(prompt: str) -> dict[int, str]:
    """Return what a request says about each entity, by number; the first line has its name."""
    text = canned_responses.between(prompt, "ENTITIES")
    starts = [*_ENTITY.finditer(text)]
    ends = [*(match.start() for match in starts[1:]), len(text)]
    return {
        int(match[1]): text[match.start(2) : end].strip()
        for match, end in zip(starts, ends, strict=True)
    }


def _entity_summaries(prompt: str) -> Json:
    return {
        "entity_summaries": [
            {"number": number, "summary": summary_of(described)}
            for number, described in described_entities(prompt).items()
        ]
    }


def summary_of(described: str) -> str:
    """Return the summary of an entity, given what a request says about it."""
    name, *lines = described.splitlines()
    digest = hashlib.sha256(described.encode()).hexdigest()[:8]
    facts = sum(line.startswith("- ") for line in lines)
    return f"{name} after {facts} facts, state {digest}."


RESPONDERS: Responders = {
    **canned_responses.RESPONDERS,
    "entity_summaries": _entity_summaries,
}
