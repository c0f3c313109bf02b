"""The public Python functions: the commands without a terminal. Imported lazily by `turnetl`.

`settings` are, if not given, those that the command would use: the environment, the config file,
the defaults. Each function returns a frozen report and raises only subclasses of `TurnetlError`.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from os import PathLike, fspath
from typing import Literal

from turnetl import pipeline
from turnetl.backfill_report import BackfillReport
from turnetl.clock import as_utc, now
from turnetl.episodes import FilterReport
from turnetl.index.selection import Selection
from turnetl.ingestion.report import IngestReport
from turnetl.model import GroupId
from turnetl.parsing import ParseReport
from turnetl.progress import Progress, ignore_progress
from turnetl.retrieval.hits import SearchHit
from turnetl.retrieval.search import Order
from turnetl.run_options import RunOptions
from turnetl.settings import Settings, load_settings

Path = str | PathLike[str]


def parse(
    archives: Path | Iterable[Path],
    settings: Settings | None = None,
    *,
    format_name: str | None = None,
    dry_run: bool = False,
    progress: Progress = ignore_progress,
) -> ParseReport:
    """Parse archives into turn tables; unchanged archives are not opened.

    Args:
        archives: files, folders or globs; one, or several.
        settings: everything that is configured; None: as the command line would load it.
        format_name: the format of all archives; None: each is detected by its content.
        dry_run: write nothing; report what would be done.
        progress: called after each archive.

    Raises:
        BadUsage: settings or arguments that are not valid.
        Fatal: the lake cannot be written.
    """
    return pipeline.parse_archives(
        _paths(archives),
        settings or load_settings(),
        format_name=format_name,
        dry_run=dry_run,
        progress=progress,
    )


def filter(  # noqa: A001 - named as the command
    settings: Settings | None = None,
    groups: Sequence[str] = (),
    *,
    progress: Progress = ignore_progress,
) -> FilterReport:
    """Mark noise in the turn tables and render the episodes.

    Args:
        settings: everything that is configured; None: as the command line would load it.
        groups: group ids or project names; all groups if empty.
        progress: called after each group.

    Raises:
        BadUsage: an unknown group, or settings that are not valid.
        Fatal: the lake cannot be written.
    """
    return pipeline.filter_turns(settings or load_settings(), groups, progress=progress)


async def ingest(
    settings: Settings | None = None,
    options: RunOptions | None = None,
    *,
    progress: Progress = ignore_progress,
) -> IngestReport:
    """Ingest the pending turns into the graph, oldest first, one transaction per turn.

    Args:
        settings: everything that is configured; None: as the command line would load it.
        options: which groups and turns, and how they are extracted in this run.
        progress: called after each turn.

    Returns:
        The report, also on groups that could not be finished: `error` says why.

    Raises:
        BadUsage: settings or options that are not valid.
    """
    return await pipeline.ingest(
        settings or load_settings(), options or RunOptions(), now, progress=progress
    )


async def backfill(
    archives: Path | Iterable[Path],
    settings: Settings | None = None,
    options: RunOptions | None = None,
    *,
    format_name: str | None = None,
    progress: Progress = ignore_progress,
) -> BackfillReport:
    """Parse, filter and ingest archives; what an earlier run did is not repeated.

    Args:
        archives: files, folders or globs; one, or several.
        settings: everything that is configured; None: as the command line would load it.
        options: which turns, and how they are extracted in this run. The groups are those of the
            archives.
        format_name: the format of all archives; None: each is detected by its content.
        progress: called after each archive, group and turn.

    Raises:
        BadUsage: settings or options that are not valid; raised before any work.
        Fatal: the lake cannot be written.
    """
    return await pipeline.backfill(
        _paths(archives),
        settings or load_settings(),
        options or RunOptions(),
        now,
        format_name=format_name,
        progress=progress,
    )


async def search(
    query: str,
    settings: Settings | None = None,
    *,
    groups: Sequence[str] = (),
    since: datetime | None = None,
    until: datetime | None = None,
    as_of: datetime | None = None,
    session: str | None = None,
    format_name: str | None = None,
    branch: str | None = None,
    tool: str | None = None,
    file: str | None = None,
    entity: str | None = None,
    label: str | None = None,
    relation: str | None = None,
    sort: Literal["score", "time"] = "score",
    limit: int = 10,
    rerank: bool = False,
) -> Sequence[SearchHit]:
    """Return the turns that match a query, best first, each with its facts.

    Writes nothing but the search index, which is brought up to date with the graph first.

    Args:
        query: words or a whole question; an empty one lists the turns that the other arguments
            select, newest first.
        settings: everything that is configured; None: as the command line would load it.
        groups: group ids or project names; all groups if empty.
        since: only turns that started then or later; UTC without a time zone.
        until: only turns that started before.
        as_of: only turns that started before, with the facts that held then.
        session: only turns of the session with this id, or the beginning of one.
        format_name: only turns of archives of this format.
        branch: only turns on this git branch.
        tool: only turns in which this tool was called.
        file: only turns with a fact about this file: its absolute path, or the end of its path.
        entity: only turns with a fact about the entity with this name.
        label: only turns with a fact about an entity with this label.
        relation: only turns with a fact with this relation.
        sort: order of the hits: best first, or the same hits newest first.
        limit: at most this number of turns.
        rerank: let the configured model rate the best turns and order them.

    Raises:
        BadUsage: an unknown group, or settings that are not valid; without a hit, a condition that
            no turn of the graph meets.
        GraphUnusable: the graph cannot be opened.
        TurnetlError: as the model, if it reranks.
    """
    selection = Selection(
        groups=tuple(GroupId(group) for group in groups),
        since=as_utc(since),
        until=as_utc(until),
        as_of=as_utc(as_of),
        session=session,
        format=format_name,
        branch=branch,
        tool=tool,
        file=file,
        entity=entity,
        label=label,
        relation=relation,
    )
    result = await pipeline.search_turns(
        query,
        settings or load_settings(),
        now,
        selection=selection,
        order=Order(sort),
        limit=limit,
        rerank=rerank,
    )
    return result.hits


async def status(
    settings: Settings | None = None, options: RunOptions | None = None
) -> IngestReport:
    """Report what the graph holds of each group, what is pending, and why. Writes nothing.

    Args:
        settings: everything that is configured; None: as the command line would load it.
        options: which groups, and how a run would extract their turns.

    Raises:
        BadUsage: an unknown group, or settings that are not valid.
        GraphUnusable: the graph cannot be opened.
    """
    return await pipeline.status(settings or load_settings(), options or RunOptions(), now)


def _paths(archives: Path | Iterable[Path]) -> list[str]:
    several = [archives] if isinstance(archives, str | PathLike) else archives
    return [fspath(path) for path in several]
