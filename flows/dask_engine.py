"""A backfill on the workers of an existing Dask cluster, which may be lost meanwhile."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from distributed import Client
from distributed.client import ClosedClientError, FutureCancelledError
from distributed.scheduler import KilledWorker
from prefect import State, Task, get_run_logger
from prefect.client.orchestration import get_client
from prefect.exceptions import ObjectNotFound
from prefect.states import Crashed
from prefect_dask.task_runners import DaskTaskRunner, PrefectDaskFuture

from flows.backfill_run import BackfillParameters
from flows.dask_tasks import Profile, ingest_task, parse_task, profile_here, refusal
from flows.events import emit_ingested
from flows.run_settings import absolute_paths, check_shared_graph
from turnetl.backfill_report import BackfillReport
from turnetl.base.errors import BadUsage, Fatal, Retryable, TurnetlError
from turnetl.base.model import GroupId
from turnetl.base.text import plural
from turnetl.parsing import ParseReport
from turnetl.pipeline.packed_backfill import (
    IngestedPack,
    failed_pack,
    packed_backfill,
    profile_differences,
    worker_profile,
)
from turnetl.settings import Settings

Pack = PrefectDaskFuture[Any]

_INTERVAL = 0.1
"""Seconds between two checks of the packs."""
_CHECK_INTERVAL = 5.0
"""Seconds between two checks of the workers."""
_ABSENCE = 60.0
"""The default: Kubernetes and the nanny of a worker start another one earlier."""


class ClusterLost(Retryable):
    """The scheduler or all workers were lost: nobody knows whether a pack was done."""


@dataclass(frozen=True, slots=True)
class PackResults:
    """Waits for packs for as long as the cluster can do them."""

    client: Client
    address: str
    """Of the scheduler, for messages."""
    absence: float = _ABSENCE
    """Seconds without any worker after which the packs are given up."""

    async def wait(self, packs: Sequence[Pack]) -> list[Any]:
        """Return the result of each pack, or the TurnetlError with which it ended, in their order.

        A pack that is not done when the cluster is lost ends with that error.
        """
        lost = await self._until_ended(packs)
        return [await self._result(pack, lost) for pack in packs]

    async def _until_ended(self, packs: Sequence[Pack]) -> ClusterLost | None:
        """Wait until all packs have ended, or return why the others cannot."""
        clock = asyncio.get_running_loop().time
        checked = seen = clock()
        # Not in a thread that blocks: the process of a cancelled run could not end.
        while not all(_of_dask(pack).done() for pack in packs):
            await asyncio.sleep(_INTERVAL)
            if clock() - checked < min(_CHECK_INTERVAL, self.absence):
                continue
            checked = clock()
            if await asyncio.to_thread(self._has_workers):
                seen = clock()
            elif clock() - seen >= self.absence:
                return self._no_worker()
        return None

    def _has_workers(self) -> bool:
        return bool(self.client.scheduler_info(n_workers=1)["workers"])

    async def _result(self, pack: Pack, lost: ClusterLost | None) -> Any:
        if not _of_dask(pack).done():
            return lost
        try:
            return await asyncio.to_thread(pack.result)
        except TurnetlError as error:
            return error
        except FutureCancelledError:
            return lost_scheduler(self.address)
        except KilledWorker:
            return _killed()
        except Exception as error:  # noqa: BLE001 - of the task, of Prefect or of Dask: a pack failed
            get_run_logger().exception("a pack was not done")
            return Fatal(f"a task on the Dask cluster failed ({type(error).__name__}: {error})")

    def _no_worker(self) -> ClusterLost:
        return ClusterLost(
            f"the Dask cluster at `{self.address}` has lost all its workers: start one with "
            f"`dask worker {self.address}`, then start this run again; it continues with what is "
            "not done"
        )


def lost_scheduler(address: str) -> ClusterLost:
    return ClusterLost(
        f"the connection to the Dask scheduler at `{address}` was lost: see that it and its "
        "workers run, then start this run again; it continues with what is not done"
    )


def _of_dask(pack: Pack) -> Any:
    """Return the future of Dask, which has no types."""
    return pack.wrapped_future


def _killed() -> Fatal:
    return Fatal(
        "a pack was given up, because the Dask workers that did it ended one after the other: "
        "see their logs, and give them more memory or a lower `group_concurrency`"
    )


_CONNECT = 15
"""Seconds for the connection to the scheduler."""
_PROBE = 120
"""Seconds for the profile of a worker, which imports turnetl for it."""


async def backfill_on_dask(address: str, parameters: BackfillParameters) -> BackfillReport:
    """Parse, filter and ingest archives on the workers of the cluster at `tcp://host:8786`.

    The workers get the parameters too; no secret is among them.

    Raises:
        BadUsage: there is no cluster or no worker, a worker would do something else than this
            process, or a parameter cannot be divided.
    """
    settings = await parameters.settings()
    _check_divisible(settings, parameters)
    expected = worker_profile(settings, parameters.options("backfill"))
    with _connected(address) as runner:
        workers = await asyncio.to_thread(_checked_workers, runner, parameters, expected)
        packs = DaskPacks(runner, parameters, expected, workers)
        return await packed_backfill(
            absolute_paths(parameters.archives),
            settings,
            packs,
            format_name=parameters.format or None,
        )


@dataclass(frozen=True, slots=True)
class DaskPacks:
    """Does packs as tasks of Prefect on the workers; a lost worker's pack is done by another."""

    runner: DaskTaskRunner
    parameters: BackfillParameters
    expected: Profile
    processes: int

    async def parse(self, packs: Sequence[tuple[str, ...]]) -> list[ParseReport]:
        futures = [
            self._submit(parse_task, f"pack {number} of {len(packs)}", {"archives": pack})
            for number, pack in enumerate(packs, start=1)
        ]
        results = await self._results(futures)
        errors = [result for result in results if isinstance(result, TurnetlError)]
        if errors:
            raise errors[0]
        return results

    async def ingest(self, packs: Sequence[tuple[GroupId, ...]]) -> list[IngestedPack]:
        futures = [self._submit(ingest_task, _name(pack), {"groups": pack}) for pack in packs]
        results = await self._results(futures)
        done = [
            failed_pack(result) if isinstance(result, TurnetlError) else result
            for result in results
        ]
        # Each pack is a run of its own in the graph.
        for pack in done:
            emit_ingested(pack.ingested)
        return done

    def _submit(self, work: Task[..., Any], name: str, given: Mapping[str, Any]) -> Pack:
        shared = {"name": name, "parameters": self.parameters, "expected": self.expected}
        try:
            return self.runner.submit(work, parameters={**shared, **given})
        except ClosedClientError as error:
            raise lost_scheduler(str(self.runner.address)) from error

    async def _results(self, packs: Sequence[Pack]) -> list[Any]:
        results = await PackResults(self.runner.client, str(self.runner.address)).wait(packs)
        lost = [
            pack.task_run_id
            for pack, result in zip(packs, results, strict=True)
            if isinstance(result, ClusterLost)
        ]
        if lost:
            await crash_tasks(lost, "its Dask cluster was lost")
        return results


