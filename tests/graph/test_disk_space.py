"""A full disk stops a run with one sentence; what was committed stays, and a rerun completes it.

The disks are real: a file system in memory, or a limit of the size of files.
"""

import asyncio
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import GROUP
from tests.graph.log_states import rerun
from tests.graph.sample_changes import NOW, PROFILE, TTL, history, receipt
from tests.graph.test_stores_agree import receipts_without_run
from turnetl.base.errors import GraphUnusable
from turnetl.base.graph_model import GroupContents
from turnetl.graph.ladybug.file import LadybugFile
from turnetl.graph.ladybug.log import RESERVE, DiskSpace, active_log, change_size
from turnetl.graph.ladybug.store import LadybugStore
from turnetl.graph.open import open_graph

BACKFILL = """
import asyncio, sys
from pathlib import Path
from tests.graph.test_stores_agree import NOW
from tests.real_archives import SAMPLES
from turnetl import pipeline
from turnetl.settings import Settings
lake, graph = sys.argv[1:]
settings = Settings(lake=Path(lake), graph=graph)
run = pipeline.backfill([str(SAMPLES)], settings, pipeline.RunOptions(), lambda: NOW)
report = asyncio.run(run).ingested
print(*{f"{int(group.exit_code)} {group.error}" for group in report.groups})
"""

ON_A_SMALL_DISK = """
set -e
mount -t tmpfs -o size="$1" tmpfs "$2"
"$3" -c "$4" "$5" "ladybug://$2/graph.lbug"
mount -o remount,size=1g "$2"
"$3" -c "$4" "$5" "ladybug://$2/graph.lbug"
cp "$2/graph.lbug" "$6"
"""
"""Arguments: size and mount point of the disk, Python, its program, lake, where the graph goes."""

IN_A_NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount")

RUNS_OUT_OF_SPACE = """
import asyncio, resource, sys
from pathlib import Path
from tests.graph.sample_changes import GROUP, NOW, PROFILE, TTL, history, receipt
from turnetl.base.errors import GraphUnusable
from turnetl.graph.ladybug.log import active_log
from turnetl.graph.open import open_graph
async def main(path, room):
    store = await open_graph(f"ladybug://{path}", user="", password="")
    await store.prepare()
    lease = await store.acquire(
        GROUP, PROFILE, owner="host:1", now=NOW, ttl=TTL, is_dead=lambda _: True
    )
    first, second, _ = history()
    await store.commit(lease, first, receipt(first), now=NOW, ttl=TTL)
    limit = active_log(path).stat().st_size + room
    _, before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before))
    try:
        await store.commit(lease, second, receipt(second), now=NOW, ttl=TTL)
    except GraphUnusable as error:
        print(error)
    # Free space alone makes no log complete that ends in a part of a record.
    resource.setrlimit(resource.RLIMIT_FSIZE, (before, before))
    try:
        await store.release(lease)
    except GraphUnusable:
        print("nothing is written after it")
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before))
    await store.close()
asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
"""


