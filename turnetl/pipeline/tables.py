"""Turn tables to episode tables. Opens neither a graph nor a model."""

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from turnetl import episodes, parsing, wiring
from turnetl.base.errors import BadArchive, Fatal, TableUnusable
from turnetl.base.model import GroupId
from turnetl.base.object_url import shown_name
from turnetl.base.progress import Progress, ProgressUpdate, ignore_progress
from turnetl.base.shard import Shard
from turnetl.lake import Lake
from turnetl.lake.paths import archive_digest
from turnetl.parsing.archive_paths import find_archive
from turnetl.pipeline.group_names import select_groups
from turnetl.settings import Settings

log = logging.getLogger(__name__)

if TYPE_CHECKING:
    from turnetl.episodes.rule_examples import RuleExplanation


def filter_turns(
    settings: Settings,
    groups: Sequence[str] = (),
    *,
    one_off: bool = False,
    shard: Shard | None = None,
    progress: Progress = ignore_progress,
    on_damaged: Callable[[TableUnusable], None] | None = None,
) -> episodes.FilterReport:
    """Mark noise in the turns of the groups and render the episodes.

    A turns file that is damaged is created again from its archive, if that still exists.

    Args:
        one_off: the rules apply to this run only; the next ingest accepts the tables they make.
        on_damaged: called with the error of each group with a damaged turns file whose archive
            cannot be read, after the others are filtered. None: the first one is raised then.
    """
    lake, tried = wiring.lake(settings), set[Path]()
    selected = select_groups(lake.groups(), groups, shard=shard)
    filters = wiring.filters(settings, one_off=one_off)
    removed = lake.remove_abandoned()
    while True:
        damaged = list[TableUnusable]()
        report = episodes.build(
            lake,
            selected,
            filters=filters,
            progress=lambda done, all_: progress(ProgressUpdate("filter", "groups", done, all_)),
            on_damaged=damaged.append,
        )
        paths = {error.path for error in damaged} - tried
        again = [path for path in sorted(paths) if _restored(path, lake, settings)]
        if not again:
            break
        tried |= paths
    for error in damaged:
        unusable = _without_archive(error, lake)
        if on_damaged is None:
            raise unusable from error
        on_damaged(unusable)
    return replace(report, removed_temporary_files=removed)


def _without_archive(error: TableUnusable, lake: Lake) -> TableUnusable:
    """Return the error of a damaged turns file that could not be created again."""
    metadata = lake.archive_metadata(error.path)
    if metadata is not None and metadata.group != error.path.parent.name:
        return error
    archive = _archive_of(error.path, lake)
    source = f"its archive `{archive}` cannot be read" if archive else "its archive is not known"
    return TableUnusable(
        error.path,
        f"`{shown_name(error.path)}` is damaged, and {source}: its turns are lost from "
        "the lake unless you restore the file from a copy of the lake, or the archive and "
        "parse it again. Turns that were committed stay in the graph. To filter the group "
        "without this file, run `turnetl verify --fix`, which keeps it under another name",
    )


def parse_again(
    archives: Sequence[str], lake: Lake, settings: Settings, *, reread: bool = False
) -> parsing.ParseReport:
    """Parse those of the archives that can be found; `reread`: also those that did not change."""
    redactor, files = wiring.redactor(settings), wiring.archive_files()
    found = []
    for archive in archives:
        with suppress(BadArchive):
            found.append(find_archive(archive, redactor.stands_for, files))
    if not found:
        return parsing.ParseReport()
    return parsing.parse_archives(
        found,
        lake,
        redactor=redactor,
        grouping=wiring.archive_grouping(settings),
        files=files,
        reread=reread,
    )


def _restored(path: Path, lake: Lake, settings: Settings) -> bool:
    """Create a damaged turns file again from its archive; return whether that was possible.

    One that may hold turns which the archive lost is kept under another name.
    """
    metadata = lake.archive_metadata(path)
    if metadata is not None and metadata.group != path.parent.name:
        return False
    if (name := _archive_of(path, lake)) is None:
        return False
    report = parse_again([name], lake, settings, reread=True)
    if not report.archives or not report.archives[0].was_read:
        return False
    log.warning("`%s` is damaged; it is created again from `%s`", shown_name(path), name)
    if problem := report.archives[0].table_problem:
        log.warning(problem.message)
    before, after = metadata.counts["turns"] if metadata is not None else 0, report.read.turns
    if after < before:
        log.warning("`%s` holds %d turns now, not %d", name, after, before)
    return True


def _archive_of(path: Path, lake: Lake) -> str | None:
    """Return the archive of a turns file by itself, or by the episodes; None: neither tells."""
    if (metadata := lake.archive_metadata(path)) is not None:
        return metadata.archive
    known = episode_archives(lake, GroupId(path.parent.name))
    return next((one for one in sorted(known) if archive_digest(Path(one)) == path.stem), None)


def episode_archives(lake: Lake, group: GroupId) -> set[str]:
    """Return the archives of the episodes of a group; none if they cannot be read."""
    try:
        with lake.reading_episodes(group):
            rows = lake.scan_episodes(group).select(pl.col("archive").unique())
            return set(rows.collect()["archive"])
    except Fatal:
        return set()


def explain_rule(
    settings: Settings,
    rule: str,
    groups: Sequence[str] = (),
    *,
    examples: int = 5,
    progress: Progress = ignore_progress,
) -> "RuleExplanation":
    """Return what one noise rule marks by itself, active or not, with examples. Writes nothing."""
    from turnetl.episodes import rule_examples  # noqa: PLC0415 - imports the rendering

    lake = wiring.lake(settings)
    return rule_examples.explain(
        lake,
        select_groups(lake.groups(), groups),
        wiring.noise_rule(settings, rule),
        wiring.filters(settings),
        examples=examples,
        progress=lambda done, total: progress(ProgressUpdate("explain", "groups", done, total)),
    )
