"""Up to three search queries that a group can answer, to try the search with."""

import re
from collections import Counter
from collections.abc import Callable, Iterator

from turnetl.base.graph_model import GroupContents

_CHOICE = re.compile(r"^(?:I|we) (?:decided|chose|picked|went)(?: on| for| with)? ", re.IGNORECASE)
_LONGEST = 70
_UNSAFE = set('"`$\\!\n')
"""Characters that a shell interprets between double quotes."""


def sample_queries(contents: GroupContents) -> tuple[str, ...]:
    """Return a query about a decision, an error and a file, as far as the group has them."""
    candidates = (
        next(_queries(contents, "Decision", _decision_query), None),
        next(_queries(contents, "Error", "what was behind {}".format), None),
        next(_queries(contents, "File", "what changed in {} and why".format), None),
    )
    return tuple(query for query in candidates if query is not None)


def _queries(
    contents: GroupContents, label: str, phrase: Callable[[str], str | None]
) -> Iterator[str]:
    """Yield queries about the entities with that label, those with the most facts first."""
    counts = Counter(end for fact in contents.facts for end in (fact.source, fact.target))
    entities = [entity for entity in contents.entities if label in entity.labels]
    for entity in sorted(
        entities, key=lambda item: (-counts[item.uuid], item.created_at, item.name)
    ):
        query = phrase(entity.name)
        if query and len(query) <= _LONGEST and not set(query) & _UNSAFE:
            yield query


def _decision_query(decision: str) -> str | None:
    """Return `why X rather than Y` for `I decided on X rather than Y, because ...`."""
    choice = _CHOICE.match(decision)
    return f"why {decision[choice.end() :].split(',', maxsplit=1)[0]}" if choice else None
