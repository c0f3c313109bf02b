"""Work on one group after another: under its lease, with an error or a report of each."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any, ClassVar, Protocol, TypeVar

from turnetl.base.errors import TurnetlError
from turnetl.base.exit_code import ExitCode
from turnetl.base.graph_model import GroupProfile, Lease
from turnetl.base.model import GroupId
from turnetl.base.progress import Progress, ProgressUpdate, ignore_progress
from turnetl.graph.port import GraphStore
from turnetl.ingestion.held_lease import held_lease
from turnetl.ingestion.ingest_run import IngestRun


class _GroupResult(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def group(self) -> GroupId: ...

    @property
    def error(self) -> str | None: ...

    @property
    def exit_code(self) -> int: ...


R = TypeVar("R", bound=_GroupResult)
Keep = Callable[[R], None]
"""Takes the report so far: it is kept if an error ends the work on the group."""


async def each_group(
    reports: Iterable[R],
    work: Callable[[R, Keep[R]], Awaitable[R]],
    *,
    stage: str | None = None,
    progress: Progress = ignore_progress,
    ends_at_limits: bool = False,
) -> list[R]:
    """Return the reports on the work on each group, in this order.

    An error is in the report of its group, with what was done before it. With a stage, `progress`
    is called after each group. With `ends_at_limits` no group is begun after one that a limit
    stopped, such as the budget.
    """
    todo = list(reports)
    done: list[R] = []
    for report in todo:
        done.append(await _attempted(report, work))
        if stage is not None:
            progress(ProgressUpdate(stage, "groups", len(done), len(todo)))
        if ends_at_limits and done[-1].exit_code == ExitCode.STOPPED:
            break
    return done


async def _attempted(report: R, work: Callable[[R, Keep[R]], Awaitable[R]]) -> R:
    kept = report

    def keep(so_far: R) -> None:
        nonlocal kept
        kept = so_far

    try:
        return await work(report, keep)
    except TurnetlError as error:
        return replace(kept, error=str(error), exit_code=error.exit_code)


def under_lease(
    store: GraphStore,
    run: IngestRun,
    work: Callable[[R, Keep[R], Lease, GroupProfile], Awaitable[R]],
) -> Callable[[R, Keep[R]], Awaitable[R]]:
    """Return the work under the lease of its group; a group without turns keeps its report."""

    async def leased(report: R, keep: Keep[R]) -> R:
        profile = await store.profile(report.group)
        if profile is None:
            return report
        async with held_lease(store, report.group, profile, run) as lease:
            return await work(report, keep, lease, profile)

    return leased
