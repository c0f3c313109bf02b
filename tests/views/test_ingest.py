"""The reports of `ingest` and `status`: models, discarded entities, and why groups stopped."""

from dataclasses import asdict, replace
from typing import Any

import pytest

from tests.printed import printed as printed_view
from turnetl.base.exit_code import is_failure
from turnetl.base.model import GroupId, TurnId, Usage
from turnetl.base.results import plain
from turnetl.extraction.port import DiscardReason
from turnetl.ingestion.ingest_report import (
    GroupCounts,
    GroupReport,
    IngestReport,
    Invalidation,
    exit_code_of,
)
from turnetl.ingestion.reasons import PendingReason
from turnetl.status_report import GroupStatus, StatusReport
from turnetl.views import ingest, status
from turnetl.views.nodes import View

EXTRACT = Usage(
    3, prompt_tokens=1200, completion_tokens=300, cost=0.0125, cached_tokens=800, seconds=2.5
)
RESOLVE = Usage(1, prompt_tokens=100, completion_tokens=20, cost=2.0, seconds=0.5)
UNPRICED = replace(RESOLVE, cost=None)


def group(name: str, **fields: object) -> GroupReport:
    default = GroupReport(GroupId(name), turns=5, committed=2, counts=GroupCounts(2, 3, 4))
    return replace(default, **fields)  # type: ignore[arg-type]  # fields by name


def report(*groups: GroupReport, **fields: object) -> IngestReport:
    default = IngestReport("run-1", groups or (group("shop"),))
    return replace(default, **fields)  # type: ignore[arg-type]  # fields by name


def state(*groups: GroupReport) -> StatusReport:
    return StatusReport(tuple(map(GroupStatus.of, groups)))


WITH_MODEL = report(usage_by_prompt={"extract": EXTRACT, "resolve": RESOLVE}, journal_hits=7)


def as_json(ingested: IngestReport) -> dict[str, Any]:
    values: dict[str, Any] = plain(ingested)
    return values


def printed(view: View) -> str:
    return printed_view(view, 160)


def lines(view: View, width: int) -> list[str]:
    return printed_view(view, width).splitlines()


def row(text: str, name: str) -> list[str]:
    """Return the words of the row that begins with the name."""
    rows = [line.replace("│", " ").split() for line in text.splitlines()]
    return next(words for words in rows if words and words[0] == name)


def test_calls_tokens_seconds_and_cost_are_printed_per_prompt_and_in_total() -> None:
    text = printed(ingest.view(WITH_MODEL))
    assert row(text, "extract") == ["extract", "3", "1,200", "800", "300", "2.5", "$0.0125"]
    assert row(text, "all") == ["all", "4", "1,300", "800", "320", "3.0", "$2.01"]
    assert "2 turns committed; 4 calls, 1,620 tokens, 62% of the prompt tokens from the" in text
    assert "provider's cache, 7 responses from the journal, cost: $2.01" in text


def test_nothing_is_said_of_a_cache_that_no_provider_reported() -> None:
    text = printed(ingest.view(report(usage_by_prompt={"resolve": RESOLVE})))
    assert "1 call, 120 tokens, cost: $2.00" in text
    assert "provider's cache" not in text


def test_json_has_what_this_run_used_and_the_journal_hits() -> None:
    usage = as_json(WITH_MODEL)["usage"]
    assert (usage["calls"], usage["cached_tokens"], usage["seconds"]) == (4, 800, 3.0)
    assert (usage["cost"], usage["journal_hits"]) == (2.0125, 7)
    assert usage["by_prompt"] == {"extract": plain(EXTRACT), "resolve": plain(RESOLVE)}


def test_a_run_without_a_model_prints_nothing_about_models() -> None:
    text = printed(ingest.view(report()))
    assert "prompt" not in text
    assert "cost" not in text
    assert as_json(report())["usage"]["calls"] == 0
    assert ingest.messages(report()) == []


def test_responses_from_the_journal_alone_are_printed_and_cost_nothing() -> None:
    text = printed(ingest.view(report(journal_hits=7)))
    assert "7 responses from the journal, cost: $0.00" in text


def test_an_unknown_cost_is_a_word_in_the_table_and_null_in_json() -> None:
    unpriced = report(usage_by_prompt={"extract": EXTRACT, "resolve": UNPRICED})
    text = printed(ingest.view(unpriced))
    assert row(text, "extract")[-1] == "$0.0125"
    assert row(text, "resolve")[-1] == row(text, "all")[-1] == "unknown"
    usage = as_json(unpriced)["usage"]
    assert (usage["cost"], usage["prompt_tokens"]) == (None, 1300)
    assert any("has no price" in message for message in ingest.messages(unpriced))


