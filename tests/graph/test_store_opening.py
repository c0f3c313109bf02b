"""A graph that cannot be opened is rejected with one sentence that says what to do."""

import asyncio
import sys
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path

import ladybug
import pytest

from tests.builders import GROUP
from tests.graph.sample_changes import NOW, PROFILE, TTL, history, receipt
from tests.graph.statements import run_statement
from tests.servers.free_port import free_port
from tests.servers.neo4j_server import Neo4jServer
from turnetl.base.errors import BadUsage, GraphBusy, GraphUnusable
from turnetl.graph import to_rows
from turnetl.graph.ladybug.file import LadybugFile
from turnetl.graph.open import login, open_graph

OLDER = (
    r"was written by another version of turnetl \(an older graph schema; this version uses 9\); "
    "name a new graph with --graph"
)

KEEPS_THE_FILE_OPEN = """
import asyncio, sys
from turnetl.graph.open import login, open_graph
async def main():
    store = await open_graph(sys.argv[1], user="", password="")
    await store.prepare()
    print("open", flush=True)
    sys.stdin.read()
asyncio.run(main())
"""

HAS_NO_DISK_SPACE = """
import resource, sys
from pathlib import Path
from turnetl.graph.ladybug.cypher import SCHEMA
from turnetl.graph.ladybug.file import LadybugFile
file = LadybugFile.open(Path(sys.argv[1]), write=True)
for statement in SCHEMA:
    file.connection.execute(statement)
resource.setrlimit(resource.RLIMIT_FSIZE, (16_384, 16_384))
file.close()
"""
"""The writer cannot merge its log into the file."""


@pytest.mark.neo4j
async def test_a_wrong_password_is_rejected_and_the_message_names_the_setting(
    neo4j: Neo4jServer,
) -> None:
    with pytest.raises(GraphUnusable, match="TURNETL_GRAPH_PASSWORD") as raised:
        await open_graph(neo4j.address, user=neo4j.user, password="wrong")
    assert "wrong" not in str(raised.value)


@pytest.mark.neo4j
@pytest.mark.parametrize("password", ["50%25", "a%2Fb", "%"])
def test_a_password_from_the_settings_is_taken_as_it_is(password: str) -> None:
    given = login("bolt://127.0.0.1:7687", user="a%20b", password=password)
    assert given == ("a%20b", password)
    in_url = login("bolt://a%20b:c%2Fd@127.0.0.1:7687", user="other", password=password)
    assert in_url == ("a b", "c/d")


async def test_a_user_and_password_in_the_url_take_precedence(neo4j: Neo4jServer) -> None:
    store = await open_graph(neo4j.url, user="someone", password="wrong")
    assert await store.groups() == []
    await store.close()


async def test_a_server_that_is_down_is_busy() -> None:
    with pytest.raises(GraphBusy, match="does not respond; check that it is running"):
        await open_graph(f"bolt://127.0.0.1:{free_port()}", user="neo4j", password="x")


@pytest.mark.parametrize(
    "url",
    ["http://x:7687", "graph.lbug", "bolt://", "ladybug://", "s3://b/g", "ladybug://s3://b/g"],
)
async def test_a_url_of_an_unknown_kind_is_wrong_usage(url: str) -> None:
    with pytest.raises(BadUsage, match="ladybug:///path"):
        await open_graph(url, user="", password="")


@pytest.mark.full
async def test_a_second_process_is_rejected_with_the_process_that_has_the_file_open(
    tmp_path: Path,
) -> None:
    url = f"ladybug://{tmp_path / 'graph.lbug'}"
    pipe = asyncio.subprocess.PIPE
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-c", KEEPS_THE_FILE_OPEN, url, stdin=pipe, stdout=pipe
    )
    assert other.stdout is not None
    assert await other.stdout.readline() == b"open\n"
    for write in (True, False):
        with pytest.raises(GraphBusy, match=rf"process {other.pid}\) has graph"):
            await open_graph(url, user="", password="", write=write)
    await other.communicate(b"")
    store = await open_graph(url, user="", password="")
    await store.close()


@pytest.mark.full
@pytest.mark.skipif(sys.platform == "win32", reason="files have no limit there")
async def test_a_file_whose_writer_ran_out_of_disk_space_is_recovered_when_there_is_space(
    tmp_path: Path,
) -> None:
    path = tmp_path / "graph.lbug"
    other = await asyncio.create_subprocess_exec(sys.executable, "-c", HAS_NO_DISK_SPACE, path)
    assert await other.wait() == 0
    with pytest.raises(RuntimeError, match="recovery is pending"):
        ladybug.Database(str(path), read_only=True)
    store = await open_graph(f"ladybug://{path}", user="", password="", write=False)
    assert await store.groups() == []
    await store.close()
    ladybug.Database(str(path), read_only=True).close()


