"""A graph file of another release of Ladybug is opened, or carried over, or stays as it is."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import GROUP
from tests.graph.graph_dump import dump_graph
from tests.graph.older_files import VERSIONS, extract, install, write, write_with
from tests.graph.sample_changes import NOW, PROFILE, TTL, history, receipt
from turnetl.base.errors import BadUsage, GraphBusy, GraphUnusable
from turnetl.base.progress import ProgressUpdate, ignore_progress
from turnetl.graph.ladybug.checksum import ChecksumMatch, compare
from turnetl.graph.ladybug.file import check_file, lock_graph
from turnetl.graph.ladybug.storage_version import INSTALLED, RELEASE, remedy, storage_version
from turnetl.graph.ladybug.upgrade import upgrade_file
from turnetl.graph.open import open_graph, rewrite_graph, upgrade_graph

READABLE = [
    pytest.param("0.20.4", "killed"),
    pytest.param("0.21.2", "closed"),
    *(
        pytest.param(release, kind, marks=pytest.mark.full)
        for release, kind in (("0.19.1", "closed"), ("0.19.1", "killed"), ("0.20.4", "closed"))
    ),
    pytest.param("0.21.2", "killed", marks=pytest.mark.full),
]
"""Files that the installed release reads, with the log that a kill left."""


def contents(folder: Path) -> dict[str, bytes]:
    """Return the content of each file but locks and checksums."""
    return {
        file.name: file.read_bytes()
        for file in folder.glob("graph.lbug*")
        if file.suffix not in (".lock", ".checksum")
    }


def tear_log(path: Path) -> None:
    """Cut off the end of the last transaction."""
    log = path.with_name("graph.lbug.wal")
    log.write_bytes(log.read_bytes()[:-40])


async def expected(folder: Path) -> list[str]:
    """Return what a graph of the same turns holds that the installed release wrote."""
    path = folder / "expected" / "graph.lbug"
    await write(path, is_killed=False)
    return await dump_graph(f"ladybug://{path}")


async def write_again(path: Path) -> None:
    """Take the lease of the group, which has all turns, and release it."""
    store = await open_graph(f"ladybug://{path}", user="", password="")
    await store.prepare()
    lease = await store.acquire(
        GROUP, PROFILE, owner="here:2", now=NOW, ttl=TTL, is_dead=lambda _: True
    )
    known = {one.turn_id for one in await store.receipts(GROUP)}
    assert known == {receipt(change).turn_id for change in history()}
    await store.release(lease)
    await store.close()


@pytest.mark.parametrize(("release", "kind"), READABLE)
async def test_a_file_of_an_older_release_is_opened_and_written(
    tmp_path: Path, release: str, kind: str
) -> None:
    path = extract(release, kind, tmp_path)
    assert storage_version(path) == VERSIONS[release]
    before = contents(tmp_path)
    store = await open_graph(f"ladybug://{path}", user="", password="", write=False)
    assert len(await store.receipts(GROUP)) == len(history())
    await store.close()
    assert contents(tmp_path) == before
    await write_again(path)
    assert storage_version(path) == INSTALLED
    assert await dump_graph(f"ladybug://{path}") == await expected(tmp_path)


@pytest.mark.parametrize(("release", "kind"), READABLE)
async def test_an_upgrade_carries_every_row_over_and_keeps_the_old_file(
    tmp_path: Path, release: str, kind: str
) -> None:
    path = extract(release, kind, tmp_path)
    before, updates = contents(tmp_path), list[ProgressUpdate]()
    report = upgrade_graph(f"ladybug://{path}", None, updates.append)
    assert (report.previous_version, report.storage_version) == (VERSIONS[release], INSTALLED)
    assert report.tables["TurnCommit"] == len(history())
    assert not report.is_log_cut
    assert updates[-1].done == updates[-1].total == len(updates)
    kept = {f"graph.lbug.storage{VERSIONS[release]}{name[10:]}" for name in before}
    after = contents(tmp_path)
    assert after.keys() == {"graph.lbug", *kept}
    assert sorted(after[name] for name in kept) == sorted(before.values())
    assert compare(path) is ChecksumMatch.SAME
    again = upgrade_graph(f"ladybug://{path}", None, ignore_progress)
    assert again.previous_version is None
    assert contents(tmp_path) == after
    await write_again(path)
    assert await dump_graph(f"ladybug://{path}") == await expected(tmp_path)


async def test_an_older_file_has_the_installed_version_before_a_turn_is_logged(
    tmp_path: Path,
) -> None:
    path = extract("0.21.2", "killed", tmp_path)
    store = await open_graph(f"ladybug://{path}", user="", password="")
    assert storage_version(path) == INSTALLED
    await store.close()


async def refused(path: Path, *, for_writing: bool) -> str:
    with pytest.raises(GraphUnusable) as raised:
        await open_graph(f"ladybug://{path}", user="", password="", write=for_writing)
    return str(raised.value)


async def test_an_intact_log_that_only_its_release_can_read_is_never_cut(tmp_path: Path) -> None:
    path = extract("0.17.1", "killed", tmp_path)
    before = contents(tmp_path)
    for for_writing in (False, True):
        message = await refused(path, for_writing=for_writing)
        assert "storage version 41" in message
        assert "pip install --target old-ladybug ladybug==0.17.1" in message
        assert "turnetl graph upgrade --with old-ladybug" in message
    with pytest.raises(GraphUnusable, match=r"it stays as it is: .*--with old-ladybug"):
        upgrade_file(path, None)
    assert "upgrade --with" in (check_file(path).remedy or "")
    assert contents(tmp_path) == before


async def test_a_damaged_log_of_another_release_is_never_cut(tmp_path: Path) -> None:
    path = extract("0.21.2", "killed", tmp_path)
    tear_log(path)
    before = contents(tmp_path)
    assert "storage version 47" in await refused(path, for_writing=True)
    with pytest.raises(GraphUnusable, match="it stays as it is"):
        upgrade_file(path, None)
    assert contents(tmp_path) == before


async def test_a_file_of_a_newer_release_is_refused_and_stays(tmp_path: Path) -> None:
    path = extract("0.21.2", "closed", tmp_path)
    with path.open("rb+") as file:
        file.seek(4)
        file.write((INSTALLED + 1).to_bytes(8, "little"))
    before = contents(tmp_path)
    for for_writing in (False, True):
        message = await refused(path, for_writing=for_writing)
        assert "update turnetl, or install the release" in message
    with pytest.raises(GraphUnusable, match="ladybug==RELEASE"):
        upgrade_file(path, None)
    assert contents(tmp_path) == before


def test_an_upgrade_waits_for_nobody_and_needs_a_graph_a_release_and_space(
    tmp_path: Path,
) -> None:
    path = extract("0.21.2", "closed", tmp_path)
    before = contents(tmp_path)
    lock = lock_graph(path, write=False)
    with pytest.raises(GraphBusy):
        upgrade_file(path, None)
    if lock is not None:
        lock.close()
    with pytest.raises(GraphUnusable, match="MB of free space for its upgrade"):
        upgrade_file(path, None, free_bytes=lambda _: 1e6)
    with pytest.raises(BadUsage, match="neither a Python nor a folder"):
        upgrade_file(path, tmp_path)
    for url in ("bolt://localhost:7687", f"ladybug://{tmp_path}/missing.lbug"):
        with pytest.raises(BadUsage):
            upgrade_graph(url, None, ignore_progress)
    for name in ("graph.lbug.storage47", "graph.lbug.storage47.wal"):
        path.with_name(name).write_bytes(b"kept")
        with pytest.raises(GraphUnusable, match="an earlier upgrade kept"):
            upgrade_file(path, None)
        path.with_name(name).unlink()
    assert contents(tmp_path) == before


def test_a_file_that_was_replaced_before_the_swap_ended_is_not_lost(tmp_path: Path) -> None:
    path = extract("0.21.2", "closed", tmp_path)
    path.with_name("graph.lbug.storage47").write_bytes(b"of the file before")
    path.with_name("graph.lbug.upgraded").write_bytes(b"new")
    before = contents(tmp_path)
    with pytest.raises(GraphUnusable, match="was changed since its upgrade"):
        upgrade_file(path, None)
    path.with_name("graph.lbug.storage47").unlink()
    path.write_bytes(b"no header")
    with pytest.raises(GraphUnusable, match="no Ladybug file any more"):
        upgrade_file(path, None)
    assert contents(tmp_path).keys() == before.keys() - {"graph.lbug.storage47"}
    assert "unfinished upgrade" in (check_file(path).problem or "")


def test_the_installed_release_is_known_by_its_storage_version() -> None:
    assert f"ladybug=={RELEASE}" in remedy(INSTALLED)


def test_what_is_no_ladybug_file_is_not_upgraded(tmp_path: Path) -> None:
    path = tmp_path / "graph.lbug"
    path.write_bytes(b"something else" * 10)
    with pytest.raises(GraphUnusable, match="no Ladybug file"):
        upgrade_file(path, None)
    link = tmp_path / "link.lbug"
    link.symlink_to(path)
    with pytest.raises(GraphUnusable, match="symbolic link"):
        upgrade_file(link, None)


async def test_a_rewritten_file_leaves_no_older_one_with_deleted_texts(tmp_path: Path) -> None:
    path = extract("0.20.4", "killed", tmp_path)
    upgrade_file(path, Path(sys.executable))
    assert len(contents(tmp_path)) == 3
    rewrite_graph(f"ladybug://{path}")
    assert contents(tmp_path).keys() == {"graph.lbug"}


KILLED_AT = """
import os, signal, sys
from pathlib import Path
from turnetl.graph.ladybug.upgrade import upgrade_file
path, left = Path(sys.argv[1]), int(sys.argv[2])
CHANGES = ("os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir")
def kill_at(event, args):
    global left
    is_written = event == "open" and args[2] & (os.O_WRONLY | os.O_RDWR)
    if (event in CHANGES or is_written) and "graph.lbug" in str(args[0]):
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(kill_at)
upgrade_file(path, None)
"""
"""Ends before a file is opened for writing, made, renamed, linked or removed: the numbered one."""


def killed_at(path: Path, change: int) -> bool:
    command = [sys.executable, "-c", KILLED_AT, str(path), str(change)]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ended.returncode in (0, -signal.SIGKILL), ended.stderr
    return ended.returncode != 0


@pytest.mark.full
async def test_a_kill_at_any_step_leaves_the_old_graph_or_the_new_one(tmp_path: Path) -> None:
    rows, change, versions = await expected(tmp_path), 0, list[int | None]()
    while True:
        folder = tmp_path / str(change)
        folder.mkdir()
        path = extract("0.21.2", "killed", folder)
        if not killed_at(path, change):
            break
        # As it would be read next: the next process that opens the graph completes the swap.
        store = await open_graph(f"ladybug://{path}", user="", password="", write=False)
        assert len(await store.receipts(GROUP)) == len(history()), change
        await store.close()
        versions.append(storage_version(path))
        upgrade_file(path, None)
        assert contents(folder).keys() == {
            "graph.lbug",
            "graph.lbug.storage47",
            "graph.lbug.storage47.wal",
        }, change
        assert await dump_graph(f"ladybug://{path}") == rows, change
        change += 1
    assert versions == sorted(versions, key=str)
    assert set(versions) == {47, INSTALLED}


@pytest.fixture(scope="module", params=["0.17.1", "0.21.2"])
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an older release, from the package index."""
    try:
        return install(request.param, tmp_path_factory.mktemp("releases"))
    except subprocess.CalledProcessError as error:
        pytest.skip(f"Ladybug {request.param} cannot be installed: {error.stderr[-200:]!r}")


