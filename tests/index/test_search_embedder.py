"""An index whose passages a second embedder embeds, a batch at a time."""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from tests.builders import GROUP
from tests.fakes.followed_graphs import LoadedGraph
from tests.index.indexed_shop import EMBEDDER, NOW, after, before, open_index, receipt, turn
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base.errors import BadUsage, IndexBusy, IndexUnusable
from turnetl.base.graph_model import GroupContents
from turnetl.base.model import Vector
from turnetl.index.files import DamagedIndex, IndexEmbedder
from turnetl.index.integrity import check_index
from turnetl.index.persistent import PersistentIndex, replace_index
from turnetl.index.search_vectors import SearchEmbedding
from turnetl.llm.embedders import Embedder
from turnetl.llm.vectors import Matrix, unpack

TOY = SearchEmbedding("toy", ToyEmbedder.name, ToyEmbedder.dimensions)


class HesitantEmbedder(ToyEmbedder):
    """Is stopped before a number of its calls."""

    def __init__(self, calls: int) -> None:
        super().__init__()
        self._calls = calls

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        if not self._calls:
            raise KeyboardInterrupt
        self._calls -= 1
        return await super().embed(texts)


def opened(folder: Path, embedder: Embedder | None = None) -> PersistentIndex:
    return open_index(folder, open_embedder=lambda _: embedder or ToyEmbedder())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "index"


@pytest.fixture
async def index(folder: Path) -> AsyncIterator[PersistentIndex]:
    """Yield the index of two turns, for which `TOY` is chosen."""
    with closing(opened(folder)) as index:
        await index.catch_up(before(), EMBEDDER, now=NOW)
        index.choose_embedder(TOY)
        yield index


async def vector(text: str, embedder: Embedder) -> Matrix:
    (found,) = await embedder.embed([text])
    return unpack(found)


async def similar(index: PersistentIndex, text: str) -> dict[str, float]:
    """Return the similarity of each turn by its id."""
    own, toy = await vector(text, EMBEDDER), await vector(text, ToyEmbedder())
    found = index.similarities(own, None, limit=10, search_vector=toy)
    turns = index.turns(found)
    return {turns[key].turn_id: cosine for key, cosine in found.items()}


async def embed_all(index: PersistentIndex) -> None:
    while await index.embed_next() is not None:
        pass


def append_garbage(folder: Path) -> None:
    for path in folder.glob("search-vectors/*/*"):
        with path.open("ab") as file:
            file.write(b"unfinished")


def flip_first_bit(folder: Path) -> None:
    (path,) = folder.glob("search-vectors/*/vectors")
    first, *others = path.read_bytes()
    path.write_bytes(bytes([first ^ 1, *others]))


async def test_embedded_turns_are_as_similar_as_in_an_index_of_that_embedder(
    index: PersistentIndex, tmp_path: Path
) -> None:
    await embed_all(index)
    of_toy = PersistentIndex(tmp_path / "toy", TOY.embedder, TOY.dimensions)
    with closing(of_toy):
        await of_toy.catch_up(before(), ToyEmbedder(), now=NOW)
        toy = await vector("add tax", ToyEmbedder())
        expected = of_toy.similarities(toy, None, limit=10)
        names = of_toy.turns(expected)
    assert await similar(index, "add tax") == {
        names[key].turn_id: cosine for key, cosine in expected.items()
    }
    assert (index.status().search_embedder, index.status().turns_to_embed) == ("toy/1", 0)


async def test_turns_that_wait_are_compared_by_the_embedder_of_the_index(
    index: PersistentIndex,
) -> None:
    own = await similar(index, "refund an order")
    await embed_all(index)
    await index.catch_up(after(), EMBEDDER, now=NOW)
    assert index.to_embed() == (3, 6)
    found = await similar(index, "refund an order")
    assert turn("refund") in found
    assert turn("cart") not in found
    await embed_all(index)
    assert index.to_embed() == (0, 0)
    assert turn("refund") in await similar(index, "refund an order")
    assert turn("refund") not in own


async def test_a_stopped_run_continues_after_the_last_batch(
    folder: Path, index: PersistentIndex
) -> None:
    slow = HesitantEmbedder(calls=1)
    with closing(opened(folder, slow)) as stopped:
        await stopped.embed_next(probe=1)
        with pytest.raises(KeyboardInterrupt):
            await stopped.embed_next()
    assert index.to_embed() == (2, 4)
    await embed_all(index)
    assert await index.embed_next() is None
    assert check_index(folder)


