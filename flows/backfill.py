"""The main job as a flow: a task a batch of archives, one for the filter, one a group.

What is done is never Prefect's to say; it is the graph's. So a run may be killed, repeated or
started twice, and each turn is committed once all the same.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

from prefect import State, Task, flow, get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import TaskRun
from prefect.concurrency.asyncio import ConcurrencySlotAcquisitionError, concurrency
from prefect.states import Completed, Failed
from prefect.tasks import exponential_backoff
from pydantic import Field, NonNegativeFloat, PositiveInt

from flows.warnings import each_once
from turnetl import pipeline, wiring
from turnetl.backfill_report import BackfillReport
from turnetl.clock import now, utc
from turnetl.episodes import FilterReport
from turnetl.errors import BadUsage, Retryable, TurnetlError
from turnetl.ingest import assumed_time
from turnetl.ingest.reasons import PendingReason
from turnetl.ingest.report import GroupReport, IngestReport
from turnetl.model import GroupId
from turnetl.parse import Outcome, ParseReport, expand
from turnetl.parse.name_collisions import with_joined
from turnetl.report import backfill as shown
from turnetl.report.ingest import is_failure
from turnetl.report.status import without_time
from turnetl.settings import ExtractorName, Settings, load_settings, units

_HOUR = timedelta(hours=1).total_seconds()

Passes = Annotated[int, Field(ge=0, le=3)]


@flow(name="backfill", timeout_seconds=24 * _HOUR, persist_result=False)
async def backfill(
    archives: list[str],
    *,
    lake: str | None = None,
    graph: str | None = None,
    group: str | None = None,
    group_map: str | None = None,
    format: str | None = None,  # noqa: A002 - called as the option is
    extractor: ExtractorName | None = None,
    config: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: PositiveInt | None = None,
    quiet: NonNegativeFloat | None = None,
    assume_time: str | None = None,
    preprocessing: str | None = None,
    reflexion: Passes | None = None,
    budget: str | list[str] | None = None,
    batch_size: PositiveInt = 200,
    jobs: PositiveInt | None = None,
    group_concurrency: PositiveInt | None = None,
    model_slots: str | None = None,
) -> State[dict[str, Any]]:
    """Parse, filter and ingest archives. What was done before is not done again.

    Args:
        archives: files, folders or globs; absolute, or beginning with `~`.
        lake: folder of the tables.
        graph: URL of the graph.
        group: where all turns go, instead of one group a project: a name, or a template of
            {project}, {format}, {user} and {host}.
        group_map: path of a TOML file with exceptions from that.
        format: read all archives as this, whatever they look like.
        extractor: what finds entities and facts.
        config: path of a JSON config.
        since: only turns that started then or later; UTC if no zone is given.
        until: only turns that started before.
        limit: at most so many turns of each group.
        quiet: minutes without a new row after which a session's last turn is over.
        assume_time: for turns without any time: an ISO time, UTC if no zone is given, or `mtime`
            for when the archive was last written.
        preprocessing: instructions for the model, in this run: a template's name, the text itself,
            or `none`. Templates are found at home, or where the worker stands.
        reflexion: times that the model is asked what it missed.
        budget: what the model may use in this run: `5usd`, `200k tokens`, or a list of one of each.
        batch_size: archives a task.
        jobs: archives of a task that are read side by side; as many as there are cores by default.
        group_concurrency: groups ingested side by side; the turns of one group never are.
        model_slots: a global concurrency limit, shared by all flows that call the same model; as
            many of its slots as the settings' `llm.at_once` are taken once for the whole run.

    Returns:
        The report that `turnetl backfill --json` prints. The run is Failed, with the reason in one
        sentence, if anything was refused; everything else is done all the same.
    """
    try:
        settings = _settings(
            config,
            lake,
            graph=graph or None,
            group=group or None,
            group_map=group_map or None,
            jobs=jobs,
            extractor=extractor,
            group_concurrency=group_concurrency,
            quiet_minutes=quiet,
            budget=_budget(budget),
        )
        limits = pipeline.RunOptions(
            since=utc(since),
            until=utc(until),
            limit=limit,
            assume=assumed_time.read(assume_time, now()) if assume_time else None,
            preprocessing=preprocessing,
            reflexion=reflexion,
        )
        once = pipeline.for_run(settings, limits)
        with each_once():
            wiring.check(once, preprocessing)
            parsed = await _parsed(_absolute(archives), settings, format or None, batch_size)
            if not parsed.groups:
                return _ended(parsed, FilterReport(()), IngestReport(None, ()))
            filtered = await filter_turns(
                lambda: pipeline.filter_turns(
                    once, parsed.groups, one_off=preprocessing is not None
                )
            )
            async with _slots(model_slots, settings.llm.concurrency):
                ingested = await _ingested(once, replace(limits, groups=parsed.groups))
    except TurnetlError as error:
        return Failed(message=str(error))
    return _ended(parsed, filtered, ingested)


@task(name="parse", cache_policy=NO_CACHE, timeout_seconds=_HOUR)
async def parse_batch(
    archives: Sequence[str], parse: Callable[[Sequence[str]], ParseReport]
) -> ParseReport:
    """Bring the turns files of a batch of archives up to date."""
    return await asyncio.to_thread(parse, archives)


@task(name="filter", cache_policy=NO_CACHE, timeout_seconds=_HOUR)
async def filter_turns(mark: Callable[[], FilterReport]) -> FilterReport:
    """Mark the noise and render the rest."""
    return await asyncio.to_thread(mark)


def may_pass(_task: Task[..., Any], _run: TaskRun, state: State[Any]) -> bool:
    """Say whether the same may work in a moment."""
    return isinstance(state.data, Retryable)


@task(
    name="ingest",
    task_run_name="ingest {group}",
    cache_policy=NO_CACHE,
    retries=4,
    retry_delay_seconds=exponential_backoff(backoff_factor=15),
    retry_jitter_factor=0.5,
    retry_condition_fn=may_pass,
    timeout_seconds=12 * _HOUR,
)
async def ingest_group(
    group: GroupId, ingest: Callable[[GroupId], Awaitable[GroupReport]]
) -> GroupReport:
    """Bring what is left of a group into the graph."""
    report = await ingest(group)
    if report.retryable:
        raise Retryable(report.error)
    return report


def _settings(config: str | None, lake: str | None, **given: Any) -> Settings:
    settings = load_settings(
        Path(config).expanduser() if config else None,
        lake=lake or None,
        **given,
    )
    paths = (settings.lake, settings.group_map, settings.noise.rules)
    _absolute([str(path) for path in paths if path is not None])
    return settings


def _budget(said: str | list[str] | None) -> dict[str, int | float | None] | None:
    return units.parse_budget([said] if isinstance(said, str) else said) if said else None


def _absolute(paths: Sequence[str]) -> list[str]:
    whole = [str(Path(path).expanduser()) for path in paths]
    for path in whole:
        if not Path(path).is_absolute():
            raise BadUsage(
                f"`{path}` is not an absolute path, and a worker runs in a folder of its own; "
                "write it from the root or with `~`"
            )
    return whole


async def _parsed(
    archives: Sequence[str], settings: Settings, format_name: str | None, size: int
) -> ParseReport:
    """Parse batch by batch: one that is killed is done again, and no other."""

    def parse(batch: Sequence[str]) -> ParseReport:
        return pipeline.parse_archives(batch, settings, format_name=format_name)

    found = expand(archives)
    report = ParseReport(not_found=found.problems)
    for batch in _batches([str(path) for path in found.archives], size):
        report += await parse_batch(batch, parse)
    report = with_joined(report, wiring.groups(settings))
    for problem in report.problems:
        get_run_logger().warning(problem.message)
    for group in report.joined:
        get_run_logger().warning(group.message)
    return report


def _batches(archives: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(archives), size):
        yield archives[start : start + size]


async def _ingested(settings: Settings, limits: pipeline.RunOptions) -> IngestReport:
    """Ingest groups side by side in this one process: an embedded graph has one opener."""
    run = pipeline.new_run(settings, now)
    at_once = asyncio.Semaphore(settings.group_concurrency)
    with wiring.shared(settings, now) as around:
        async with wiring.tools(settings, around) as tools:

            async def ingest(group: GroupId) -> GroupReport:
                return await pipeline.ingest_group(group, tools, limits, run, settings)

            async def one(group: GroupId) -> GroupReport:
                async with at_once:
                    return await ingest_group(group, ingest)

            reports = await pipeline.all_of(one(GroupId(group)) for group in limits.groups)
    return pipeline.accounted(IngestReport(run.run_id, tuple(reports)), around)


@asynccontextmanager
async def _slots(limit: str | None, wanted: int) -> AsyncIterator[None]:
    if limit is None:
        yield
        return
    try:
        # Without `strict` a limit that does not exist lets everyone through.
        async with concurrency(limit, occupy=wanted, strict=True):
            yield
    except ConcurrencySlotAcquisitionError as error:
        raise BadUsage(
            f"there are no {wanted} slots `{limit}`; make them with "
            f"`prefect gcl create {limit} --limit {wanted}`"
        ) from error


def _ended(
    parsed: ParseReport, filtered: FilterReport, ingested: IngestReport
) -> State[dict[str, Any]]:
    """Return Completed with the report, or Failed with what was refused first."""
    report = BackfillReport(parsed, filtered, ingested)
    if is_failure(shown.exit_code(report)):
        first, *more = _refusals(parsed, ingested)
        return Failed(message=f"{first} (and {len(more)} more)" if more else first)
    said = f"{ingested.committed} turns committed, {ingested.skipped} before"
    return Completed(message=said, data=shown.as_json(report))


def _refusals(parsed: ParseReport, ingested: IngestReport) -> list[str]:
    """Return why the run failed; lines and files passed over count only if nothing else does."""
    groups = [f"`{of.group}`: {of.error}" for of in ingested.groups if of.error]
    timeless = [
        without_time(of)
        for of in ingested.groups
        if of.uncommitted_reasons.get(PendingReason.NO_TIME)
    ]
    passed_over = {
        of.problem for of in parsed.archives if of.problem and of.outcome != Outcome.UNREADABLE
    }
    serious = [problem.message for problem in parsed.problems if problem not in passed_over]
    return groups + serious + timeless or [problem.message for problem in parsed.problems]
