"""A backfill whose work is done by other processes, in packs: of archives, and of whole groups.

A pack is picklable values only. The process that does it has settings of its own, which are
compared before.
"""

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from typing import Protocol, TypeVar

from turnetl import wiring
from turnetl.backfill_report import BackfillReport
from turnetl.base import ids
from turnetl.base.clock import Clock
from turnetl.base.errors import TurnetlError
from turnetl.base.model import GroupId, Usage
from turnetl.episodes import FilterReport
from turnetl.ingestion.ingest_report import IngestReport
from turnetl.parsing import ParseReport
from turnetl.pipeline.parse_plan import archive_size, plan_parse
from turnetl.pipeline.run_ingest import ingest
from turnetl.pipeline.run_options import RunOptions, settings_for_run
from turnetl.pipeline.tables import filter_turns
from turnetl.settings import Settings

_MOST = 240
"""Packs of a stage, so that a run has fewer than 500 tasks."""
_PACK_BYTES = 64 << 20
"""Of archives, in a pack of a run that has enough of them."""


@dataclass(frozen=True, slots=True)
class IngestedPack:
    filtered: FilterReport
    ingested: IngestReport


class PackRunner(Protocol):
    """Does packs in other processes, several at the same time."""

    @property
    def processes(self) -> int: ...

    def parse(self, packs: Sequence[tuple[str, ...]]) -> Awaitable[list[ParseReport]]:
        """Call `parse` for each, and return the reports in their order.

        Raises:
            TurnetlError: a pack could not be done; the others are.
        """
        ...

    def ingest(self, packs: Sequence[tuple[GroupId, ...]]) -> Awaitable[list[IngestedPack]]:
        """Call `ingest_pack` for each, and return the reports in their order.

        The report of a pack that could not be done has the error.
        """
        ...


async def packed_backfill(
    archives: Sequence[str], settings: Settings, runner: PackRunner, *, format_name: str | None
) -> BackfillReport:
    """Parse, filter and ingest archives in packs: all archives before the first group.

    This process opens no archive and no graph.
    """
    plan = plan_parse(archives, settings, format_name=format_name)
    sizes = {str(path): archive_size(path, plan.files) for path in plan.paths.archives}
    count = max(-(-sum(sizes.values()) // _PACK_BYTES), 2 * runner.processes)
    parsed = plan.report(await runner.parse(packed(sizes, min(count, _MOST))))
    lake = wiring.lake(settings)
    groups = {*parsed.groups, *(lake.groups_without_turns() if parsed.groups else ())}
    turns = {
        group: sum(file.metadata.turns for file in lake.turn_files(group))
        for group in sorted(groups)
    }
    # A worker ingests the groups of a pack in parallel, as one process would.
    count = max(-(-len(turns) // settings.group_concurrency), runner.processes)
    packs = await runner.ingest(packed(turns, min(count, _MOST))) if turns else []
    return BackfillReport(
        parsed, _all_filtered(packs), combined_ingest([pack.ingested for pack in packs])
    )


async def ingest_pack(
    groups: Sequence[GroupId], settings: Settings, options: RunOptions, clock: Clock
) -> IngestedPack:
    """Filter and ingest the groups of a pack; of groups whose archives moved, only filter."""
    run_settings = settings_for_run(settings, options)
    moved = wiring.lake(settings).groups_without_turns()
    filtered = filter_turns(run_settings, groups, one_off=options.preprocessing is not None)
    left = tuple(group for group in groups if group not in moved)
    if not left:
        return IngestedPack(filtered, IngestReport(None, ()))
    return IngestedPack(filtered, await ingest(settings, replace(options, groups=left), clock))


def failed_pack(error: TurnetlError) -> IngestedPack:
    report = IngestReport(None, (), error=str(error), exit_code=error.exit_code)
    return IngestedPack(FilterReport(()), report)


def combined_ingest(reports: Sequence[IngestReport]) -> IngestReport:
    """Return the report on all groups. It has no run id: each report is of a run of its own."""
    errors = [report for report in reports if report.error]
    usage: dict[str, Usage] = {}
    for report in reports:
        for prompt, used in report.usage_by_prompt.items():
            usage[prompt] = usage[prompt] + used if prompt in usage else used
    groups = sorted((group for one in reports for group in one.groups), key=lambda one: one.group)
    return IngestReport(
        None,
        tuple(groups),
        error=errors[0].error if errors else None,
        exit_code=errors[0].exit_code if errors else 0,
        usage_by_prompt=usage,
        journal_hits=sum(report.journal_hits for report in reports),
    )


def _all_filtered(packs: Sequence[IngestedPack]) -> FilterReport:
    groups = sorted(
        (group for pack in packs for group in pack.filtered.groups), key=lambda one: one.group
    )
    removed = sum(pack.filtered.removed_temporary_files for pack in packs)
    return FilterReport(tuple(groups), removed)


_ANY_GROUP, _ANY_KIND = GroupId(""), ""


def worker_profile(settings: Settings, options: RunOptions) -> Mapping[str, str]:
    """Return what must be equal in all processes of a run, by names for a message. No secrets.

    Raises `BadUsage` if the settings are not complete, such as a model without a key.
    """
    run_settings = settings_for_run(settings, options)
    wiring.check(run_settings, options.preprocessing)
    filters, recipe = wiring.filters(run_settings), wiring.recipe(run_settings)
    parts = () if recipe is None else recipe(_ANY_GROUP, _ANY_KIND)
    return {
        "turnetl": metadata.version("turnetl"),
        "extractor": run_settings.extractor_name,
        "model": f"{run_settings.llm.provider} {run_settings.llm.model or ''}".strip(),
        "recipe": ids.digest(repr(parts)),
        "noise rules": ids.digest(*sorted(filters.active_rules), *filters.recipe(_ANY_GROUP)),
        "redaction of personal data": str(run_settings.redact_pii),
        "lake": str(run_settings.lake),
    }


def profile_differences(expected: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """Return what differs, as `extractor (structural instead of llm)`; digests are not shown."""
    return [
        name if name in ("recipe", "noise rules") else f"{name} ({found[name]} instead of {value})"
        for name, value in expected.items()
        if found[name] != value
    ]


T = TypeVar("T")


def packed(sizes: Mapping[T, int], count: int) -> list[tuple[T, ...]]:
    """Return at most `count` packs of all items by size, the largest first; none is empty."""
    # The largest first, each into the smallest pack so far.
    packs: list[list[T]] = [[] for _ in range(min(count, len(sizes)))]
    totals = [0] * len(packs)
    for item in sorted(sizes, key=lambda one: -sizes[one]):
        smallest = totals.index(min(totals))
        packs[smallest].append(item)
        totals[smallest] += sizes[item] + 1
    by_size = sorted(range(len(packs)), key=lambda number: -totals[number])
    return [tuple(packs[number]) for number in by_size]