def test_discarded_entities_and_facts_are_counted_by_reason() -> None:
    discarded = {DiscardReason.TEMPORARY_PATH: 12, DiscardReason.UUID: 1}
    ingested = report(group("shop", discarded=discarded))
    assert "(discarded from turns: 12 temporary_path, 1 uuid)" in printed(ingest.view(ingested))
    assert as_json(ingested)["groups"][0]["discarded"] == discarded


def test_turns_that_invalidated_many_facts_are_listed_those_with_most_first() -> None:
    invalidations = tuple(
        Invalidation(TurnId(f"t{number}"), "/a.jsonl", number + 1, 10 + number)
        for number in range(5)
    )
    ingested = report(group("shop", invalidations=invalidations))
    first, *_, last = ingest.messages(ingested)
    assert first.startswith("turn /a.jsonl:5 of group `shop` invalidated 14 facts")
    assert last == "and 2 more turns of `shop`; --json lists all"
    listed = as_json(ingested)["groups"][0]["invalidations"]
    assert listed == [asdict(turn) for turn in invalidations]


def test_groups_that_stopped_for_the_same_reason_share_a_message() -> None:
    stopped = [group(name, error="the budget is used up", exit_code=4) for name in "abcde"]
    other = group("f", error="group `f` is held by another run", exit_code=1)
    assert ingest.messages(report(*stopped, other)) == [
        "groups `a`, `b`, `c` and 2 more: the budget is used up",
        "group `f` is held by another run",
    ]
    assert status.messages(state(stopped[0])) == ["group `a`: the budget is used up"]


@pytest.mark.parametrize(
    ("codes", "code"), [((0, 4), 4), ((4, 4), 4), ((1, 4), 1), ((0, 0), 0), ((0, 2), 2)]
)
def test_a_failure_wins_over_a_used_up_budget_and_that_over_success(
    codes: tuple[int, ...], code: int
) -> None:
    groups = [group(f"g{number}", exit_code=code) for number, code in enumerate(codes)]
    assert exit_code_of(report(*groups)) == code


def test_quarantined_turns_do_not_hide_that_the_budget_is_used_up() -> None:
    quarantined = group("a", quarantined=1)
    assert exit_code_of(report(quarantined)) == 3
    assert exit_code_of(report(quarantined, group("b", exit_code=4))) == 4
    assert is_failure(4)


def test_status_prints_what_the_turns_of_each_group_cost() -> None:
    groups = state(
        group("free", usage=Usage()),
        group("shop", usage=EXTRACT, pending_reasons={PendingReason.READY: 1}),
        group("toys", usage=UNPRICED),
    )
    text = printed(status.view(groups, is_verbose=True))
    assert "(cost: $0.0125, 1,500 tokens)" in text
    assert "(cost: unknown, 120 tokens)" in text
    assert text.count("(cost:") == 2
    values = plain(groups)
    assert [values["usage"]["cost"] for values in values["groups"]] == [0.0, 0.0125, None]
    assert values["usage"]["prompt_tokens"] == 1300
    assert values["usage"]["cost"] is None


def test_status_of_groups_without_cost_prints_no_cost() -> None:
    text = printed(status.view(state(group("shop", usage=Usage()))))
    assert "cost" not in text
    assert "tokens" not in text


@pytest.mark.parametrize("width", [80, 1_000])
def test_a_long_group_name_is_never_truncated(width: int) -> None:
    name = "somebody_with_a_long_name_" * 5
    one = group(name, noise={"acknowledgement": 12})
    cells = [line.split("│")[1] for line in lines(ingest.view(report(one)), width) if "│" in line]
    assert "".join(map(str.strip, cells)) == name
    found = lines(status.view(state(one)), width)
    first_words = (line.split()[0] for line in found if line.split())
    assert name in "".join(first_words)


def test_status_breaks_no_name_and_no_number_in_80_columns() -> None:
    names = [f"somebody_with_a_long_project_{n}" for n in range(3)]
    counts = GroupCounts(123_456, 234_567, 345_678)
    noise = {"an_own_rule_with_a_long_name": 123_456}
    groups = [group(name, turns=123_456, noise=noise, counts=counts) for name in names]
    text = lines(status.view(state(*groups), is_verbose=True), 80)
    assert max(map(len, text)) <= 80
    for name in names:
        assert [line.split()[-2:] for line in text if line.split()[:1] == [name]] == [
            ["234,567", "345,678"]
        ]
    assert sum("an_own_rule_with_a_long_name" in line for line in text) == 3


def test_one_turn_is_no_plural() -> None:
    pending = {PendingReason.READY: 1}
    ready = group("shop", turns=1, committed=0, pending_reasons=pending)
    assert "1 turn committed" in printed(ingest.view(report(group("shop", turns=1, committed=1))))
    assert "1 turn is ready for `turnetl ingest`" in printed(ingest.view(report(ready)))
