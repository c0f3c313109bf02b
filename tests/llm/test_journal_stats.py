"""The report of the journal, as tables and as JSON."""

from datetime import UTC, datetime
from pathlib import Path

from tests.printed import printed
from turnetl.base.model import Usage
from turnetl.base.results import plain
from turnetl.llm.journal import JournalStats, JournalTotals, PruneResult
from turnetl.views import costs
from turnetl.views import model as report

PATH = Path("lake/journal.sqlite")
TOTALS = JournalTotals(3, Usage(4, 1_000, 200, 1.5, 300, 12.34), hits=2, saved_cost=1.0)
STATS = JournalStats(
    path=PATH,
    bytes=2_500_000,
    oldest=datetime(2026, 1, 2, tzinfo=UTC),
    newest=datetime(2026, 3, 4, tzinfo=UTC),
    by_prompt={"dedupe_nodes.nodes": TOTALS, "extract_nodes.extract_text": TOTALS},
    by_model={"openai/small": TOTALS + TOTALS},
)


def test_the_table_has_a_row_per_prompt_per_model_and_a_total() -> None:
    text = printed(report.journal_view(STATS))
    table, cost = text.split("cost:")
    assert [line.split()[0] for line in table.splitlines()] == [
        *("tokens", "prompt,", "dedupe_nodes.", "nodes", "extract_nodes.", "extract_text"),
        *("openai/small", "all", "2.5", "lake/journal.sqlite"),
    ]
    assert " ".join(cost.split()) == costs.OF_RESPONSES.removeprefix("cost: ")
    assert "$3.00" in text
    assert "2.5 MB, 2026-01-02 to 2026-03-04; hits saved $2.00" in text


def test_an_empty_journal_has_a_line_instead_of_a_table() -> None:
    assert (
        printed(report.journal_view(JournalStats(PATH))).strip()
        == "no responses in lake/journal.sqlite"
    )


def test_the_json_has_the_same_figures() -> None:
    values = plain(STATS)
    assert values | {"by_prompt": 0, "by_model": 0} == {
        "journal": "lake/journal.sqlite",
        "bytes": 2_500_000,
        "oldest": "2026-01-02T00:00:00+00:00",
        "newest": "2026-03-04T00:00:00+00:00",
        "responses": 6,
        "calls": 8,
        "prompt_tokens": 2_000,
        "cached_tokens": 600,
        "completion_tokens": 400,
        "seconds": 24.68,
        "cost": 3.0,
        "hits": 4,
        "saved_cost": 2.0,
        "by_prompt": 0,
        "by_model": 0,
    }
    assert values["by_model"]["openai/small"]["responses"] == 6
    assert set(values["by_prompt"]) == {"dedupe_nodes.nodes", "extract_nodes.extract_text"}


def test_the_json_of_an_empty_journal_has_no_times() -> None:
    values = plain(JournalStats(PATH))
    assert (values["oldest"], values["newest"], values["responses"]) == (None, None, 0)


def test_an_unknown_cost_is_null() -> None:
    unknown = JournalTotals(1, Usage(1, 1, 1, None), hits=1, saved_cost=None)
    stats = JournalStats(PATH, by_prompt={"p": unknown}, by_model={"m": unknown})
    values = plain(stats)
    assert (values["cost"], values["saved_cost"]) == (None, None)
    assert "unknown" in printed(report.journal_view(stats))


def test_pruning_is_reported_in_a_line() -> None:
    pruned = PruneResult(PATH, 1, 4_096, 1_200, dry_run=False)
    assert printed(report.pruned_view(pruned)).strip() == (
        "1 response removed, 4 kB freed, 1,200 left in lake/journal.sqlite"
    )
    estimate = PruneResult(PATH, 1_000, 9_400_000, 0, dry_run=True)
    assert " ".join(printed(report.pruned_view(estimate)).split()) == (
        "1,000 responses would be removed, about 9.4 MB freed, 0 left in lake/journal.sqlite"
    )


def test_the_json_of_pruning() -> None:
    assert plain(PruneResult(PATH, 2, 3, 4, dry_run=True)) == {
        "journal": "lake/journal.sqlite",
        "responses": 2,
        "bytes": 3,
        "remaining": 4,
        "dry_run": True,
    }
