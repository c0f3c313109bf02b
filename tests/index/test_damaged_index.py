"""An index with a damaged file says so; it is never read as if it were whole."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.index.indexed_shop import EMBEDDER, NOW, answers, before, open_index, written_index
from turnetl.base.errors import IndexBusy, IndexUnusable
from turnetl.index.catalog_state import VERSION
from turnetl.index.files import CATALOG, LEXICAL, DamagedIndex, IndexEmbedder, write_lock
from turnetl.index.integrity import check_index
from turnetl.index.lexical import LexicalIndex, TurnTerms
from turnetl.index.persistent import PersistentIndex, index_id, repair_index, replace_index
from turnetl.index.port import Field

FILES = (
    CATALOG,
    *(
        f"vectors/{name}"
        for name in ("keys", "weights", "vectors", "heads", "scales", "starts", "tokens")
    ),
    *(
        f"lexical/{kind}/{pattern}"
        for kind in ("turns", "passages")
        for pattern in ("meta.json", "*.term", "*.idx", "*.fast", "*.fieldnorm")
    ),
)


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _garble(path: Path) -> None:
    path.write_bytes(bytes(byte ^ 0x5A for byte in path.read_bytes()))


def _remove(path: Path) -> None:
    path.unlink()


async def _answers_of(folder: Path) -> None:
    with closing(open_index(folder)) as index:
        await answers(index)


def _first(folder: Path, pattern: str) -> Path:
    return min(folder.glob(pattern))


@pytest.fixture(scope="module")
async def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return await written_index(tmp_path_factory.mktemp("indexed") / "index")


@pytest.fixture
def folder(indexed: Path, tmp_path: Path) -> Path:
    """Return the folder of an index of its own."""
    shutil.copytree(indexed, tmp_path / "index")
    return tmp_path / "index"


async def test_a_damaged_file_is_an_error_that_says_so(
    subtests: pytest.Subtests, folder: Path
) -> None:
    for pattern, damage in [
        (pattern, damage)
        for pattern in FILES
        for damage in (_truncate, _empty, _garble, _remove)
        # Without a catalog there is no index: the next one is empty.
        if pattern != CATALOG or damage in (_truncate, _garble)
    ]:
        with subtests.test(pattern=pattern):
            damage(_first(folder, pattern))
            with pytest.raises(DamagedIndex, match=r"the search index `.*` is damaged"):
                await _answers_of(folder)


@pytest.mark.parametrize("suffix", ["term", "idx"])
def test_words_of_another_index_are_found_by_looking_turns_up(suffix: str, folder: Path) -> None:
    """Each file has a right checksum, but is not of its index: two backups were mixed."""
    of_turns, of_passages = (
        _first(folder, f"lexical/{kind}/*.{suffix}") for kind in ("turns", "passages")
    )
    spare = of_turns.rename(folder / "spare")
    of_passages.rename(of_turns)
    spare.rename(of_passages)
    with pytest.raises(DamagedIndex, match=r"the search index `.*` is damaged"):
        check_index(folder)


@pytest.mark.parametrize("damage", [_empty, _remove])
async def test_without_a_catalog_everything_is_read_again(
    damage: Callable[[Path], None], folder: Path
) -> None:
    whole = open_index(folder)
    expected = await answers(whole)
    whole.close()
    damage(folder / CATALOG)
    index = open_index(folder)
    assert (await answers(index))["selected"] == []
    await index.catch_up(before(), EMBEDDER, now=NOW)
    assert await answers(index) == expected
    index.close()


def test_a_newer_version_is_refused_with_the_command_that_rebuilds_it(folder: Path) -> None:
    with closing(sqlite3.connect(folder / CATALOG)) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    with pytest.raises(
        IndexUnusable,
        match=rf"version {VERSION + 1}, .* update turnetl, or run `turnetl index --rebuild`",
    ):
        open_index(folder)


VERSION_11 = """
ALTER TABLE entities ADD COLUMN folded TEXT NOT NULL DEFAULT '';
UPDATE entities SET folded = (SELECT folded FROM entity_names n WHERE n.entity = entities.key);
CREATE INDEX entities_by_name ON entities (folded);
DROP TABLE entity_names;
PRAGMA user_version = 11;
"""
"""Makes of a catalog what that version wrote."""


@pytest.mark.parametrize("changes", ["PRAGMA user_version = 12", VERSION_11], ids=["12", "11"])
async def test_an_index_of_a_version_before_is_carried_over_with_its_words(
    changes: str, folder: Path
) -> None:
    with closing(open_index(folder)) as index:
        expected = await answers(index)
    with closing(sqlite3.connect(folder / CATALOG)) as connection:
        connection.executescript(changes)
    # Words of a version before are spelled as texts spell them: these are in no text at all.
    LexicalIndex(folder / LEXICAL, create=False).rewrite(
        [TurnTerms(key, {Field.TEXT: "unheard"}, ["unheard"]) for key in (1, 2)]
    )
    with closing(open_index(folder)) as index:
        assert await answers(index) == expected
    check_index(folder)


@pytest.mark.parametrize(("embedder", "dimensions"), [("other/1", 256), (EMBEDDER.name, 64)])
def test_another_embedder_is_refused(embedder: str, dimensions: int, folder: Path) -> None:
    with pytest.raises(IndexUnusable, match="made with the embedder"):
        PersistentIndex(folder, embedder, dimensions)


async def test_a_second_writer_is_told_that_another_one_writes(folder: Path) -> None:
    index = open_index(folder)
    with write_lock(folder):
        with pytest.raises(IndexBusy):
            await index.catch_up(before(), EMBEDDER, now=NOW)
        with pytest.raises(IndexBusy):
            replace_index(folder, IndexEmbedder(EMBEDDER.name, EMBEDDER.dimensions))
    assert (await answers(index))["selected"] == ["cart", "tax"]
    index.close()


async def test_a_writer_notices_that_another_process_rebuilt_the_index(folder: Path) -> None:
    index = open_index(folder)
    expected = await answers(index)
    replace_index(folder, IndexEmbedder(EMBEDDER.name, EMBEDDER.dimensions))
    await index.catch_up(before(), EMBEDDER, now=NOW)
    assert await answers(index) == expected
    index.close()
    reopened = open_index(folder)
    assert await answers(reopened) == expected
    reopened.close()


async def test_a_damaged_index_that_another_process_replaced_is_not_replaced_again(
    folder: Path,
) -> None:
    embedder = IndexEmbedder(EMBEDDER.name, EMBEDDER.dimensions)
    damaged = index_id(folder)
    _garble(folder / "vectors/keys")
    assert repair_index(folder, embedder, damaged)
    with closing(open_index(folder)) as index:
        await index.catch_up(before(), EMBEDDER, now=NOW)
    assert not repair_index(folder, embedder, damaged)
    with closing(open_index(folder)) as index:
        assert (await answers(index))["selected"] == ["cart", "tax"]
    assert repair_index(folder, embedder, index_id(folder))


def test_an_index_whose_id_cannot_be_read_is_replaced(folder: Path) -> None:
    damaged = index_id(folder)
    _garble(folder / CATALOG)
    assert index_id(folder) is None
    assert repair_index(folder, IndexEmbedder(EMBEDDER.name, EMBEDDER.dimensions), damaged)
    assert index_id(folder) not in (None, damaged)
