"""A graph or a group that was deleted and filled again is read from its beginning."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from tests.builders import GROUP, START
from tests.fakes.followed_graphs import LoadedGraph
from tests.graph.sample_changes import NOW, PROFILE, TTL, change, history, receipt
from tests.graph.statements import DELETE_ALL, run_statement
from tests.index.checkout_graph import TEXTS, contents, with_term
from tests.index.indexed_shop import EMBEDDER, Killed, open_index, turn
from turnetl.base.model import Change, SessionId, TurnId
from turnetl.graph.ladybug.file import LadybugFile
from turnetl.graph.open import open_graph
from turnetl.graph.port import GraphStore
from turnetl.index.conditions import Selection
from turnetl.index.follow import estimate_embedding
from turnetl.index.index_report import CatchUpReport
from turnetl.index.persistent import PersistentIndex
from turnetl.index.snapshot import open_snapshot, turns_behind


@pytest.fixture
def index(tmp_path: Path) -> Iterator[PersistentIndex]:
    with closing(open_index(tmp_path / "index")) as opened:
        yield opened


def held(index: PersistentIndex) -> set[TurnId]:
    keys = index.select(Selection()).tolist()
    return {one.receipt.turn_id for one in index.turns(keys).values()}


async def filled(url: str, changes: Sequence[Change]) -> GraphStore:
    """Return the open graph with these turns committed."""
    store = await open_graph(url, user="", password="")
    await store.prepare()
    lease = await store.acquire(
        GROUP, PROFILE, owner="host:1", now=NOW, ttl=TTL, is_dead=lambda _: True
    )
    for one in changes:
        await store.commit(lease, one, receipt(one), now=NOW, ttl=TTL)
    return store


def others(count: int) -> list[Change]:
    return [
        change(
            f"q{number}",
            ordinal=number,
            session_id=SessionId("s9"),
            started_at=START + timedelta(minutes=number),
        )
        for number in range(count)
    ]


@pytest.mark.full
@pytest.mark.parametrize("count", [2, 3, 5], ids=["fewer", "as many", "more"])
async def test_an_index_of_a_graph_that_was_filled_again_holds_only_what_the_graph_holds(
    graph_url: str, index: PersistentIndex, count: int
) -> None:
    store = await filled(graph_url, history())
    assert await index.catch_up(store, EMBEDDER, now=NOW) == CatchUpReport(added=3)
    await store.close()
    await run_statement(graph_url, DELETE_ALL)
    store = await filled(graph_url, others(count))
    assert turns_behind(index.status(), await store.versions()) == count
    assert (await estimate_embedding(store, index.groups())).turns == count
    assert await index.catch_up(store, EMBEDDER, now=NOW) == CatchUpReport(count, removed=3)
    assert held(index) == await store.turn_ids(GROUP)
    assert {fact for facts in index.facts(range(20)).values() for fact in facts} == set()
    assert await index.catch_up(store, EMBEDDER, now=NOW) == CatchUpReport()
    assert turns_behind(index.status(), await store.versions()) == 0
    await store.close()


@pytest.mark.full
async def test_another_process_can_write_an_embedded_graph_while_a_batch_is_written(
    tmp_path: Path,
) -> None:
    path = tmp_path / "graph.lbug"
    await (await filled(f"ladybug://{path}", history())).close()
    steps = []

    def write_graph(step: str) -> None:
        LadybugFile.open(path, write=True, timeout=0).close()
        steps.append(step)

    reader = await open_graph(f"ladybug://{path}", user="", password="", write=False)
    with closing(open_index(tmp_path / "index", before_step=write_graph)) as index:
        assert await index.catch_up(reader, EMBEDDER, now=NOW) == CatchUpReport(added=3)
    await reader.close()
    assert steps[-1] == "catalog"


async def test_a_group_without_turns_that_was_created_again_is_read_once(
    index: PersistentIndex,
) -> None:
    for name, added in (("first", 0), ("second", 3), ("second", 0)):
        names = [*TEXTS] if name == "second" else []
        graph = LoadedGraph(contents(*names), creation_id=name)
        assert await index.catch_up(graph, EMBEDDER, now=NOW) == CatchUpReport(added)


async def test_a_graph_that_was_replaced_by_an_older_copy_is_read_again(
    index: PersistentIndex,
) -> None:
    older = LoadedGraph(contents("cart"), creation_id="same")
    await index.catch_up(LoadedGraph(contents(*TEXTS), creation_id="same"), EMBEDDER, now=NOW)
    await index.catch_up(older, EMBEDDER, now=NOW)
    assert held(index) == {turn("cart")}
    continued = LoadedGraph(contents("cart", "docs"), creation_id="same")
    assert await index.catch_up(continued, EMBEDDER, now=NOW) == CatchUpReport(added=1)
    assert held(index) == {turn("cart"), turn("docs")}


async def test_questions_stay_with_turns_that_were_committed_again_with_their_text(
    index: PersistentIndex, tmp_path: Path
) -> None:
    await index.catch_up(LoadedGraph(contents(*TEXTS), creation_id="first"), EMBEDDER, now=NOW)
    keys = index.select(Selection()).tolist()
    questions = {key: [f"Is it about walruses{key}?"] for key in keys}
    await index.add_questions(questions, EMBEDDER)
    await index.catch_up(LoadedGraph(contents("tax"), creation_id="second"), EMBEDDER, now=NOW)
    with open_snapshot(tmp_path / "index") as snapshot:
        assert snapshot is not None
        assert [stored.turn_id for stored in snapshot.questions()] == [turn("tax")]
    assert not len(index.turns_without_questions())
    assert index.status().passages > 0
    assert with_term(index, "norway") == {turn("tax")}


@pytest.mark.full
async def test_a_catch_up_that_is_killed_while_it_reads_again_is_completed_by_the_next(
    tmp_path: Path,
) -> None:
    first = LoadedGraph(contents("cart", "tax"), creation_id="first")
    second = LoadedGraph(contents("docs", "tax"), creation_id="second")
    steps = 0
    is_complete = False
    while not is_complete:
        folder = tmp_path / str(steps)
        with closing(open_index(folder)) as index:
            await index.catch_up(first, EMBEDDER, now=NOW)
        is_complete = await _killed_before(steps, folder, second)
        with closing(open_index(folder)) as index:
            await index.catch_up(second, EMBEDDER, now=NOW)
            assert held(index) == {turn("docs"), turn("tax")}
            assert with_term(index, "checkout") == set()
            assert with_term(index, "norway") == {turn("tax")}
        steps += 1
    assert steps > 10


async def _killed_before(step: int, folder: Path, graph: LoadedGraph) -> bool:
    """Stop a catch-up before a step; return whether it ended without one."""
    left = iter(range(step))

    def count(_name: str) -> None:
        if next(left, None) is None:
            raise Killed

    with closing(open_index(folder, before_step=count)) as index:
        try:
            await index.catch_up(graph, EMBEDDER, now=NOW)
        except Killed:
            return False
    return True
