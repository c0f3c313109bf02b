"""Three questions that a group can answer, to try the search with."""

import re
from collections import Counter
from collections.abc import Callable, Iterator

from turnetl.model import GroupContents

_CHOICE = re.compile(r"^(?:I|we) (?:decided|chose|picked|went)(?: on| for| with)? ", re.IGNORECASE)
_LONGEST = 70


def sample_queries(contents: GroupContents) -> tuple[str, ...]:
    """Return a question about a decision, an error and a file, of those that are there."""
    found = (
        next(_asked(contents, "Decision", _why), None),
        next(_asked(contents, "Error", "what was behind {}".format), None),
        next(_asked(contents, "File", "what changed in {} and why".format), None),
    )
    return tuple(question for question in found if question is not None)


def _asked(
    contents: GroupContents, label: str, phrase: Callable[[str], str | None]
) -> Iterator[str]:
    """Yield questions about things with that label, those with most facts first."""
    told = Counter(end for fact in contents.facts for end in (fact.source, fact.target))
    things = [entity for entity in contents.entities if label in entity.labels]
    for thing in sorted(things, key=lambda one: (-told[one.uuid], one.created_at, one.name)):
        question = phrase(thing.name)
        if question and len(question) <= _LONGEST and not set(question) & set('"`$\\!\n'):
            yield question


def _why(decision: str) -> str | None:
    """Return `why X rather than Y` for `I decided on X rather than Y, because ...`."""
    choice = _CHOICE.match(decision)
    return f"why {decision[choice.end() :].split(',', maxsplit=1)[0]}" if choice else None