@pytest.mark.full
async def test_the_same_process_cannot_open_a_file_twice_either(tmp_path: Path) -> None:
    url = f"ladybug://{tmp_path / 'graph.lbug'}"
    store = await open_graph(url, user="", password="")
    with pytest.raises(GraphBusy, match="another turnetl process"):
        await open_graph(url, user="", password="")
    await store.close()


def test_a_reader_waits_for_a_process_that_is_about_to_finish(tmp_path: Path) -> None:
    path = tmp_path / "graph.lbug"
    writer = LadybugFile.open(path, write=True)
    LadybugFile.open(path, write=False, sleep=lambda _seconds: writer.close()).close()


def test_a_reader_that_must_not_wait_is_rejected_immediately(tmp_path: Path) -> None:
    path = tmp_path / "graph.lbug"
    waits: list[float] = []
    with closing(LadybugFile.open(path, write=True)), pytest.raises(GraphBusy, match="has graph"):
        LadybugFile.open(path, write=False, timeout=0, sleep=waits.append)
    assert waits == []


@pytest.mark.full
async def test_while_a_reader_pauses_another_process_can_write(graph_url: str) -> None:
    first, second, _ = history()
    writer = await open_graph(graph_url, user="", password="")
    await writer.prepare()
    lease = await writer.acquire(
        GROUP, PROFILE, owner="o", now=NOW, ttl=TTL, is_dead=lambda _: False
    )
    await writer.commit(lease, first, receipt(first), now=NOW, ttl=TTL)
    await writer.close()
    reader = await open_graph(graph_url, user="", password="", write=False)
    assert len(await reader.receipts(GROUP)) == 1
    await reader.pause()
    writer = await open_graph(graph_url, user="", password="")
    await writer.commit(lease, second, receipt(second), now=NOW, ttl=TTL)
    await writer.close()
    assert len(await reader.receipts(GROUP)) == 2
    await reader.pause()
    await reader.close()


async def test_a_reader_whose_pause_another_process_used_is_rejected_until_that_ends(
    tmp_path: Path,
) -> None:
    url = f"ladybug://{tmp_path / 'graph.lbug'}"
    created = await open_graph(url, user="", password="")
    await created.prepare()
    await created.close()
    reader = await open_graph(url, user="", password="", write=False, wait=False)
    await reader.pause()
    writer = await open_graph(url, user="", password="")
    with pytest.raises(GraphBusy, match="has graph"):
        await reader.groups()
    await writer.close()
    assert await reader.groups() == []
    await reader.close()


async def test_several_readers_share_a_file(tmp_path: Path) -> None:
    url = f"ladybug://{tmp_path / 'graph.lbug'}"
    writer = await open_graph(url, user="", password="")
    await writer.prepare()
    lease = await writer.acquire(
        GROUP, PROFILE, owner="o", now=NOW, ttl=TTL, is_dead=lambda _: False
    )
    for change in history():
        await writer.commit(lease, change, receipt(change), now=NOW, ttl=TTL)
    written = await writer.load(GROUP)
    await writer.close()
    readers = [await open_graph(url, user="", password="", write=False) for _ in range(2)]
    for reader in readers:
        await reader.prepare()
        assert await reader.load(GROUP) == written
        await reader.close()


async def test_reading_a_graph_that_does_not_exist_finds_nothing_and_creates_nothing(
    tmp_path: Path,
) -> None:
    path = tmp_path / "lake" / "graph.lbug"
    store = await open_graph(f"ladybug://{path}", user="", password="", write=False)
    assert await store.groups() == []
    assert (await store.load(GROUP)).receipts == ()
    await store.close()
    assert not path.parent.exists()


async def test_a_file_that_is_not_a_graph_is_rejected_and_stays_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a graph\n" * 1000)
    for write in (True, False):
        with pytest.raises(GraphUnusable, match=r"cannot open graph `.*notes\.txt`"):
            await open_graph(f"ladybug://{path}", user="", password="", write=write)
    assert path.read_text() == "not a graph\n" * 1000


@pytest.mark.parametrize(("byte", "bit"), [(0, 1), (7, 1), (12, 1), (14, 1), (21, 1), (21, 64)])
async def test_a_file_with_a_flipped_bit_in_its_header_is_rejected_with_a_sentence(
    tmp_path: Path, byte: int, bit: int
) -> None:
    path = tmp_path / "graph.lbug"
    store = await open_graph(f"ladybug://{path}", user="", password="")
    await store.prepare()
    await store.close()
    content = bytearray(path.read_bytes())
    content[byte] ^= bit
    path.write_bytes(content)
    with pytest.raises(GraphUnusable, match="restore it from a backup"):
        await open_graph(f"ladybug://{path}", user="", password="", write=False)


async def test_a_folder_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(GraphUnusable, match="cannot open graph"):
        await open_graph(f"ladybug://{tmp_path}", user="", password="")


