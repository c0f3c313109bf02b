"""The tables of a migration: each count below its heading, and nothing truncated in 80 columns."""

import pytest

from tests.builders import START
from tests.migration.samples import archived, episode
from tests.printed import printed
from turnetl.base.ids import sessions_group, turns_group
from turnetl.base.model import GroupId
from turnetl.graph.migrations import MigrationPhase, TurnMigration
from turnetl.ingestion.ingest_report import IngestReport
from turnetl.migration.classify import ClassifiedEpisode, EpisodeClass
from turnetl.migration.migration_report import (
    EstimatedMigration,
    GroupMigration,
    MigrationPlan,
    MigrationRun,
)
from turnetl.migration.moves import MigrationChange, MigrationCommand, Moves, NewEpisode
from turnetl.views import migration, migration_change
from turnetl.views.nodes import Table

GROUP = GroupId("summaries-of-the-bookshop")
COUNTS = {kind: 1_000 + number for number, kind in enumerate(EpisodeClass)}
UUIDS = tuple(f"e-{number}" for number in range(12_345))
MIGRATION = TurnMigration(
    migration_id="0a1b2c3d",
    group_id=GROUP,
    phase=MigrationPhase.CUT_OVER,
    moved=UUIDS,
    staying=UUIDS,
    sessions=(("claude_code", "s-1"),),
    started_at=START,
    updated_at=START,
    turns=12_345,
)


def plan() -> MigrationPlan:
    """Return a plan with another number of episodes of each class."""
    session = archived("s-1", "text")
    episodes = tuple(
        ClassifiedEpisode(
            episode(), kind, "", session=session if kind is EpisodeClass.MATCHED else None
        )
        for kind, count in COUNTS.items()
        for _ in range(count)
    )
    group = GroupMigration(GROUP, episodes, 123_456, 654_321, {})
    return MigrationPlan((group,), 1, None)


def planned() -> EstimatedMigration:
    return EstimatedMigration(plan(), None)


def change(command: MigrationCommand) -> MigrationChange:
    """Return a change of everything."""
    all_kinds = Moves(UUIDS, UUIDS, UUIDS, UUIDS, UUIDS)
    return MigrationChange(
        command,
        MIGRATION,
        all_kinds,
        all_kinds,
        UUIDS,
        kept=all_kinds,
        staying=UUIDS,
        new_episodes=(NewEpisode("b5e7d0f4-3c8d-4f4e-9d55-0a4d0f3f8a11", "A note"),),
    )


def test_each_count_of_a_plan_is_below_its_heading() -> None:
    tables = [node for node in migration.plan_view(planned()) if isinstance(node, Table)]
    found = {
        column.header: cell
        for table in tables
        for column, cell in zip(table.columns, *table.rows, strict=True)
    }
    assert {kind: found[kind.replace("_", " ")] for kind in COUNTS} == {
        kind: f"{count:,}" for kind, count in COUNTS.items()
    }
    assert (found["sessions"], found["turns"], found["facts"]) == ("1", "3", "654,321")


def test_a_plan_is_printed_whole() -> None:
    text = printed(migration.plan_view(planned()))
    assert "…" not in text
    for count in (*COUNTS.values(), 123_456, 654_321):
        assert f"{count:,}" in text
    for heading in ("matched", "ambiguous", "foreign", "sessions", "entities", "tokens"):
        assert heading in text


@pytest.mark.parametrize("command", MigrationCommand)
def test_a_change_is_printed_whole(command: MigrationCommand) -> None:
    for view in (migration_change.preview, migration_change.result):
        text = printed(view(change(command)))
        assert "…" not in text
        assert text.count("12,345") >= 16
        assert all(kind in text for kind in ("episodes", "entities", "facts", "communities"))
    joined = "".join(text.split())
    if command is MigrationCommand.CUTOVER:
        assert f"olddata:movesto`{sessions_group(GROUP, MIGRATION.migration_id)}`" in joined
    if command is MigrationCommand.ROLLBACK:
        assert f"turns:moveto`{turns_group(GROUP)}`" in joined


def test_a_run_is_printed_whole() -> None:
    report = MigrationRun(plan(), (MIGRATION,), (), IngestReport(None, ()))
    text = printed(migration.run_view(report))
    assert "…" not in text
    assert text.count("12,345") == 3
