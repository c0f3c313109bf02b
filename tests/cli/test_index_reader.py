"""A process that answers many requests keeps the index open, and reads what others write to it."""

import asyncio
import shutil
import threading
from collections.abc import Callable, Coroutine
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.cli.archives import conversation, write_archive
from tests.cli.command import index_folder, run_in_process, turnetl_process
from tests.cli.provider_setup import SESSION_START
from turnetl.base.clock import Clock, now
from turnetl.base.errors import GraphUnusable, IndexUnusable, TableUnusable
from turnetl.index.catalog import Catalog
from turnetl.index.files import CATALOG, IndexEmbedder, write_lock
from turnetl.pipeline.index import OpenIndex
from turnetl.pipeline.index_reader import BackgroundUpdate, IndexReader, open_index_reader
from turnetl.settings import Settings

T = TypeVar("T")

BEING_READ = "the search index is being brought up to date"


def settings_of(folder: Path) -> Settings:
    return Settings(lake=folder / ".turnetl" / "lake")


def with_reader(
    folder: Path, work: Callable[[IndexReader], Coroutine[Any, Any, T]], clock: Clock = now
) -> T:
    """Return the result of work with a reader of the only graph in a folder."""

    async def opened() -> T:
        async with open_index_reader(settings_of(folder), clock) as reader:
            return await work(reader)

    return asyncio.run(opened())


async def turns(opened: OpenIndex) -> int:
    return opened.index.status().turns


async def index_itself(opened: OpenIndex) -> object:
    return opened.index


async def until_read(reader: IndexReader, expected: int) -> None:
    """Read until nothing is said to be missing; fails if the number of turns is another one."""
    while (answer := await reader.read(turns)).unread is not None:
        assert BEING_READ in answer.unread
        await asyncio.sleep(0.01)
    assert answer.value == expected


async def in_another_process(folder: Path, *arguments: str) -> None:
    result = await asyncio.to_thread(turnetl_process, *arguments, folder=folder)
    assert result.exit_code == 0, result.stderr


def write_turn(folder: Path) -> Path:
    """Write an archive of one turn; return its path."""
    rows = conversation("Refund an order", session="s2", at=SESSION_START)
    return write_archive(folder / "b.jsonl", rows)