@pytest.mark.neo4j
async def test_concurrent_runs_on_an_empty_server_all_prepare_it(neo4j: Neo4jServer) -> None:
    for row in neo4j.run("SHOW CONSTRAINTS YIELD name"):
        neo4j.run(f"DROP CONSTRAINT `{row['name']}`")
    for row in neo4j.run("SHOW INDEXES YIELD name, type WHERE type <> 'LOOKUP'"):
        neo4j.run(f"DROP INDEX `{row['name']}`")
    stores = [await open_graph(neo4j.url, user="", password="") for _ in range(4)]
    try:
        await asyncio.gather(*(store.prepare() for store in stores))
    finally:
        for store in stores:
            await store.close()
    assert len(neo4j.run("SHOW CONSTRAINTS YIELD name WHERE name CONTAINS 'turn'")) > 0


@pytest.mark.neo4j
@pytest.mark.parametrize("kind", ["INDEX entity_uuid", "CONSTRAINT turn_commit_sequence"])
async def test_an_index_that_its_owner_dropped_is_created_by_the_next_writer(
    neo4j: Neo4jServer, kind: str
) -> None:
    online = "SHOW INDEXES YIELD name, state WHERE state = 'ONLINE' RETURN name ORDER BY name"
    stores = [await open_graph(neo4j.url, user="", password="") for _ in range(2)]
    await stores[0].prepare()
    before = neo4j.run(online)
    neo4j.run(f"DROP {kind}")
    assert neo4j.run(online) != before
    await stores[1].prepare()
    assert neo4j.run(online) == before
    for store in stores:
        await store.close()


@pytest.mark.parametrize("write", [True, False])
@pytest.mark.parametrize(
    "missing", [("receipt",), ("archive", "first_line"), ("session_id", "run_id")]
)
async def test_a_file_whose_receipts_lack_columns_is_rejected_and_stays_unchanged(
    tmp_path: Path, write: bool, missing: tuple[str, ...]
) -> None:
    path = tmp_path / "graph.lbug"
    await _without_columns(path, "TurnCommit", missing)
    before = path.read_bytes()
    with pytest.raises(GraphUnusable, match=OLDER):
        await open_graph(f"ladybug://{path}", user="", password="", write=write)
    assert path.read_bytes() == before


@pytest.mark.parametrize("write", [True, False])
async def test_a_file_that_records_no_version_is_rejected(tmp_path: Path, write: bool) -> None:
    path = tmp_path / "graph.lbug"
    await _without_columns(path, "TurnGroup", ["schema_version"])
    with pytest.raises(GraphUnusable, match=OLDER):
        await open_graph(f"ladybug://{path}", user="", password="", write=write)


@pytest.mark.full
async def test_a_graph_of_another_version_is_rejected_in_a_sentence_that_says_what_to_do(
    graph_url: str,
) -> None:
    store = await open_graph(graph_url, user="", password="")
    await store.prepare()
    await store.acquire(GROUP, PROFILE, owner="o", now=NOW, ttl=TTL, is_dead=lambda _: False)
    await store.close()
    await _set_version(graph_url, 3)
    expected = (
        r"was written by another version of turnetl \(graph schema 3; this version uses 9\); name "
        "a new graph with --graph, and ingest again"
    )
    with pytest.raises(GraphUnusable, match=expected):
        await open_graph(graph_url, user="", password="")
    await _set_version(graph_url, to_rows.CURRENT)
    again = await open_graph(graph_url, user="", password="")
    await again.close()


@pytest.mark.neo4j
async def test_a_server_that_records_no_version_is_rejected(neo4j: Neo4jServer) -> None:
    neo4j.run("CREATE (:TurnGroup {group_id: 'of_an_older_version', fence: 1})")
    try:
        with pytest.raises(GraphUnusable, match=OLDER):
            await open_graph(neo4j.url, user="", password="")
    finally:
        neo4j.run("MATCH (g:TurnGroup {group_id: 'of_an_older_version'}) DELETE g")


async def _without_columns(path: Path, table: str, columns: Iterable[str]) -> None:
    """Create a graph with columns missing in a table, as an older version had it."""
    store = await open_graph(f"ladybug://{path}", user="", password="")
    await store.prepare()
    await store.close()
    file = LadybugFile.open(path, write=True)
    for column in columns:
        file.connection.execute(f"ALTER TABLE {table} DROP {column}")
    file.close()


async def _set_version(url: str, version: int) -> None:
    await run_statement(url, f"MATCH (g:TurnGroup) SET g.schema_version = {version}")


async def test_an_opening_that_is_cancelled_leaves_the_file_to_others(tmp_path: Path) -> None:
    url = f"ladybug://{tmp_path}/graph.lbug"
    opening = asyncio.create_task(open_graph(url, user="", password=""))
    await asyncio.sleep(0.01)
    opening.cancel()
    with suppress(asyncio.CancelledError):
        await (await opening).close()
    store = await open_graph(url, user="", password="")
    await store.close()
