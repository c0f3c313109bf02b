"""The table of runs."""

from datetime import UTC, datetime

from tests.printed import printed
from turnetl.base.graph_model import TurnRun
from turnetl.base.model import GroupId, Usage
from turnetl.ingestion.run_report import RecordedRun, RunsReport, RunState
from turnetl.views import runs

MODEL = "openai/gpt-5-mini-2026-01-01"
GROUPS = ("bookshop", "claude_code_viewer", "shop_frontend_checkout_service")
AT = datetime(2026, 3, 2, 9, tzinfo=UTC)


def recorded(*groups: str, model: str | None) -> RecordedRun:
    run = TurnRun(
        *("0123456789abcdef", "host:1:run", "kim", "host", (), ()),
        groups=tuple(map(GroupId, groups)),
        extractor="hybrid" if model else "structural",
        model=model,
        recipes=(),
        started_at=AT,
        usage=Usage(10, cost=123.45),
        committed=12_345,
        entities_new=123_456,
        facts_new=234_567,
    )
    return RecordedRun(run, RunState.INTERRUPTED, 5, None)


def test_no_name_and_no_number_is_broken_in_80_columns() -> None:
    report = RunsReport((recorded(*GROUPS, model=MODEL),), 1)
    text = printed(runs.view(report))
    assert max(map(len, text.splitlines())) <= 80
    words = text.replace(",", "").replace(":", "").split()
    assert {MODEL, *GROUPS, "12345", "123456", "234567", "$123.45", "interrupted"} < {*words}


def test_a_run_without_groups_has_its_extractor() -> None:
    text = printed(runs.view(RunsReport((recorded(model=None),), 1)))
    assert "  structural" in [line.rstrip() for line in text.splitlines()]