async def test_of_two_processes_that_embed_the_same_turns_one_writes_them(
    folder: Path, index: PersistentIndex
) -> None:
    class Overtaken(ToyEmbedder):
        async def embed(self, texts: Sequence[str]) -> list[Vector]:
            await embed_all(index)
            return await super().embed(texts)

    with closing(opened(folder, Overtaken())) as other, pytest.raises(IndexBusy):
        await other.embed_next()
    assert index.to_embed() == (0, 0)
    assert check_index(folder)


async def test_a_rebuild_keeps_the_choice_and_a_reader_sees_what_is_embedded(
    folder: Path, index: PersistentIndex
) -> None:
    await embed_all(index)
    replace_index(folder, IndexEmbedder(EMBEDDER.name, EMBEDDER.dimensions))
    with closing(opened(folder)) as rebuilt:
        await rebuilt.catch_up(before(), EMBEDDER, now=NOW)
        assert rebuilt.search_embedder is None
        assert rebuilt.to_embed() == (2, 4)
        with closing(opened(folder)) as reader:
            await embed_all(rebuilt)
            assert reader.search_embedder is not None
            assert await similar(reader, "add tax") == await similar(rebuilt, "add tax")


async def test_another_choice_forgets_what_was_embedded_and_none_uses_that_of_the_index(
    folder: Path, index: PersistentIndex
) -> None:
    by_own = await similar(index, "add tax")
    await embed_all(index)
    index.choose_embedder(TOY)
    assert index.to_embed() == (0, 0)
    index.choose_embedder(SearchEmbedding("other", "other/1", 8))
    assert index.to_embed() == (2, 4)
    assert not [*(folder / "search-vectors").iterdir()]
    index.choose_embedder(None)
    assert (index.search_embedder, index.status().search_embedder) == (None, None)
    assert await similar(index, "add tax") == by_own


@pytest.mark.parametrize("reason", ["is not installed", "is another model now"])
async def test_an_embedder_that_cannot_be_opened_is_reported_once_and_not_used(
    folder: Path, index: PersistentIndex, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    await embed_all(index)

    def open_embedder(choice: str) -> Embedder:
        if "another" in reason:
            return EMBEDDER
        raise BadUsage(f"`{choice}` is not installed")

    with closing(open_index(folder, open_embedder=open_embedder)) as other:
        assert (other.search_embedder, other.search_embedder) == (None, None)
        assert await other.embed_next() is None
        own = await vector("add tax", EMBEDDER)
        assert other.similarities(own, None, limit=10)
    (message,) = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    assert reason in message


async def test_vectors_of_other_dimensions_are_refused(index: PersistentIndex) -> None:
    index.choose_embedder(SearchEmbedding("toy", ToyEmbedder.name, 8))
    with pytest.raises(IndexUnusable, match="of 8 dimensions"):
        await index.embed_next()


async def test_a_better_embedder_is_named_once_on_each_occasion_if_there_are_many_turns(
    folder: Path,
) -> None:
    receipts = tuple(receipt(f"turn {number}", number) for number in range(200))
    texts = {one.turn_id: f"user: turn {one.ordinal}" for one in receipts}
    contents = GroupContents(GROUP, None, (), (), receipts, texts)
    with closing(opened(folder)) as index:
        await index.catch_up(before(), EMBEDDER, now=NOW)
        assert not index.names_embedder("weak_search")
        await index.catch_up(LoadedGraph(contents), EMBEDDER, now=NOW)
        assert [index.names_embedder("backfill") for _ in range(2)] == [True, False]
        assert [index.names_embedder("weak_search") for _ in range(2)] == [True, False]
        replace_index(folder, IndexEmbedder(EMBEDDER.name, EMBEDDER.dimensions))
    with closing(opened(folder)) as rebuilt:
        await rebuilt.catch_up(LoadedGraph(contents), EMBEDDER, now=NOW)
        rebuilt.choose_embedder(TOY)
        assert not rebuilt.names_embedder("backfill")


async def test_what_a_killed_writer_left_is_overwritten(
    folder: Path, index: PersistentIndex
) -> None:
    await embed_all(index)
    expected = await similar(index, "add tax")
    append_garbage(folder)
    await index.catch_up(after(), EMBEDDER, now=NOW)
    await embed_all(index)
    assert check_index(folder)
    assert turn("refund") in await similar(index, "refund an order")
    await index.catch_up(before(), EMBEDDER, now=NOW)
    await embed_all(index)
    assert await similar(index, "add tax") == expected


async def test_a_damaged_file_is_found(folder: Path, index: PersistentIndex) -> None:
    await embed_all(index)
    flip_first_bit(folder)
    with pytest.raises(DamagedIndex):
        opened(folder)
