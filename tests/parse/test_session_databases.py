"""Databases of agents: each session is an archive, and nothing is written beside its database."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

from tests.agent_databases import AT, MAKERS, cursor, hermes, kiro, opencode, opencode_2, write, zed
from tests.parse.parse_runs import counts_every_line, outcomes, run
from turnetl import parsing
from turnetl.base.errors import BadArchive
from turnetl.base.reason import SkipReason
from turnetl.lake import Lake
from turnetl.parsing.archive_lines import read_archive_lines
from turnetl.parsing.session_databases import SessionDatabases


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "lake")


def parse(lake: Lake, *paths: Path) -> parsing.ParseReport:
    return run(lake, *parsing.expand(paths).archives)


def turns(lake: Lake) -> pl.DataFrame:
    return pl.concat([pl.read_parquet(path) for path in lake.turn_paths()]).sort("archive")


def prompts(lake: Lake) -> list[str]:
    return sorted(turns(lake)["user_text"])


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """An agent that has its database open, with all changes in the log, one not committed."""
    path = opencode(tmp_path / "opencode.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("pragma journal_mode = wal")
        database.execute("update part set data = replace(data, 'Prompt 1', 'In the log')")
        database.execute("begin immediate")
        database.execute("update part set data = replace(data, 'In the log', 'Not committed')")
        yield database


def test_each_session_of_every_agent_is_an_archive_that_leads_back_to_its_rows(
    tmp_path: Path, lake: Lake, subtests: pytest.Subtests
) -> None:
    for name, make in MAKERS.items():
        with subtests.test(name):
            path = make(tmp_path / name, 2)
            found = parsing.expand([path])
            assert (len(found.archives), found.problems) == (2, ())
            assert {archive.parent for archive in found.archives} == {path}
            own = Lake(lake.root / name)
            report = run(own, *found.archives)
            assert outcomes(report) == ["new", "new"]
            assert counts_every_line(report)
            rows = turns(own).to_dicts()
            assert [row["user_text"] for row in rows] == ["Prompt 1", "Prompt 2"]
            for row in rows:
                lines = read_archive_lines(
                    Path(row["archive"]), row["first_line"], row["last_line"]
                )
                rows_of_turn = json.dumps([json.loads(line) for line in lines])
                assert row["user_text"] in rows_of_turn
                assert row["assistant_text"] in rows_of_turn
            assert len({row["session_id"] for row in rows}) == 2


def test_a_folder_and_a_glob_lead_to_the_sessions_of_a_database(tmp_path: Path) -> None:
    path = opencode(tmp_path / "agent" / "opencode.db", 2)
    expected = parsing.expand([path]).archives
    for given in (path.parent, path.parent / "open*.db", path.parent / "**" / "*", expected[0]):
        assert set(parsing.expand([given]).archives) <= set(expected)
        assert parsing.expand([path, given]).archives == expected


def test_only_changed_sessions_are_read_again_and_deleted_ones_keep_their_turns(
    tmp_path: Path, lake: Lake
) -> None:
    path = opencode(tmp_path / "opencode.db", 3)
    parse(lake, path)
    assert outcomes(parse(lake, path)) == ["unchanged"] * 3
    edit = "update part set data = ?, time_updated = time_updated + 1 where id = ?"
    text = json.dumps({"type": "text", "text": "Another answer"})
    write(path, [(edit, (text, "prt_2_1_0"))])
    found = parsing.expand([path]).archives
    report = run(lake, *found)
    assert outcomes(report) == ["unchanged", "changed", "unchanged"]
    assert "Another answer" in "".join(turns(lake)["assistant_text"])
    write(path, [("delete from message where session_id = 'ses_3'", ())])
    assert outcomes(parse(lake, path)) == ["unchanged"] * 2
    assert prompts(lake) == ["Prompt 1", "Prompt 2", "Prompt 3"]
    (gone,) = run(lake, found[2]).archives
    assert gone.problem is not None
    assert gone.problem.reason is SkipReason.MISSING


def test_the_rows_of_version_2_replace_those_from_which_they_were_migrated(
    tmp_path: Path, lake: Lake
) -> None:
    path = opencode(tmp_path / "opencode.db", 2)
    opencode_2(path, 1)
    parse(lake, path)
    assert prompts(lake) == ["Prompt 1", "Prompt 2"]
    assert turns(lake)["app_version"].to_list() == ["2.0.1", "1.2.0"]


def test_what_an_agent_has_committed_is_read_while_it_writes(
    tmp_path: Path, lake: Lake, writer: sqlite3.Connection
) -> None:
    before = sorted(tmp_path.glob("opencode.db*"))
    parse(lake, tmp_path / "opencode.db")
    assert prompts(lake) == ["In the log"]
    assert sorted(tmp_path.glob("opencode.db*")) == before
    writer.execute("commit")
    writer.execute("update part set time_updated = 1 + time_updated")
    parse(lake, tmp_path / "opencode.db")
    assert prompts(lake) == ["Not committed"]


def test_a_copy_is_read_with_its_log_and_without_and_stays_as_it_is(
    tmp_path: Path, lake: Lake, writer: sqlite3.Connection
) -> None:
    for name, suffixes, expected in (
        ("with", ("", "-wal"), "In the log"),
        ("whole", ("", "-wal", "-shm"), "In the log"),
        ("without", ("",), "Prompt 1"),
    ):
        copy = tmp_path / name
        copy.mkdir()
        for suffix in suffixes:
            shutil.copy(f"{tmp_path}/opencode.db{suffix}", copy)
        before = {path: path.read_bytes() for path in copy.iterdir()}
        copy.chmod(0o500)
        parse(lake, copy)
        assert {path: path.read_bytes() for path in copy.iterdir()} == before
        copy.chmod(0o700)
        assert turns(lake).filter(pl.col("archive").str.contains(f"/{name}/"))[
            "user_text"
        ].to_list() == [expected]
    assert writer.in_transaction


def test_a_locked_or_damaged_database_is_reported_and_the_others_are_read(
    tmp_path: Path, lake: Lake
) -> None:
    folder = tmp_path / "agents"
    opencode(folder / "read" / "opencode.db")
    damaged = opencode(folder / "damaged" / "opencode.db", 50)
    data = damaged.read_bytes()
    damaged.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    locked = opencode(folder / "locked" / "opencode.db")
    with closing(sqlite3.connect(locked, isolation_level=None)) as other:
        other.execute("begin exclusive")
        with SessionDatabases(timeout=0) as databases, pytest.raises(BadArchive) as error:
            databases.sessions(locked)
        assert error.value.reason is SkipReason.UNREADABLE
        found = parsing.expand([folder / "damaged", folder / "read"])
    assert [problem.reason for problem in found.problems] == [SkipReason.CORRUPT]
    assert outcomes(run(lake, *found.archives)) == ["new"]


def test_a_row_that_is_damaged_loses_no_other_row(tmp_path: Path, lake: Lake) -> None:
    path = opencode(tmp_path / "opencode.db", 1, parts=3)
    damage = "update part set data = ? where id = ?"
    write(path, [(damage, ('{"type": "text", "text": "cut', "prt_1_1_1"))])
    write(path, [(damage, (b'{"type":"text",\n"text":"\xff bytes"}', "prt_1_1_2"))])
    report = parse(lake, path)
    assert counts_every_line(report)
    assert report.read.skipped[SkipReason.INVALID_JSON] == 1
    (answer,) = turns(lake)["assistant_text"]
    assert "Answer 0" in answer
    assert "\ufffd bytes" in answer


def test_a_damaged_conversation_of_kiro_is_a_row_that_is_not_read(
    tmp_path: Path, lake: Lake
) -> None:
    path = kiro(tmp_path / "data.sqlite3", 2)
    write(path, [("update conversations_v2 set value = substr(value, 1, 40)", ())])
    report = parse(lake, path)
    assert outcomes(report) == ["new", "new"]
    assert report.read.skipped[SkipReason.INVALID_JSON] == 1
    assert counts_every_line(report)


def test_a_damaged_chat_of_cursor_is_a_row_that_is_not_read_and_its_bubbles_are_counted(
    tmp_path: Path, lake: Lake
) -> None:
    path = cursor(tmp_path / "state.vscdb", 2)
    damage = "update cursorDiskKV set value = substr(value, 1, 40) where key like 'composer%1'"
    write(path, [(damage, ())])
    report = parse(lake, path)
    assert outcomes(report) == ["new", "new"]
    skipped = report.read.skipped
    assert (skipped[SkipReason.INVALID_JSON], skipped[SkipReason.ORPHAN]) == (1, 5)
    assert counts_every_line(report)
    assert turns(lake)["user_text"].to_list() == ["Prompt 2"]


def test_a_session_that_hermes_delegated_is_no_turn(tmp_path: Path, lake: Lake) -> None:
    path = hermes(tmp_path / "state.db", 3)
    update = "update sessions set model_config = ? where id = ?"
    write(path, [(update, ('{"_delegate_from": "20260302_1"}', "20260302_2"))])
    write(path, [(update, ("{cut", "20260302_3"))])
    read = parse(lake, path).read
    assert (read.turns, read.sidechain_rows) == (2, 4)


def test_a_thread_of_zed_has_the_time_of_its_last_change_not_that_of_the_database(
    tmp_path: Path,
) -> None:
    path = zed(tmp_path / "threads.db", 2)
    write(path, [("update threads set updated_at = 'unknown' where id = 'z2'", ())])
    with SessionDatabases() as databases:
        states = databases.states(path)
    assert states["z1"].mtime_ns == (AT + 1000) * 1_000_000
    assert states["z2"].mtime_ns == path.stat().st_mtime_ns


def test_parts_that_name_no_session_belong_to_that_of_their_message(
    tmp_path: Path, lake: Lake
) -> None:
    path = opencode(tmp_path / "opencode.db", 2)
    write(path, [], "drop index part_session_idx; alter table part drop column session_id")
    assert outcomes(parse(lake, path)) == ["new", "new"]
    assert prompts(lake) == ["Prompt 1", "Prompt 2"]
    assert outcomes(parse(lake, path)) == ["unchanged", "unchanged"]
    write(path, [("delete from part where id = 'prt_2_1_0'", ())])
    assert outcomes(parse(lake, path)) == ["unchanged", "changed"]


def test_a_database_of_another_program_or_layout_is_counted(tmp_path: Path) -> None:
    write(tmp_path / "opencode.db", [], "create table session (id text)")
    write(tmp_path / "shop.sqlite", [], "create table books (id text)")
    found = parsing.expand([tmp_path])
    assert found.archives == ()
    assert found.other_files == {SkipReason.DATABASE: 2}
    empty = opencode(tmp_path / "empty.db", 0)
    (problem,) = parsing.expand([empty]).problems
    assert problem.reason is SkipReason.EMPTY
