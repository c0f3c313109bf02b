"""Two `migrate` commands at the same time: neither overwrites the state of the other."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from tests.cli.command import SAMPLES, turnetl_process
from tests.legacy.migrating import dumped, fill, migrate, migrated, of_readers, states_of, turnetl
from tests.legacy.sessions import LegacySession, legacy_sessions
from turnetl.clock import now
from turnetl.graph.migrations import MigrationPhase
from turnetl.migration.change_report import MigrationCommand
from turnetl.pipeline.migrate_cutover import execute_change
from turnetl.pipeline.migrate_plan import MigrationOptions
from turnetl.pipeline.migrate_run import run_migration
from turnetl.pipeline.migrate_steps import ChangeOptions
from turnetl.progress import ProgressUpdate
from turnetl.run_options import RunOptions
from turnetl.settings import Settings, load_settings

# Another process cannot open an embedded graph that a writer has open.
pytestmark = pytest.mark.neo4j


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
