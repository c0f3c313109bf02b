"""A graph whose writer was killed within a commit opens again, with every turn before it.

The logs are cut and torn at bytes; `pytest --full` takes many more of them.
"""

import logging
import os
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.builders import GROUP
from tests.graph.log_states import TAILS, Recording, interrupt_merge, record, record_starts, rerun
from tests.graph.sample_changes import history
from turnetl.base.errors import GraphBusy, GraphUnusable
from turnetl.base.graph_model import GroupContents, GroupVersion
from turnetl.graph.ladybug import log as ladybug_log
from turnetl.graph.ladybug.file import LadybugFile
from turnetl.graph.ladybug.log import active_log
from turnetl.graph.ladybug.probe import FileState, probe
from turnetl.graph.open import open_graph

Undisturbed = tuple[GroupContents, GroupVersion]


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return record(tmp_path_factory.mktemp("recorded"))


@pytest.fixture(scope="module")
async def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return await rerun(url(tmp_path_factory.mktemp("undisturbed") / "graph.lbug"))


def url(path: Path) -> str:
    return f"ladybug://{path}"


def copies_in(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.damaged-*"))


async def receipts_in(path: Path, *, write: bool) -> list[str]:
    store = await open_graph(url(path), user="", password="", write=write)
    try:
        return [receipt.turn_id for receipt in await store.receipts(GROUP)]
    finally:
        await store.close()


async def check_state(
    path: Path, recording: Recording, cut: int, tail: str, undisturbed: Undisturbed
) -> None:
    """Check that a damaged file is read, repaired and completed."""
    recording.write(path, cut, tail)
    log = active_log(path)
    before = log.read_bytes()
    committed = [change.episode.turn_id for change in history()[: recording.turns(cut)]]
    is_prepared = cut >= recording.ends[0]
    if is_prepared:
        assert await receipts_in(path, write=False) == committed
        # If replaying it crashes the database, the reader had to repair it.
        assert not log.exists() or log.read_bytes() == before
        assert await receipts_in(path, write=True) == committed
        assert not log.exists()
    contents, version = await rerun(url(path))
    expected, expected_version = undisturbed
    assert contents == expected
    assert version.sequence == expected_version.sequence
    assert await receipts_in(path, write=False) == [r.turn_id for r in expected.receipts]
    # Of a transaction without its last record, the database itself drops the complete records.
    is_damaged = tail != "missing" or cut not in record_starts(recording.log)
    if is_prepared and is_damaged and cut < len(recording.log):
        (copy,) = copies_in(path.parent)
        assert copy.read_bytes() == before


def sampled_cuts(recording: Recording) -> list[tuple[int, str]]:
    """Return cuts within the last two commits, at the ends of a record and between them."""
    _, lease, first, second, third = recording.ends
    starts = list(record_starts(recording.log))
    inside = [start for start in starts if second < start < third]
    middle = inside[len(inside) // 2]
    return [
        (0, "missing"),
        (lease + 1, "missing"),
        ((first + second) // 2, "noise"),
        (middle, "zeros"),
        (middle + 3, "missing"),
        (third - 9, "older"),
        (third, "missing"),
    ]


@pytest.mark.full
async def test_a_log_that_ends_anywhere_opens_with_every_turn_before_and_a_rerun_completes_it(
    tmp_path: Path, recording: Recording, undisturbed: Undisturbed
) -> None:
    states = sampled_cuts(recording)
    for number, (cut, tail) in enumerate(states):
        await check_state(tmp_path / str(number) / "graph.lbug", recording, cut, tail, undisturbed)
    print(f"{len(states)} states")  # noqa: T201 - pytest shows it with -s


@pytest.mark.full
async def test_every_record_of_the_log_can_be_the_last_one_and_can_be_torn(
    tmp_path: Path, recording: Recording, undisturbed: Undisturbed
) -> None:
    starts = enumerate(record_starts(recording.log))
    # Before a record, within its length, or within its content.
    states = [(start + (0, 3, 20)[n % 3], TAILS[n % len(TAILS)]) for n, start in starts]
    for number, (cut, tail) in enumerate(states):
        await check_state(tmp_path / str(number) / "graph.lbug", recording, cut, tail, undisturbed)
    print(f"{len(states)} states")  # noqa: T201 - pytest shows it with -s


@pytest.mark.full
async def test_the_message_names_the_dropped_turn_its_group_and_the_copy_of_the_log(
    tmp_path: Path, recording: Recording, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "graph.lbug"
    cut = recording.ends[-1] - 40
    recording.write(path, cut)
    with caplog.at_level(logging.WARNING):
        await receipts_in(path, write=False)
    assert "is not read, and the next command that writes the graph removes it" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        await receipts_in(path, write=True)
    (copy,) = copies_in(path.parent)
    dropped = cut - recording.ends[-2]
    turn = history()[-1].episode.turn_id
    assert f"{dropped:,} bytes are dropped (turn `{turn}`, group `shop`; last" in caplog.text
    assert f"kept as `{copy.name}`" in caplog.text
    caplog.clear()
    await receipts_in(path, write=True)
    assert not caplog.messages


@pytest.mark.full
async def test_damage_in_the_middle_of_a_log_keeps_what_is_before_and_counts_what_is_after(
    tmp_path: Path, recording: Recording, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "graph.lbug"
    _, _, first, second, _ = recording.ends
    recording.write(path, len(recording.log))
    log = bytearray(recording.log)
    log[(first + second) // 2] ^= 0xFF
    active_log(path).write_bytes(log)
    with caplog.at_level(logging.WARNING):
        assert len(await receipts_in(path, write=True)) == 1
    assert "2 transactions after the damage" in caplog.text


@pytest.mark.full
async def test_readers_share_a_damaged_graph_and_change_nothing(
    tmp_path: Path, recording: Recording
) -> None:
    path = tmp_path / "graph.lbug"
    recording.write(path, recording.ends[-1] - 1)
    before = active_log(path).read_bytes()
    with (
        closing(LadybugFile.open(path, write=False)),
        closing(LadybugFile.open(path, write=False)),
        pytest.raises(GraphBusy, match="has graph"),
    ):
        LadybugFile.open(path, write=True, timeout=0)
    assert active_log(path).read_bytes() == before
    assert not copies_in(tmp_path)


async def test_nobody_reads_or_repairs_a_graph_that_a_writer_has_open(
    tmp_path: Path, recording: Recording
) -> None:
    path = tmp_path / "graph.lbug"
    recording.write(path, recording.ends[-1])
    with closing(LadybugFile.open(path, write=True)):
        damaged = recording.log[:-1]
        active_log(path).write_bytes(damaged)
        for write in (True, False):
            with pytest.raises(GraphBusy, match="has graph"):
                LadybugFile.open(path, write=write, timeout=0)
        assert active_log(path).read_bytes() == damaged
    assert not copies_in(tmp_path)


def test_three_copies_of_damaged_logs_are_kept(tmp_path: Path) -> None:
    log = tmp_path / "graph.lbug.wal"
    log.write_bytes(b"log")
    copies = []
    for second in range(5):
        seconds = 1_700_000_000 + second
        os.utime(log, (seconds, seconds))
        copies.append(ladybug_log.copy_log(log))
    assert copies_in(tmp_path) == copies[-3:]


def test_every_transaction_of_a_log_ends_with_the_known_record(recording: Recording) -> None:
    assert set(recording.ends) <= set(ladybug_log.commit_ends(recording.log))


@pytest.mark.full
@pytest.mark.parametrize("write", [True, False])
async def test_a_log_whose_replay_fails_in_the_database_is_cut_after_its_last_transaction(
    tmp_path: Path, recording: Recording, write: bool
) -> None:
    path = tmp_path / "graph.lbug"
    name = len(GROUP).to_bytes(8, "little") + GROUP.encode()
    recording.write(path, recording.log.index(name, recording.ends[-2]), "ones")
    assert probe(path, "read") is FileState.CRASH
    assert len(await receipts_in(path, write=write)) == 2
    assert not active_log(path).exists()
    (copy,) = copies_in(tmp_path)
    assert copy.read_bytes().startswith(recording.log[: recording.ends[-2]])


@pytest.mark.full
@pytest.mark.skipif(sys.platform == "win32", reason="files have no limit there")
@pytest.mark.parametrize("write", [True, False])
async def test_a_merge_that_was_interrupted_is_completed_although_its_own_record_is_torn(
    tmp_path: Path, write: bool
) -> None:
    path = tmp_path / "graph.lbug"
    interrupt_merge(path, 1_100_000)
    _, merging = ladybug_log.log_names(path)
    os.truncate(merging, merging.stat().st_size - 5)
    assert len(await receipts_in(path, write=write)) == 3
    assert not ladybug_log.log_files(path)


@pytest.mark.full
async def test_without_disk_space_nothing_is_repaired(tmp_path: Path, recording: Recording) -> None:
    path = tmp_path / "graph.lbug"
    recording.write(path, recording.ends[-1] - 1)
    with pytest.raises(GraphUnusable, match=r"is full: 1 MB are free, and a write needs \d+ MB"):
        LadybugFile.open(path, write=True, free_bytes=lambda _: 1e6)
    assert active_log(path).read_bytes() == recording.log[:-1]
