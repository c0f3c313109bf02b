"""Arguments that several public functions take."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from os import PathLike, fspath

from turnetl.base.clock import as_utc
from turnetl.base.errors import BadUsage
from turnetl.base.model import GroupId
from turnetl.index.selection import Selection

Path = str | PathLike[str]


def selection_of(
    groups: Sequence[str],
    *,
    since: datetime | None,
    until: datetime | None,
    as_of: datetime | None = None,
    **conditions: str | None,
) -> Selection:
    """Return the turns that the arguments select.

    Args:
        groups: group ids or project names; all groups if empty.
        since: UTC without a time zone, as the other times.
        until: only turns that started before.
        as_of: only turns that started before, with the facts that held then.
        conditions: other fields of a selection.
    """
    return Selection(
        groups=group_ids(groups),
        since=as_utc(since),
        until=as_utc(until),
        as_of=as_utc(as_of),
        **conditions,
    )


def group_ids(groups: Sequence[str]) -> tuple[GroupId, ...]:
    """Return group ids or project names as a selection takes them."""
    return tuple(GroupId(group) for group in groups)


def check_limit(limit: int) -> None:
    """Check a limit on what is returned.

    Raises:
        BadUsage: it is less than 1.
    """
    if limit < 1:
        raise BadUsage(f"`limit` must be at least 1, not {limit}")


def archive_paths(archives: Path | Iterable[Path]) -> list[str]:
    several = [archives] if isinstance(archives, str | PathLike) else archives
    return [fspath(path) for path in several]
