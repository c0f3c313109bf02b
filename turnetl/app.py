"""The stages wired together: opens lake, graph and model, and hands them down.

The command line and the flows are two thin callers of what stands here.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from turnetl import episodes, ids, parse
from turnetl.errors import BadUsage
from turnetl.extraction.port import Extractor
from turnetl.graph.open import open_graph
from turnetl.graph.port import GraphStore
from turnetl.graph.search import Hit, search
from turnetl.ingest import group as ingesting
from turnetl.ingest import owner
from turnetl.ingest.group import GroupReport, Tools
from turnetl.ingest.pipeline import Run
from turnetl.ingest.plan import Scope
from turnetl.ingest.quarantine import Quarantine
from turnetl.lake import Lake
from turnetl.llm.embedders import WordLlamaEmbedder
from turnetl.llm.port import Embedder
from turnetl.model import GroupId
from turnetl.redact import Redactor
from turnetl.report.questions import questions
from turnetl.settings import Settings

_SMALL = 5_000
"""Facts that are read in well under a second."""

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Step:
    """How far a stage is."""

    stage: str
    name: str
    done: int
    total: int


Progress = Callable[[Step], None]


def silent(_: Step) -> None:
    """Show nothing."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Which turns an ingest may take: see `plan.Scope`."""

    groups: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    limit: int | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class IngestReport:
    """The account of a run over all its groups."""

    run_id: str | None
    """None if nothing was written."""
    groups: tuple[GroupReport, ...]
    questions: tuple[str, ...] = ()
    """To try the search with, if anything new was committed."""

    @property
    def committed(self) -> int:
        return sum(group.committed for group in self.groups)

    @property
    def skipped(self) -> int:
        return sum(group.skipped for group in self.groups)

    @property
    def quarantined(self) -> int:
        return sum(group.quarantined for group in self.groups)

    @property
    def pending(self) -> int:
        return sum(group.pending for group in self.groups)


@dataclass(frozen=True, slots=True)
class BackfillReport:
    """What each of the three stages did."""

    parsed: parse.ParseReport
    filtered: episodes.FilterReport
    ingested: IngestReport


def parse_archives(
    paths: Sequence[str],
    settings: Settings,
    *,
    group: str | None = None,
    progress: Progress = silent,
) -> parse.ParseReport:
    """Read archives into turn tables; those that did not change are not opened.

    Args:
        paths: files, folders or globs.
        settings: where the lake is.
        group: the group of all their turns; None for one a project.
        progress: told after each archive.
    """
    found = parse.expand(paths)
    report = parse.archives(
        found.archives,
        Lake(settings.lake),
        group=None if group is None else ids.group_id(group),
        redactor=Redactor(),
        progress=lambda done, total: progress(Step("parse", "archives", done, total)),
    )
    return report + parse.ParseReport(not_found=found.problems)


def filter_turns(
    settings: Settings, groups: Sequence[str] = (), *, progress: Progress = silent
) -> episodes.FilterReport:
    """Mark and render the turns of the groups, of all groups if none is named."""
    lake = Lake(settings.lake)
    return episodes.build(
        lake,
        chosen(lake.groups(), groups),
        progress=lambda done, total: progress(Step("filter", "groups", done, total)),
    )


async def ingest(
    settings: Settings, limits: Limits, clock: Clock, *, progress: Progress = silent
) -> IngestReport:
    """Bring what is left of the groups into the graph, groups side by side.

    If nothing is left, or only to be looked at, the graph is opened for reading only.
    """
    before = await status(settings, limits, clock)
    if limits.dry_run or not any(group.ready for group in before.groups):
        return before
    run = new_run(settings, clock)
    async with opened(settings) as tools:
        names = chosen(tools.lake.groups(), limits.groups)
        at_once = asyncio.Semaphore(settings.groups_at_once)

        async def one(group: GroupId) -> GroupReport:
            async with at_once:
                return await ingest_group(group, tools, limits, run, settings, progress=progress)

        reports = await all_of(one(group) for group in names)
        return IngestReport(run.run_id, tuple(reports), await _questions(reports, tools.store))


async def all_of(jobs: Iterable[Awaitable[GroupReport]]) -> list[GroupReport]:
    """Wait for every job, then raise what the first one raised, if any did."""
    results = await asyncio.gather(*jobs, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if not isinstance(result, BaseException)]


async def ingest_group(
    group: GroupId,
    tools: Tools,
    limits: Limits,
    run: Run,
    settings: Settings,
    *,
    progress: Progress = silent,
) -> GroupReport:
    """Bring what is left of one group into the graph."""
    return await ingesting.ingest(
        group,
        tools,
        scope_of(settings, limits, run.clock()),
        run,
        lambda done, total: progress(Step("ingest", group, done, total)),
    )


async def status(settings: Settings, limits: Limits, clock: Clock) -> IngestReport:
    """Say how every group of lake or graph stands. Writes nothing."""
    scope = scope_of(settings, limits, clock())
    async with opened(settings, write=False) as tools:
        there = sorted({*tools.lake.groups(), *await tools.store.groups()})
        reports = [
            await ingesting.account(await ingesting.plan(group, tools, scope), tools.store)
            for group in chosen(there, limits.groups)
        ]
    return IngestReport(None, tuple(reports))


