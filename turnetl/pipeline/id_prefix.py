"""Ids that a user names by a prefix."""

from collections.abc import Iterable

from turnetl.base.errors import BadUsage


def id_with_prefix(noun: str, prefix: str, ids: Iterable[str]) -> str | None:
    """Return the id that has the prefix; None if none has it.

    Args:
        noun: what has such an id.
        prefix: as the user typed it.
        ids: all ids.

    Raises:
        BadUsage: several ids have the prefix.
    """
    matching = sorted({one for one in ids if one.startswith(prefix)})
    if len(matching) > 1:
        raise BadUsage(
            f"`{prefix}` begins the ids of {len(matching)} {noun}s, such as `{matching[0]}` "
            f"and `{matching[1]}`: give more of the id"
        )
    return matching[0] if matching else None