@pytest.mark.full
async def test_an_upgrade_with_its_own_release_reads_every_file(
    tmp_path: Path, release: Path
) -> None:
    path = tmp_path / "graph.lbug"
    write_with(release, "killed", path)
    report = upgrade_graph(f"ladybug://{path}", release, ignore_progress)
    assert report.previous_version == VERSIONS[release.name]
    assert report.tables["TurnCommit"] == len(history())
    assert not report.is_log_cut
    await write_again(path)


@pytest.mark.full
async def test_a_damaged_log_is_left_out_only_by_its_own_release(
    tmp_path: Path, release: Path
) -> None:
    path = tmp_path / "graph.lbug"
    write_with(release, "killed", path)
    tear_log(path)
    before = contents(tmp_path)
    report = upgrade_graph(f"ladybug://{path}", release, ignore_progress)
    assert report.is_log_cut
    assert report.tables["TurnCommit"] == len(history()) - 1
    assert report.kept is not None
    assert contents(tmp_path)[f"{report.kept.name}.wal"] == before["graph.lbug.wal"]


LOGGED = """
import os, signal, sys
import ladybug
database = ladybug.Database(sys.argv[1], compression=False)
connection = ladybug.Connection(database)
for number in range(3):
    connection.execute(f"CREATE (:Episodic {{uuid: 'logged {number}'}})")
os.kill(os.getpid(), signal.SIGKILL)
"""
"""Logs three transactions of the installed release, beside a file that names an older one."""


@pytest.mark.full
def test_a_log_of_the_installed_release_is_never_read_by_an_older_one(
    tmp_path: Path, release: Path
) -> None:
    path = tmp_path / "graph.lbug"
    write_with(release, "closed", path)
    subprocess.run([sys.executable, "-c", LOGGED, str(path)], check=False)
    assert storage_version(path) == VERSIONS[release.name]
    log = path.with_name("graph.lbug.wal")
    intact = log.read_bytes()
    tear_log(path)
    before = contents(tmp_path)
    with pytest.raises(GraphUnusable, match="stays as it is"):
        upgrade_file(path, release)
    assert contents(tmp_path) == before
    log.write_bytes(intact)
    report = upgrade_file(path, release)
    assert report.tables["Episodic"] >= len(history()) + 3
    assert not report.is_log_cut
