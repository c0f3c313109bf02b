"""Summaries that are made of facts as they are, a line each, without a request."""

from collections.abc import Iterable

from turnetl.base.model import Fact
from turnetl.summaries.rule_summariser import NO_FACTS
from turnetl.summaries.summary_input import SummaryInput

_MAX_FACT_CHARS = 150
ENDED = "No longer holds: "
"""Begins the line about a fact that the rest of a summary may still state."""


def fact_list(given: SummaryInput, limit: int) -> str | None:
    """Return a summary that is made of facts, or None if a model must write it.

    It is the list of the active facts, or, if that is too long, the previous summary with the new
    facts and without the invalidated ones. Empty if there is nothing to say.

    Args:
        given: the entity and its facts.
        limit: characters of the summary.
    """
    listed = "\n".join(_statements(given.facts))
    if len(listed) <= limit:
        return listed or (NO_FACTS if given.previous else "")
    amended = _amended(given) if given.previous else listed
    return amended if len(amended) <= limit else None


def fact_line(fact: Fact) -> str:
    """Return the text of a fact on one line, cut if it is long."""
    text = " ".join(fact.text.split())
    return text if len(text) <= _MAX_FACT_CHARS else f"{text[: _MAX_FACT_CHARS - 1]}…"


def _amended(given: SummaryInput) -> str:
    new = _statements(fact for fact in given.facts if fact.uuid in given.new)
    # What the summary does not know yet cannot be withdrawn from it.
    known = (fact for fact in given.invalidated if fact.uuid not in given.new)
    ended = [text for text in _statements(known) if text not in new]
    lines = given.previous.splitlines()
    withdrawn = [f"{ENDED}{text}" for text in ended if text not in lines]
    outdated = {*ended, *(f"{ENDED}{text}" for text in new)}
    kept = [line for line in lines if line not in outdated]
    return "\n".join(dict.fromkeys([*kept, *withdrawn, *new]))


def _statements(facts: Iterable[Fact]) -> list[str]:
    """Return the texts of facts, each on one line, cut and once, in their order."""
    return list(dict.fromkeys(filter(None, map(fact_line, facts))))
