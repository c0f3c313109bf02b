"""Open the search index, and replace a damaged one: the graph has everything that it held."""

from collections.abc import Awaitable, Callable
from contextlib import closing
from typing import TypeVar

from turnetl import wiring
from turnetl.index.files import DamagedIndex
from turnetl.index.persistent import PersistentIndex
from turnetl.llm.embedders.port import Embedder
from turnetl.pipeline.waiting import WAIT, after_other_writers
from turnetl.settings import Settings

T = TypeVar("T")


async def repaired(
    settings: Settings, work: Callable[[], Awaitable[T]], *, seconds: float = WAIT
) -> T:
    """Return the result of work with the index; if it is damaged, replace it and work again.

    What another process replaced meanwhile is used as it is.

    Args:
        settings: the graph, its index and its embedder.
        work: may be done again after it raised `DamagedIndex`.
        seconds: to wait for a process that writes the damaged index; it may replace it.

    Raises:
        DamagedIndex: the index that this call made is damaged too.
        IndexBusy: another process still writes the damaged index.
    """
    is_replaced = False
    while True:
        damaged_id = wiring.index_id(settings)
        try:
            return await work()
        except DamagedIndex as error:
            if is_replaced:
                raise
            damage = error

        async def replace() -> bool:
            async with wiring.embedder(settings) as embedder:
                return wiring.repair_index(settings, embedder, damage, damaged_id)  # noqa: B023 - called here

        is_replaced = await after_other_writers(replace, seconds=seconds)


async def open_repaired(
    settings: Settings, embedder: Embedder, *, seconds: float = WAIT
) -> closing[PersistentIndex]:
    """Open the index, or create an empty one; replace one that cannot be opened; see `repaired`."""

    async def work() -> PersistentIndex:
        return wiring.search_index(settings, embedder)

    return closing(await repaired(settings, work, seconds=seconds))