@pytest.fixture(scope="module")
def shop_with_unread_turn(filled_shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with one more turn, which only the graph has; it is only copied."""
    folder = tmp_path_factory.mktemp("unread")
    shutil.copytree(filled_shop, folder, dirs_exist_ok=True)
    index = index_folder(folder)
    before = shutil.copytree(index, folder / "old")
    result = run_in_process("backfill", write_turn(folder), folder=folder)
    assert result.exit_code == 0, result.stderr
    shutil.rmtree(index)
    before.rename(index)
    return folder


@pytest.fixture
def unread(shop_with_unread_turn: Path, tmp_path: Path) -> Path:
    """Return a folder with a graph of three turns, of which its index has two."""
    return shutil.copytree(shop_with_unread_turn, tmp_path, dirs_exist_ok=True)


def failing_clock(failure: BaseException) -> Clock:
    """Return the clock of an update that fails."""

    def clock() -> datetime:
        raise failure

    return clock


async def read_without_waiting(reader: IndexReader) -> str:
    """Return what a request says to be missing, or its error; fails if the request waits."""
    request = asyncio.create_task(reader.read(turns))
    await asyncio.sleep(0)
    assert request.done()
    error = request.exception()
    return str(request.result().unread if error is None else error)


async def until_said(reader: IndexReader, text: str) -> None:
    """Read until a request says this; fails if one waits."""
    while True:
        if text in await read_without_waiting(reader):
            return
        await asyncio.sleep(0.01)


def test_requests_read_the_same_open_index_and_nothing_is_said_to_be_missing(shop: Path) -> None:
    async def work(reader: IndexReader) -> None:
        first, second = await reader.read(index_itself), await reader.read(index_itself)
        assert first.value is second.value
        assert first.unread is None
        assert first.caught_up_at is not None

    with_reader(shop, work)


@pytest.mark.full
def test_what_only_the_graph_has_is_read_beside_the_requests_which_say_so(unread: Path) -> None:
    async def work(reader: IndexReader) -> None:
        answer = await reader.read(turns)
        assert answer.value == 2
        assert BEING_READ in str(answer.unread)
        await until_read(reader, 3)

    with_reader(unread, work)


def test_a_request_waits_for_no_writer_of_the_index(shop: Path) -> None:
    async def work(reader: IndexReader) -> int:
        with write_lock(index_folder(shop)):
            return (await reader.read(turns)).value

    assert with_reader(shop, work) == 2


@pytest.mark.full
def test_what_other_processes_write_or_rebuild_is_read_and_a_request_in_the_air_is_answered(
    shop: Path,
) -> None:
    async def work(reader: IndexReader) -> None:
        has_begun, goes_on = asyncio.Event(), asyncio.Event()

        async def slow(opened: OpenIndex) -> int:
            has_begun.set()
            await goes_on.wait()
            return await turns(opened)

        assert (await reader.read(turns)).value == 2
        await in_another_process(shop, "backfill", write_turn(shop).name)
        added = await reader.read(turns)
        assert (added.value, added.unread) == (3, None)
        in_the_air = asyncio.create_task(reader.read(slow))
        await has_begun.wait()
        before = await reader.read(index_itself)
        await in_another_process(shop, "index", "--rebuild")
        after = await reader.read(index_itself)
        assert after.value is not before.value
        assert (await reader.read(turns)).value == 3
        goes_on.set()
        assert (await in_the_air).value == 3

    with_reader(shop, work)


def test_a_missing_graph_is_an_error_until_there_is_one(shop: Path, tmp_path: Path) -> None:
    graph = shop / ".turnetl" / "lake" / "graph.lbug"
    hidden = graph.rename(tmp_path / "hidden")

    async def work(reader: IndexReader) -> int:
        with pytest.raises(GraphUnusable, match="run `turnetl backfill`"):
            await reader.read(turns)
        hidden.rename(graph)
        return (await reader.read(turns)).value

    assert with_reader(shop, work) == 2


def test_a_missing_index_is_made_from_the_graph(shop: Path) -> None:
    shutil.rmtree(shop / ".turnetl" / "lake" / "index")
    with_reader(shop, lambda reader: until_read(reader, 2))


@pytest.mark.full
def test_a_damaged_index_is_made_again(shop: Path) -> None:
    (index_folder(shop) / CATALOG).write_bytes(b"no catalog" * 1000)
    with_reader(shop, lambda reader: until_read(reader, 2))


def test_an_index_of_another_embedder_is_an_error_that_says_what_to_do(shop: Path) -> None:
    with closing(Catalog.open(index_folder(shop) / CATALOG)) as catalog, catalog.transaction():
        catalog.record("embedder", IndexEmbedder("another", 256).name)

    async def work(reader: IndexReader) -> None:
        with pytest.raises(IndexUnusable, match="turnetl index --rebuild"):
            await reader.read(turns)

    with_reader(shop, work)


def test_an_error_of_a_request_affects_no_other(shop: Path) -> None:
    async def failing(_: OpenIndex) -> int:
        raise ValueError("bad")

    async def work(reader: IndexReader) -> None:
        good = asyncio.create_task(reader.read(turns))
        with pytest.raises(ValueError, match="bad"):
            await reader.read(failing)
        assert (await good).value == 2

    with_reader(shop, work)


@pytest.mark.full
def test_a_reader_that_is_closed_during_an_update_ends_it(shop: Path) -> None:
    shutil.rmtree(shop / ".turnetl" / "lake" / "index")

    async def work(reader: IndexReader) -> None:
        request = asyncio.create_task(reader.read(turns))
        await asyncio.sleep(0)
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request

    with_reader(shop, work)
    with_reader(shop, lambda reader: until_read(reader, 2))


class Panic(BaseException):
    """As a library in Rust raises it."""


@pytest.mark.full
@pytest.mark.parametrize("failure", [Panic("a bug"), asyncio.CancelledError()])
def test_an_update_that_a_library_ends_has_failed_with_what_to_do(
    unread: Path, failure: BaseException
) -> None:
    async def error() -> Exception | None:
        update = BackgroundUpdate(settings_of(unread), failing_clock(failure))
        await update.wait(60)
        assert not update.is_running
        return update.error

    with pytest.raises(IndexUnusable, match=f"{type(failure).__name__}.*run `turnetl index`"):
        raise asyncio.run(error()) or AssertionError("the update succeeded")


@pytest.mark.full
def test_no_request_waits_for_the_update_after_a_failed_one(unread: Path) -> None:
    goes_on = threading.Event()
    fails = iter([True])

    def clock() -> datetime:
        if next(fails, False):
            raise GraphUnusable("the graph is damaged")
        goes_on.wait()
        return now()

    async def work(reader: IndexReader) -> None:
        try:
            await until_said(reader, "the graph is damaged")
            await until_said(reader, BEING_READ)
        finally:
            goes_on.set()
        await until_read(reader, 3)

    with_reader(unread, work, clock)


def test_each_request_raises_its_own_copy_of_the_error_of_an_update(unread: Path) -> None:
    """Each that raises an error adds to its traceback."""
    failure = TableUnusable(unread, "a table is damaged")

    async def error(reader: IndexReader) -> TableUnusable:
        while True:
            try:
                await reader.read(turns)
            except TableUnusable as error:
                return error
            await asyncio.sleep(0.01)

    async def work(reader: IndexReader) -> None:
        errors = [await error(reader), await error(reader)]
        assert len({failure, *errors}) == 3
        assert [(str(one), one.path, one.__cause__) for one in errors] == [
            (str(failure), unread, failure)
        ] * 2

    with_reader(unread, work, failing_clock(failure))