async def _questions(reports: Sequence[GroupReport], store: GraphStore) -> tuple[str, ...]:
    """Ask the group that grew most, unless reading it would take long."""
    grown = [of for of in reports if of.committed and of.facts <= _SMALL]
    if not grown:
        return ()
    return questions(await store.load(max(grown, key=lambda of: of.committed).group))


async def backfill(
    archives: Sequence[str],
    settings: Settings,
    limits: Limits,
    clock: Clock,
    *,
    group: str | None = None,
    progress: Progress = silent,
) -> BackfillReport:
    """Parse, filter and ingest: the main job."""
    parsed = parse_archives(archives, settings, group=group, progress=progress)
    if not parsed.groups:
        return BackfillReport(parsed, episodes.FilterReport(()), IngestReport(None, ()))
    filtered = filter_turns(settings, parsed.groups, progress=progress)
    ingested = await ingest(
        settings, replace(limits, groups=parsed.groups), clock, progress=progress
    )
    return BackfillReport(parsed, filtered, ingested)


async def retry(
    settings: Settings, limits: Limits, clock: Clock, *, progress: Progress = silent
) -> IngestReport:
    """Let quarantined turns go, and ingest."""
    lake = Lake(settings.lake)
    for group in chosen(lake.groups(), limits.groups):
        quarantine = Quarantine(lake.root, group)
        for turn in quarantine.turns():
            quarantine.release(turn)
    return await ingest(settings, limits, clock, progress=progress)


async def find(
    query: str, settings: Settings, *, groups: Sequence[str] = (), limit: int = 10
) -> Sequence[Hit]:
    """Return the turns that answer the query best, each with its facts. Writes nothing."""
    store = await open_store(settings, write=False)
    try:
        names = chosen(await store.groups(), groups)
        contents = [await store.load(name) for name in names]
    finally:
        await store.close()
    return await search(contents, query, open_embedder(), limit=limit)


@asynccontextmanager
async def opened(settings: Settings, *, write: bool = True) -> AsyncIterator[Tools]:
    """Open what an ingest needs, and close the graph afterwards."""
    embedder = open_embedder()
    extractor = open_extractor(settings, embedder)
    store = await open_store(settings, write=write)
    try:
        if write:
            await store.prepare()
        yield Tools(
            lake=Lake(settings.lake),
            store=store,
            extractor=extractor,
            embedder=embedder,
            context_turns=settings.context_turns,
        )
    finally:
        await store.close()
        await extractor.close()


async def open_store(settings: Settings, *, write: bool) -> GraphStore:
    password = settings.graph_password
    return await open_graph(
        settings.graph_url,
        user=settings.graph_user,
        password=password.get_secret_value() if password else "",
        write=write,
    )


def open_embedder() -> Embedder:
    return WordLlamaEmbedder()


def open_extractor(settings: Settings, embedder: Embedder) -> Extractor[Any]:
    """Return the extractor that the settings name."""
    from turnetl.extraction.structural import StructuralExtractor

    match settings.extractor_name:
        case "structural":
            return StructuralExtractor()
        case "llm":
            return _llm(settings, embedder)
        case "both":
            from turnetl.extraction.both import BothExtractor

            return BothExtractor(StructuralExtractor(), _llm(settings, embedder))


def _llm(settings: Settings, embedder: Embedder) -> Extractor[Any]:
    if settings.llm.provider == "none":
        raise BadUsage(
            "the `llm` extractor needs a model: set TURNETL_LLM__PROVIDER, TURNETL_LLM__MODEL and "
            "TURNETL_LLM__API_KEY, or use --extractor structural"
        )
    from turnetl.extraction.llm import LlmExtractor
    from turnetl.extraction.templates import TemplateResolver, folders
    from turnetl.llm.models import open_model

    key = settings.llm.api_key
    model = open_model(
        settings.llm.provider,
        model=settings.llm.model,
        base_url=settings.llm.base_url,
        api_key=key.get_secret_value() if key else None,
        at_once=settings.llm.at_once,
    )
    templates = TemplateResolver(folders(Path.cwd(), Path.home()))
    instructions = settings.extraction.resolve_prompt(templates)
    return LlmExtractor(model, embedder, instructions=instructions)


def new_run(settings: Settings, clock: Clock) -> Run:
    """Return a run of this process."""
    return Run(
        run_id=str(uuid4()),
        owner=owner.name(),
        clock=clock,
        lease=timedelta(seconds=settings.lease_seconds),
        ahead=settings.ahead,
    )


def scope_of(settings: Settings, limits: Limits, now: datetime) -> Scope:
    return Scope(
        now=now,
        quiet=timedelta(minutes=settings.quiet_minutes),
        since=limits.since,
        until=limits.until,
        limit=limits.limit,
    )


def chosen(there: Sequence[GroupId], named: Sequence[str]) -> list[GroupId]:
    """Return the groups named, all of them if none is.

    Raises:
        BadUsage: a name that is not there; says which are.
    """
    unknown = sorted(set(named) - set(there))
    if unknown:
        raise BadUsage(
            f"there is no group `{unknown[0]}`; there are: {', '.join(there) or 'none yet'}"
        )
    return [group for group in there if not named or group in named]
