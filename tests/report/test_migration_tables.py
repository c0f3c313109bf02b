"""The tables of a migration: each count below its heading, and nothing truncated in 80 columns."""

from io import StringIO

import pytest
from rich.console import Console, RenderableType

from tests.builders import START
from tests.migration.samples import archived, episode
from turnetl.base.ids import sessions_group, turns_group
from turnetl.base.model import GroupId
from turnetl.graph.migrations import MigrationPhase, TurnMigration
from turnetl.ingestion.report import IngestReport
from turnetl.migration.classify import ClassifiedEpisode, EpisodeClass
from turnetl.migration.moves import MigrationChange, MigrationCommand, Moves, NewEpisode
from turnetl.migration.report import GroupMigration, MigrationPlan, MigrationRun
from turnetl.report import migration_change, migration_plan, migration_run

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


def printed(view: RenderableType) -> str:
    output = StringIO()
    Console(file=output, width=80, color_system=None).print(view)
    return output.getvalue()


def test_each_count_of_a_plan_is_below_its_heading() -> None:
    header, _, row, *_ = (
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in migration_plan.markdown(plan()).splitlines()
    )
    found = dict(zip(header, row, strict=True))
    assert {kind: found[kind.replace("_", " ")] for kind in COUNTS} == {
        kind: f"{count:,}" for kind, count in COUNTS.items()
    }
    assert (found["sessions"], found["turns"], found["facts"]) == ("1", "3", "654,321")


def test_a_plan_is_printed_whole() -> None:
    text = printed(migration_plan.table(plan()))
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
    text = printed(migration_run.table(report))
    assert "…" not in text
    assert text.count("12,345") == 3
