"""Arguments that several public functions take."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from os import PathLike, fspath
from typing import Any, TypedDict, Unpack

from turnetl.base.clock import as_utc
from turnetl.base.errors import BadUsage
from turnetl.base.model import GroupId
from turnetl.index.conditions import Selection

Path = str | PathLike[str]


class Conditions(TypedDict, total=False):
    """The conditions of a search, as keywords. A turn must meet all that are given."""

    groups: Sequence[str]
    """Group ids or project names; all groups if empty."""
    since: datetime | None
    """Only turns that started then or later."""
    until: datetime | None
    """Only turns that started before."""
    as_of: datetime | None
    """Answer as of the end of this time."""
    session: str | None
    """Only turns of the session with this id, or the beginning of one."""
    format_name: str | None
    """The `format`: an export has another one."""
    branch: str | None
    """Only turns on this git branch."""
    tool: str | None
    """Only turns that used this tool."""
    file: str | None
    """Only turns with a fact about this file: its absolute path, or the end of it."""
    entity: str | None
    """Only turns with a fact about the entity with this name."""
    label: str | None
    """Only turns with a fact about an entity with this label."""
    relation: str | None
    """Only turns with a fact of this relation."""


def selection_of(**conditions: Unpack[Conditions]) -> Selection:
    """Return the turns that meet conditions; a time without a time zone is UTC."""
    given: dict[str, Any] = dict(conditions)
    if "format_name" in given:
        given["format"] = given.pop("format_name")
    times = {name: as_utc(given.get(name)) for name in ("since", "until", "as_of")}
    return Selection(**given | times | {"groups": group_ids(given.get("groups", ()))})


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
