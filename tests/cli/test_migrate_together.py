"""Two `migrate` commands at the same time: neither overwrites the state of the other."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from tests.cli.command import SAMPLES, CommandResult, turnetl_process
from tests.graph.committing import acquire, opened
from tests.graph.sample_changes import PROFILE, TTL
from tests.legacy.migrating import (
    GROUP,
    dumped,
    fill,
    migrate,
    migrated,
    of_readers,
    states_of,
    turnetl,
)
from tests.legacy.sessions import LegacySession, legacy_sessions
from turnetl.base.clock import now
from turnetl.base.errors import GraphUnusable
from turnetl.base.progress import Progress, ProgressUpdate
from turnetl.graph.migrations import MigrationPhase
from turnetl.ingestion.held_lease import held_lease
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.migration.cutover import ChangeOptions, execute_change
from turnetl.migration.migration_report import MigrationRun
from turnetl.migration.moves import MigrationCommand
from turnetl.migration.plan import MigrationOptions
from turnetl.migration.run_migration import run_migration
from turnetl.pipeline.run_options import RunOptions
from turnetl.settings import Settings, load_settings

# Another process cannot open an embedded graph that a writer has open.
pytestmark = pytest.mark.neo4j
DISCARD = ("rollback", "--discard")


@pytest.fixture(scope="module")
def sessions() -> tuple[LegacySession, ...]:
    return legacy_sessions(Path(SAMPLES))


def settings_of(folder: Path, url: str) -> Settings:
    return load_settings(None, graph=url, lake=folder / "lake", extractor="structural")


def once(work: Callable[[], object]) -> Callable[[], None]:
    """Return a function whose first call does the work."""
    left = [work]

    def call() -> None:
        if left:
            left.pop()()

    return call


def in_another_process(folder: Path, url: str, *arguments: str) -> None:
    done = turnetl_process("migrate", *arguments, "--yes", "--graph", url, folder=folder)
    assert done.exit_code == 0, done.stderr


def test_a_cutover_holds_for_a_run_over_several_groups_that_began_before_it(
    neo4j_url: str, tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    fill(neo4j_url, sessions[:2], group="first")
    fill(neo4j_url, sessions[2:4], group="second")
    only = ("--group", "second")
    assert turnetl(tmp_path, neo4j_url, "migrate", "run", SAMPLES, *only).exit_code == 0
    cut_over = once(lambda: in_another_process(tmp_path, neo4j_url, "cutover", *only, "--accept"))

    def progress(update: ProgressUpdate) -> None:
        if update.stage == "ingest":
            cut_over()

    report = asyncio.run(
        run_migration(
            [str(SAMPLES)],
            settings_of(tmp_path, neo4j_url),
            MigrationOptions(),
            RunOptions(),
            now,
            progress=progress,
        )
    )
    assert [one.group_id for one in report.migrations] == ["first"]
    [refused] = report.refused
    assert refused.group == "second"
    assert "is cut over" in refused.reason
    assert {one.group_id: one.phase for one in states_of(neo4j_url)} == {
        "first": MigrationPhase.READY,
        "second": MigrationPhase.CUT_OVER,
    }
    assert migrate(tmp_path, neo4j_url, "rollback", *only).exit_code == 0


def test_a_command_decides_by_the_state_after_another_one_ended(
    neo4j_url: str, tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    fill(neo4j_url, sessions[:2])
    before = dumped(neo4j_url)
    migrated(tmp_path, neo4j_url)
    assert migrate(tmp_path, neo4j_url, "cutover", "--accept").exit_code == 0
    change = once(lambda: in_another_process(tmp_path, neo4j_url, "rollback"))

    def clock() -> datetime:
        # A lease asks for the time when it is taken: the state was read before.
        change()
        return now()

    finish = ChangeOptions(MigrationCommand.FINISH)
    report = asyncio.run(execute_change(settings_of(tmp_path, neo4j_url), finish, clock))
    assert "is not cut over" in str(report.error)
    assert [one.phase for one in states_of(neo4j_url)] == [MigrationPhase.READY]
    assert of_readers(neo4j_url) == before


def after_the_plan(work: Callable[[], object]) -> Callable[[ProgressUpdate], None]:
    """Return a `Progress` that does the work while a run parses the archives of its first group."""
    stages: list[str] = []
    call = once(work)

    def progress(update: ProgressUpdate) -> None:
        if update.stage == "parse" and "classify" in stages:
            call()
        stages.append(update.stage)

    return progress


def run_of(folder: Path, url: str, progress: Progress) -> MigrationRun:
    settings, options = settings_of(folder, url), MigrationOptions()
    archives = [str(SAMPLES)]
    return asyncio.run(
        run_migration(archives, settings, options, RunOptions(), now, progress=progress)
    )


def test_a_run_adds_no_turn_to_a_migration_that_another_command_ended_meanwhile(
    neo4j_url: str, tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    fill(neo4j_url, sessions[:2])
    before = dumped(neo4j_url)
    discard = after_the_plan(lambda: in_another_process(tmp_path, neo4j_url, *DISCARD))
    report = run_of(tmp_path, neo4j_url, discard)
    [group] = report.ingested.groups
    assert "another command changed its migration, which is finished" in str(group.error)
    assert dumped(neo4j_url) == before
    assert migrated(tmp_path, neo4j_url)["turns"]


def test_a_comparison_during_a_run_does_not_keep_it_from_its_end(
    neo4j_url: str, tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    fill(neo4j_url, sessions[:2])

    def compare() -> None:
        done = turnetl_process("migrate", "compare", "--graph", neo4j_url, folder=tmp_path)
        assert done.exit_code in (0, 3), done.stderr

    report = run_of(tmp_path, neo4j_url, after_the_plan(compare))
    assert [one.phase for one in report.migrations] == [MigrationPhase.READY]
    [state] = states_of(neo4j_url)
    assert (state.phase, bool(state.verdict)) == (MigrationPhase.READY, True)


def test_a_run_does_not_begin_a_group_that_another_command_filled_meanwhile(
    neo4j_url: str, tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    fill(neo4j_url, sessions[:2], group="first")
    fill(neo4j_url, sessions[2:4], group="second")

    def backfill() -> None:
        options = ("--group", "second", "--graph", neo4j_url)
        done = turnetl_process("backfill", SAMPLES, *options, folder=tmp_path)
        assert done.exit_code == 0, done.stderr

    report = run_of(tmp_path, neo4j_url, after_the_plan(backfill))
    assert [one.group_id for one in report.migrations] == ["first"]
    [refused] = report.refused
    assert "group `second` holds turns of turnetl already" in refused.reason
    assert [one.group_id for one in states_of(neo4j_url)] == ["first"]


def test_a_run_does_not_begin_while_another_command_is_about_to_write_the_group(
    neo4j_url: str, tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    fill(neo4j_url, sessions[:2])

    async def run_meanwhile() -> CommandResult:
        async with opened(neo4j_url) as store:
            lease = await acquire(store, group=GROUP, now=now())
            arguments = ("migrate", "run", str(SAMPLES), "--graph", neo4j_url)
            result = await asyncio.to_thread(turnetl_process, *arguments, folder=tmp_path)
            await store.release(lease)
        return result

    refused = asyncio.run(run_meanwhile())
    assert (refused.exit_code, "is being written by" in refused.messages[0]) == (1, True)
    assert states_of(neo4j_url) == []
    assert migrated(tmp_path, neo4j_url)["turns"]


def test_no_lease_is_granted_for_a_migration_that_began_just_before_it(
    neo4j_url: str, tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    fill(neo4j_url, sessions[:2])
    arguments = ("migrate", "run", SAMPLES, "--graph", neo4j_url)
    begin = once(lambda: turnetl_process(*arguments, folder=tmp_path))

    def clock() -> datetime:
        begin()
        return now()

    async def write() -> None:
        async with (
            opened(neo4j_url) as store,
            held_lease(store, GROUP, PROFILE, IngestRun("other", "host:1", clock, TTL)),
        ):
            pytest.fail("another writer got the lease")

    with pytest.raises(GraphUnusable, match="is being migrated"):
        asyncio.run(write())
