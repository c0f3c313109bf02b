"""Arguments that several public functions take."""

from collections.abc import Iterable, Sequence
from os import PathLike, fspath

from turnetl.errors import BadUsage
from turnetl.model import GroupId

Path = str | PathLike[str]


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
