"""What Graphiti's queries to a database accept, for the searches that replace them."""

from collections.abc import Mapping, Sequence
from typing import Any

from graphiti_core.search.search_filters import SearchFilters
from graphiti_core.search.search_utils import MAX_QUERY_LENGTH


def is_too_long(query: str, group_ids: Sequence[str] | None) -> bool:
    """Return whether Graphiti would send Lucene no query, and return nothing."""
    return len(query.split(" ")) + len(group_ids or ()) >= MAX_QUERY_LENGTH


def require_filters(search_filter: SearchFilters, supported: Sequence[str]) -> Mapping[str, Any]:
    """Return the filters that are set.

    Raises:
        NotImplementedError: one of them is not supported; names it.
    """
    filters = {name: value for name, value in vars(search_filter).items() if value is not None}
    unsupported = sorted(set(filters) - set(supported))
    if unsupported:
        raise NotImplementedError(f"a search filtered by {', '.join(unsupported)}")
    return filters
