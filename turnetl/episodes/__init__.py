"""Turns to episodes: each turn once, in order, marked by the noise rules and rendered as text."""

from collections.abc import Callable, Sequence

from turnetl import ids, noise, schema
from turnetl.episodes import copies, parts, text
from turnetl.episodes.report import (
    FilteredGroup,
    FilterReport,
    NoiseCount,
    as_text,
    count,
    from_text,
)
from turnetl.episodes.table import episodes
from turnetl.lake import Lake, TurnFile
from turnetl.model import GroupId

__all__ = ["FilterReport", "FilteredGroup", "NoiseCount", "build", "episodes", "is_current"]

_MADE_FROM = "turnetl.made_from"
_REPORT = "turnetl.report"


def build(
    lake: Lake,
    groups: Sequence[GroupId],
    *,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> FilterReport:
    """Bring the episodes tables of these groups up to date.

    A table that was made of the very same turns by the very same rules is left as it is, unread.

    Args:
        lake: where the turns files are, and the episodes tables will be.
        groups: in the order of the report.
        force: make every table anew.
        progress: told after each group how many are done, of how many.

    Raises:
        Stop: a table cannot be read.
    """
    reports = []
    for done, group in enumerate(groups, 1):
        reports.append(_group(lake, group, force=force))
        if progress is not None:
            progress(done, len(groups))
    return FilterReport(tuple(reports))


def is_current(lake: Lake, group: GroupId, files: Sequence[TurnFile]) -> bool:
    """Say whether the group's table is what `build` would make of its turns files. Reads no row."""
    known = lake.episodes_metadata(group) or {}
    return known.get(_MADE_FROM) == _made_from(files)


def _group(lake: Lake, group: GroupId, *, force: bool) -> FilteredGroup:
    made_from = _made_from(lake.turn_files(group))
    known = lake.episodes_metadata(group) or {}
    if not force and known.get(_MADE_FROM) == made_from:
        before = from_text(known.get(_REPORT, ""))
        if before is not None:
            return before
    table = episodes(lake.scan_turns(group))
    report = count(group, table)
    lake.write_episodes(group, table, {_MADE_FROM: made_from, _REPORT: as_text(report)})
    return report


def _made_from(files: Sequence[TurnFile]) -> str:
    """Return the digest of the turns files and of all that decides what is made of them."""
    versions = (schema.TURNS.version, schema.EPISODES.version, copies.VERSION, text.VERSION)
    recipe = (*versions, parts.LIMIT)
    origins = sorted(
        f"{file.path.name}/{file.origin.sha256}/{file.origin.format}"
        f"/{file.origin.reader}/{file.origin.redactor}"
        for file in files
    )
    return ids.digest(*map(str, recipe), *noise.versions(), *origins)
