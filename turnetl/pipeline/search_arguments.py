"""Checks of the query and the conditions of a search."""

import difflib
import logging
from collections.abc import Sequence

from turnetl.base.errors import BadUsage
from turnetl.index.folding import fold
from turnetl.index.lookup import LookupIndex
from turnetl.index.port import Condition
from turnetl.index.selection import Selection
from turnetl.retrieval.items import FILE_LABEL, similar_names
from turnetl.retrieval.query import used_part

log = logging.getLogger(__name__)

_MAX_VALUES = 30
"""Values of a condition that a message lists."""


def warn_if_cut(query: str) -> None:
    """Log that only the beginning of a long query is compared."""
    if (used := len(used_part(query))) < len(query):
        log.warning(
            "only the first %s of the %s characters are compared: put what matters most there",
            f"{used:,}",
            f"{len(query):,}",
        )


def check_conditions(index: LookupIndex, selection: Selection) -> None:
    """Check that some turn meets each condition that names a value. An empty index has no error.

    Raises:
        BadUsage: none does; names similar values, or those that there are.
    """
    if not index.newest(Selection(), limit=1):
        return
    for condition in ("session", "file", "entity", *Condition):
        value = getattr(selection, condition)
        if value is None or index.newest(Selection(**{condition: value}), limit=1):
            continue
        if condition == "session":
            raise BadUsage(
                f"no session has an id that begins with `{value}`; `turnetl show` of a turn prints "
                "its session"
            )
        if isinstance(condition, Condition):
            hint = _known(value, index.values(condition))
            raise BadUsage(f"no turn has the {condition} `{value}`{hint}")
        label = FILE_LABEL if condition == "file" else None
        hint = similar_names(index.lookup(), value, label)
        raise BadUsage(f"no turn has a fact about the {condition} `{value}`; {hint}")


def _known(value: str, known: Sequence[str]) -> str:
    """Return the value that may be meant, else those that there are."""
    folded = {fold(name): name for name in known}
    if nearest := difflib.get_close_matches(fold(value), folded, n=1):
        return f"; did you mean `{folded[nearest[0]]}`?"
    more = ", …" if len(known) > _MAX_VALUES else ""
    return f"; the graph has {', '.join(known[:_MAX_VALUES])}{more}" if known else ""
