"""What every store of shared limits does; run by each implementation."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from turnetl.base import clock
from turnetl.graph.open import server_limits
from turnetl.llm.shared_limits.store import LimitsStore, MemoryLimits, SqliteLimits

MakeStore = Callable[[], LimitsStore]


def seconds() -> float:
    return clock.now().timestamp()


@pytest.fixture(params=["memory", "sqlite", pytest.param("neo4j", marks=pytest.mark.neo4j)])
async def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[MakeStore]:
    """Returns what one process opens; all calls have the same states."""
    opened: list[LimitsStore] = []
    memory = MemoryLimits(seconds)
    url = request.getfixturevalue("neo4j_url") if request.param == "neo4j" else ""

    def open_store() -> LimitsStore | None:
        if request.param == "sqlite":
            return SqliteLimits(tmp_path / "lake" / "limits.sqlite", clock=seconds)
        return memory if request.param == "memory" else server_limits(url, user="", password="")

    def make() -> LimitsStore:
        store = open_store()
        assert store is not None
        opened.append(store)
        return store

    yield make
    for store in opened:
        await store.close()


async def read(store: LimitsStore, name: str) -> bytes | None:
    """Return the state of a name, and leave it as it is."""
    found: list[bytes | None] = []

    def change(content: bytes | None, _: float) -> bytes:
        found.append(content)
        raise LookupError

    with pytest.raises(LookupError):
        await store.update(name, change)
    return found[-1]


async def add(store: LimitsStore, name: str, number: int = 1) -> None:
    await store.update(name, lambda content, _: str(int(content or 0) + number).encode())


async def test_a_name_without_a_state_has_none(make_store: MakeStore) -> None:
    assert await read(make_store(), "new") is None


async def test_a_state_is_kept_by_name(make_store: MakeStore) -> None:
    store = make_store()
    await add(store, "one", 1)
    await add(store, "two", 2)
    await add(store, "one", 10)
    assert [await read(store, "one"), await read(store, "two")] == [b"11", b"2"]


async def test_a_change_that_raises_leaves_the_state_as_it_was(make_store: MakeStore) -> None:
    store = make_store()
    await add(store, "name", 1)
    assert await read(store, "name") == b"1"
    await add(store, "name", 1)
    assert await read(store, "name") == b"2"


async def test_another_process_sees_the_state(make_store: MakeStore) -> None:
    await add(make_store(), "name", 7)
    assert await read(make_store(), "name") == b"7"


async def test_no_change_of_several_processes_is_lost(make_store: MakeStore) -> None:
    stores = [make_store() for _ in range(4)]

    async def add_often(store: LimitsStore) -> None:
        for _ in range(10):
            await add(store, "name")

    await asyncio.gather(*(add_often(store) for store in stores))
    assert await read(stores[0], "name") == b"40"


async def test_a_change_gets_the_time_of_the_store(make_store: MakeStore) -> None:
    times: list[float] = []

    def change(_: bytes | None, now: float) -> bytes:
        times.append(now)
        return b""

    store, day = make_store(), 24 * 60 * 60
    await store.update("name", change)
    await store.update("name", change)
    assert times == sorted(times)
    assert abs(times[0] - time.time()) < day


async def test_a_closed_store_opens_again_and_has_the_state(make_store: MakeStore) -> None:
    store = make_store()
    await add(store, "name", 3)
    await store.close()
    await store.close()
    assert await read(store, "name") == b"3"


async def test_its_place_is_named_for_messages(make_store: MakeStore) -> None:
    assert make_store().place
