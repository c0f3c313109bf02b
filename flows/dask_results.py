"""The results of packs on a Dask cluster, also if its workers or its scheduler are lost."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from distributed import Client
from distributed.client import FutureCancelledError
from distributed.scheduler import KilledWorker
from prefect import get_run_logger
from prefect_dask.task_runners import PrefectDaskFuture

from turnetl.base.errors import Fatal, Retryable, TurnetlError

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
    """Return the error of a run that lost its scheduler."""
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