def _connected(address: str) -> DaskTaskRunner:
    """Return a task runner whose scheduler responds; it is connected when it is entered."""
    try:
        with _runner(address) as probing:
            probing.client.scheduler_info()
    except (OSError, TimeoutError) as error:
        raise BadUsage(
            f"no Dask scheduler responds at `{address}`: start one with `dask scheduler`, or "
            "correct the parameter `engine`"
        ) from error
    return _runner(address)


def _runner(address: str) -> DaskTaskRunner:
    return DaskTaskRunner(address=address, client_kwargs={"timeout": _CONNECT})


def _checked_workers(
    runner: DaskTaskRunner, parameters: BackfillParameters, expected: Profile
) -> int:
    """Return the number of workers, each of which would do what this process would."""
    client: Any = runner.client
    workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
    if not workers:
        raise BadUsage(
            f"the Dask cluster at `{runner.address}` has no worker: start one with "
            f"`dask worker {runner.address}`"
        )
    probes = {
        worker: client.submit(profile_here, parameters, workers=[worker], pure=False)
        for worker in workers
    }
    for worker, probe in probes.items():
        try:
            found = probe.result(timeout=_PROBE)
        except FutureCancelledError as error:
            raise lost_scheduler(str(runner.address)) from error
        except Exception as error:
            raise BadUsage(f"the Dask worker {worker} cannot do this run: {error}") from error
        if unequal := profile_differences(expected, found):
            raise BadUsage(refusal(f"the Dask worker {worker}", unequal))
    return len(workers)


def _check_divisible(settings: Settings, parameters: BackfillParameters) -> None:
    """Check that nothing is asked that the tasks of a cluster cannot share."""
    check_shared_graph(settings, "the workers of a cluster", "the engine `local`")
    if settings.budget.usd is not None or settings.budget.tokens is not None:
        raise BadUsage(
            "a budget is that of one process, and the engine `dask` has several: run "
            "`backfill-sharded`, which divides it, or use the engine `local`"
        )
    if parameters.model_slots:
        raise BadUsage(
            "`model_slots` are those of one process, and the engine `dask` has several: use the "
            "setting `llm.shared_limits`, or the engine `local`"
        )


def _name(groups: Sequence[GroupId]) -> str:
    return groups[0] if len(groups) == 1 else f"{groups[0]} and {plural(len(groups) - 1, 'other')}"


async def crash_tasks(tasks: Sequence[UUID], message: str) -> None:
    """Set tasks to Crashed that have begun and not ended: else they would count as running."""
    state: State[Any] = Crashed(message=message)
    async with get_client() as client:
        for task in tasks:
            # No process has begun it.
            with suppress(ObjectNotFound):
                found = (await client.read_task_run(task)).state
                if found is None or not found.is_final():
                    await client.set_task_run_state(task, state, force=True)
