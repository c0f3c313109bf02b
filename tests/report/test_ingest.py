"""What an ingest and `status` say of models, of what was left out, and of why groups stopped."""

from dataclasses import replace

import pytest
from rich.console import Console, RenderableType

from turnetl.ingest.reasons import PendingReason
from turnetl.ingest.report import GroupCounts, GroupReport, IngestReport
from turnetl.model import GroupId, TurnId, Usage
from turnetl.report import costs, ingest, status

EXTRACT = Usage(
    3, prompt_tokens=1200, completion_tokens=300, cost=0.0125, cached_tokens=800, seconds=2.5
)
RESOLVE = Usage(1, prompt_tokens=100, completion_tokens=20, cost=2.0, seconds=0.5)
UNPRICED = replace(RESOLVE, cost=None)


def group(name: str, **fields: object) -> GroupReport:
    whole = GroupReport(GroupId(name), turns=5, committed=2, counts=GroupCounts(2, 3, 4))
    return replace(whole, **fields)  # type: ignore[arg-type]  # fields by name


def report(*groups: GroupReport, **fields: object) -> IngestReport:
    whole = IngestReport("run-1", groups or (group("shop"),))
    return replace(whole, **fields)  # type: ignore[arg-type]  # fields by name


ASKED = report(usage_by_prompt={"extract": EXTRACT, "resolve": RESOLVE}, journal_hits=7)


def shown(what: RenderableType) -> str:
    console = Console(width=160)
    with console.capture() as captured:
        console.print(what)
    return captured.get()


def row(text: str, name: str) -> list[str]:
    """Return the words of the row that begins with the name."""
    rows = [line.replace("│", " ").split() for line in text.splitlines()]
    return next(words for words in rows if words and words[0] == name)


def test_calls_tokens_seconds_and_cost_are_shown_by_prompt_and_in_all() -> None:
    text = shown(ingest.table(ASKED))
    assert row(text, "extract") == ["extract", "3", "1,200", "800", "300", "2.5", "$0.0125"]
    assert row(text, "all") == ["all", "4", "1,300", "800", "320", "3.0", "$2.01"]
    assert "2 turns committed; 4 calls, 1,620 tokens, 7 answers from the journal" in text


def test_json_says_what_was_paid_now_and_what_came_from_the_journal() -> None:
    said = ingest.as_json(ASKED)["model"]
    assert (said["calls"], said["cached_tokens"], said["seconds"]) == (4, 800, 3.0)
    assert (said["cost"], said["journaled"]) == (2.0125, 7)
    assert said["by_prompt"] == {
        "extract": costs.as_json(EXTRACT),
        "resolve": costs.as_json(RESOLVE),
    }


def test_a_run_that_asked_no_model_says_nothing_of_models() -> None:
    text = shown(ingest.table(report()))
    assert "prompt" not in text
    assert "cost" not in text
    assert ingest.as_json(report())["model"]["calls"] == 0
    assert ingest.sentences(report()) == []


def test_answers_from_the_journal_alone_are_told_of_and_cost_nothing() -> None:
    assert "7 answers from the journal, cost: $0.00" in shown(ingest.table(report(journal_hits=7)))


def test_a_cost_that_is_not_known_is_said_in_words_and_is_no_number() -> None:
    unpriced = report(usage_by_prompt={"extract": EXTRACT, "resolve": UNPRICED})
    text = shown(ingest.table(unpriced))
    assert row(text, "extract")[-1] == "$0.0125"
    assert row(text, "resolve")[-1] == row(text, "all")[-1] == "unknown"
    said = ingest.as_json(unpriced)["model"]
    assert (said["cost"], said["prompt_tokens"]) == (None, 1300)
    assert any("has no price" in sentence for sentence in ingest.sentences(unpriced))


def test_what_was_left_out_is_counted_by_reason() -> None:
    left_out = {"temporary path": 12, "uuid": 1}
    of = report(group("shop", discarded=left_out))
    assert "(left out of turns: 12 temporary path, 1 uuid)" in shown(ingest.table(of))
    assert ingest.as_json(of)["groups"][0]["discarded"] == left_out


def test_turns_that_retired_many_facts_are_named_those_with_most_first() -> None:
    retiring = {TurnId(f"t{number}"): 10 + number for number in range(5)}
    of = report(group("shop", invalidations=retiring))
    first, *_, last = ingest.sentences(of)
    assert first.startswith("group `shop`: turn t4 retired 14 facts")
    assert last == "and 2 more of `shop`; --json names them all"
    assert ingest.as_json(of)["groups"][0]["invalidating"] == retiring


def test_groups_that_stopped_for_one_reason_are_told_of_together() -> None:
    stops = [group(name, error="the budget is used up", exit_code=4) for name in "abcde"]
    other = group("f", error="group `f` is held by another run", exit_code=1)
    assert ingest.sentences(report(*stops, other)) == [
        "groups `a`, `b`, `c` and 2 more: the budget is used up",
        "group `f` is held by another run",
    ]
    assert status.sentences(report(stops[0])) == ["group `a`: the budget is used up"]


@pytest.mark.parametrize(
    ("codes", "code"), [((0, 4), 4), ((4, 4), 4), ((1, 4), 1), ((0, 0), 0), ((0, 2), 2)]
)
def test_a_failure_comes_before_a_budget_that_is_used_up_and_that_before_success(
    codes: tuple[int, ...], code: int
) -> None:
    groups = [group(f"g{at}", exit_code=one) for at, one in enumerate(codes)]
    assert ingest.exit_code(report(*groups)) == code


def test_turns_that_were_set_aside_do_not_hide_that_the_budget_is_used_up() -> None:
    aside = group("a", quarantined=1)
    assert ingest.exit_code(report(aside)) == 3
    assert ingest.exit_code(report(aside, group("b", exit_code=4))) == 4
    assert ingest.is_failure(4)


def test_status_shows_what_each_group_cost_so_far() -> None:
    of = report(
        group("free", usage=Usage()),
        group("shop", usage=EXTRACT, pending_reasons={PendingReason.READY: 1}),
        group("toys", usage=UNPRICED),
    )
    text = shown(status.table(of))
    assert "(cost so far: $0.0125, 1,500 tokens)" in text
    assert "(cost so far: unknown, 120 tokens)" in text
    assert text.count("so far") == 2
    said = status.all_json(of)
    assert [one["usage"]["cost"] for one in said["groups"]] == [0.0, 0.0125, None]
    assert said["usage"]["prompt_tokens"] == 1300
    assert said["usage"]["cost"] is None


def test_status_of_groups_that_cost_nothing_says_nothing_of_cost() -> None:
    text = shown(status.table(report(group("shop", usage=Usage()))))
    assert "cost" not in text
    assert "tokens" not in text