def can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    command = [*IN_A_NAMESPACE, "sh", "-c", "mount -t tmpfs tmpfs /mnt"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


@pytest.mark.full
@pytest.mark.skipif(not can_mount(), reason="no file system can be mounted here")
async def test_a_run_on_a_full_disk_stops_and_a_rerun_makes_the_undisturbed_graph(
    tmp_path: Path,
) -> None:
    disk, graph = tmp_path / "disk", tmp_path / "graph.lbug"
    disk.mkdir()
    # Room for a few turns above the reserve.
    size = str(RESERVE + (3 << 20))
    arguments = (size, disk, sys.executable, BACKFILL, tmp_path / "lake", graph)
    full = await _run(*IN_A_NAMESPACE, "sh", "-c", ON_A_SMALL_DISK, "sh", *arguments)
    first, second = full.splitlines()
    assert first.startswith(f"1 the disk of graph `{disk / 'graph.lbug'}` is full: ")
    assert "free some space, then repeat the command" in first
    assert second == "0 None"
    undisturbed = tmp_path / "undisturbed.lbug"
    url = f"ladybug://{undisturbed}"
    assert await _run(sys.executable, "-c", BACKFILL, tmp_path / "other", url) == "0 None\n"
    for ours, expected in zip(await _groups(graph), await _groups(undisturbed), strict=True):
        assert (ours.entities, ours.facts) == (expected.entities, expected.facts)
        assert receipts_without_run(ours) == receipts_without_run(expected)
        assert dict(ours.texts) == dict(expected.texts)


@pytest.mark.full
@pytest.mark.skipif(sys.platform == "win32", reason="files have no limit there")
@pytest.mark.parametrize("room", [100, 4_000])
async def test_a_write_that_fails_is_an_error_and_the_graph_opens_with_every_committed_turn(
    tmp_path: Path, room: int
) -> None:
    path = tmp_path / "graph.lbug"
    output = await _run(sys.executable, "-c", RUNS_OUT_OF_SPACE, path, str(room))
    error, last = output.splitlines()
    assert error.startswith("the embedded graph cannot be written: ")
    assert "free some disk space, then repeat the command" in error
    assert last == "nothing is written after it"
    for write in (False, True):
        store = await open_graph(f"ladybug://{path}", user="", password="", write=write)
        assert list(await store.receipts(GROUP)) == [receipt(history()[0])]
        await store.close()
    contents, _ = await rerun(f"ladybug://{path}")
    undisturbed, _ = await rerun(f"ladybug://{tmp_path / 'undisturbed.lbug'}")
    assert contents == undisturbed


async def test_a_log_is_not_cut_when_the_disk_filled_up_after_its_space_was_checked(
    tmp_path: Path,
) -> None:
    """A process that finds no space while it opens the graph ends as with a damaged log."""
    path = tmp_path / "graph.lbug"
    await rerun(f"ladybug://{path}")
    # An incomplete record.
    active_log(path).write_bytes(b"\x01" * 100)
    free = iter([1e12, 1e6])
    with pytest.raises(GraphUnusable, match="is full: 1 MB are free"):
        LadybugFile.open(path, write=True, free_bytes=lambda _: next(free))
    assert active_log(path).read_bytes() == b"\x01" * 100


async def test_a_commit_that_may_not_fit_is_not_begun_and_closing_leaves_the_log(
    tmp_path: Path,
) -> None:
    path = tmp_path / "graph.lbug"
    free = [1e12]
    file = LadybugFile.open(path, write=True, free_bytes=lambda _: free[0])
    store = LadybugStore(file)
    await store.prepare()
    lease = await store.acquire(
        GROUP, PROFILE, owner="host:1", now=NOW, ttl=TTL, is_dead=lambda _: True
    )
    first, second, _ = history()
    await store.commit(lease, first, receipt(first), now=NOW, ttl=TTL)
    free[0] = RESERVE
    size = active_log(path).stat().st_size
    with pytest.raises(GraphUnusable, match=r"is full: 67 MB are free, and a write needs 6[89] MB"):
        await store.commit(lease, second, receipt(second), now=NOW, ttl=TTL)
    free[0] = 1e6
    await store.close()
    assert active_log(path).stat().st_size == size
    reader = await open_graph(f"ladybug://{path}", user="", password="", write=False)
    assert list(await reader.receipts(GROUP)) == [receipt(first)]
    await reader.close()
    assert len((await rerun(f"ladybug://{path}"))[0].receipts) == 3
    assert not active_log(path).exists()


async def test_a_change_logs_no_more_bytes_than_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "graph.lbug"
    store = await open_graph(f"ladybug://{path}", user="", password="")
    await store.prepare()
    lease = await store.acquire(
        GROUP, PROFILE, owner="host:1", now=NOW, ttl=TTL, is_dead=lambda _: True
    )
    for change in history():
        before = active_log(path).stat().st_size
        await store.commit(lease, change, receipt(change), now=NOW, ttl=TTL)
        assert active_log(path).stat().st_size - before <= change_size(change)
    await store.close()


def test_a_disk_of_unknown_size_is_not_full(tmp_path: Path) -> None:
    DiskSpace(tmp_path / "missing" / "graph.lbug").check()


async def _run(*command: str | Path) -> str:
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    assert process.returncode == 0
    return output.decode()


async def _groups(path: Path) -> list[GroupContents]:
    store = await open_graph(f"ladybug://{path}", user="", password="", write=False)
    groups = [await store.load(group) for group in await store.groups()]
    await store.close()
    return groups
