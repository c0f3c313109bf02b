"""The message of a flow that ended well counts its turns in a whole sentence."""

import pytest

from flows.ingest_archives import backfill_state
from flows.migrate import summary
from turnetl.backfill_report import BackfillReport
from turnetl.base.model import GroupId
from turnetl.episodes import FilterReport
from turnetl.ingestion.ingest_report import GroupReport, IngestReport
from turnetl.migration.migration_report import EstimatedMigration, MigrationPlan, MigrationRun
from turnetl.migration.stages import MigrationOutcome
from turnetl.parsing import ParseReport


def ingested(turns: int) -> IngestReport:
    group = GroupReport(GroupId("shop"), turns + 2, committed=turns, already_committed=2)
    return IngestReport("run", (group,))


@pytest.mark.parametrize(
    ("turns", "text"), [(1, "1 turn committed"), (2_000, "2,000 turns committed")]
)
def test_one_turn_is_no_plural(turns: int, text: str) -> None:
    report = BackfillReport(ParseReport(is_shard=True), FilterReport(()), ingested(turns))
    assert backfill_state(report).message == f"{text}, 2 before"
    plan = MigrationPlan((), 0, None)
    run = MigrationRun(plan, (), (), ingested(turns))
    outcome = MigrationOutcome(EstimatedMigration(plan, None), run)
    assert summary(outcome) == f"{text}; 0 of 0 groups may be cut over; none was"
