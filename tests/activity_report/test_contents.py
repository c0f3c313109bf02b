"""Turns by project and week, tokens by name and day, noise by rule, the last turns by day."""

from datetime import date

from tests.activity_report.rows import days, row, rows, subagent, subagents
from tests.builders import GROUP, START
from turnetl.activity_report import model
from turnetl.activity_report.contents import contents
from turnetl.activity_report.pending import noise_counts
from turnetl.activity_report.turns import timeline
from turnetl.activity_report.usage import agent_usage
from turnetl.noise.rules import COPY


def test_turns_are_counted_by_project_the_largest_first() -> None:
    found = contents(
        rows(
            row("a", group_id="small"),
            row("b", session_id="s2", noise="empty", is_in_graph=False),
            row("c", started_at=START + days(7)),
        )
    )
    assert (found.turns, found.sessions, found.noise, found.in_graph) == (3, 3, 1, 2)
    assert [(one.group, one.turns, one.noise, one.in_graph) for one in found.projects.items] == [
        (GROUP, 2, 1, 1),
        ("small", 1, 0, 1),
    ]
    assert (found.first, found.last) == (START, START + days(7))


def test_the_weeks_of_a_project_are_iso_weeks_the_newest_first() -> None:
    found = contents(
        rows(row("a"), row("b", session_id="s2"), row("c", started_at=START + days(14)))
    )
    [project] = found.projects.items
    assert [(one.week, one.turns, one.sessions) for one in project.weeks.items] == [
        ("2026-W12", 1, 1),
        ("2026-W10", 2, 2),
    ]


def test_a_chart_has_a_place_for_every_week_also_without_turns() -> None:
    found = contents(rows(row("a"), row("b", started_at=START + days(21)))).by_week
    assert found is not None
    assert found.labels == ("2026-W10", "2026-W11", "2026-W12", "2026-W13")
    assert [one.values for one in found.series] == [(1, 0, 0, 1)]


def test_what_a_chart_leaves_out_is_counted() -> None:
    old = START - days(7 * model.CHART_WEEKS)
    found = contents(rows(row("a"), row("b", started_at=old), row("c", started_at=old))).by_week
    assert found is not None
    assert (len(found.labels), found.omitted) == (model.CHART_WEEKS, 2)


def test_years_of_turns_are_shown_by_month_too() -> None:
    first = START.replace(year=START.year - 3, month=12)
    found = contents(rows(row("a"), row("b", started_at=first))).by_month
    assert found is not None
    assert found.labels[:2] == ("2023-12", "2024-01")
    assert (found.labels[-1], len(found.labels)) == ("2026-03", 28)
    assert (found.series[0].values[0], found.series[0].values[-1], found.omitted) == (1, 1, 0)
    assert contents(rows(row("a"))).by_month is None


def test_the_smallest_projects_of_a_chart_are_one_series() -> None:
    names = [f"p{number}" for number in range(9)]
    table = [
        row(f"{name}{turn}", group_id=name)
        for number, name in enumerate(names)
        for turn in range(9 - number)
    ]
    found = contents(rows(*table)).by_week
    assert found is not None
    assert [one.name for one in found.series] == [*names[: model.SERIES], "others"]
    assert sum(sum(one.values) for one in found.series) == len(table)


def test_turns_without_a_time_are_counted_and_in_no_week() -> None:
    found = contents(rows(row("a", started_at=None)))
    assert (found.turns, found.without_time, found.by_week, found.first) == (1, 1, None, None)


def test_turns_that_only_the_graph_holds_are_counted_apart() -> None:
    assert contents(rows(row("a"), row("b", is_in_lake=False))).missing_from_lake == 1


def test_a_report_of_nothing_is_empty() -> None:
    assert contents(rows()).turns == 0
    assert contents(rows()).projects.items == ()
    assert agent_usage(rows(), subagents()).total == model.TokenCount("all", 0, 0, 0)
    assert noise_counts(rows(), {}) == ()
    assert timeline(rows(), {}, {}).days == ()


def test_tokens_are_counted_by_model_with_those_of_subagents_in_them_and_apart() -> None:
    found = agent_usage(
        rows(
            row("a"), row("b", agent_id="x", input_tokens=5, output_tokens=1), row("c", model="m")
        ),
        subagents(subagent(), subagent(model="haiku", started_at=START + days(1))),
    )
    assert found.by_model.items == (
        model.TokenCount("opus", 2, 112, 13, subagent_tokens=15),
        model.TokenCount("m", 1, 100, 10),
        model.TokenCount("haiku", 0, 7, 2, subagent_tokens=9),
    )
    assert found.total == model.TokenCount("all", 3, 219, 25, subagent_tokens=24)
    assert found.by_day is not None
    assert [(one.name, one.values) for one in found.by_day.series] == [
        ("opus", (125, 0)),
        ("m", (110, 0)),
        ("haiku", (0, 9)),
    ]


def test_tokens_of_more_days_than_the_chart_holds_are_also_counted_by_month() -> None:
    late = START + days(model.CHART_DAYS + 1)
    found = agent_usage(rows(row("a"), row("b", started_at=late)), subagents())
    assert found.by_day is not None
    assert found.by_month is not None
    assert (found.by_day.omitted, found.by_month.omitted) == (110, 0)
    assert sum(found.by_month.series[0].values) == 220
    assert agent_usage(rows(row("a")), subagents()).by_month is None


def test_a_copy_of_a_turn_is_paid_for_once() -> None:
    found = agent_usage(
        rows(row("a"), row("b", noise=COPY.name), row("c", noise="empty")), subagents()
    )
    assert found.total.turns == 2


def test_turns_without_a_model_are_counted_as_unknown() -> None:
    found = agent_usage(rows(row("a", model=None)), subagents(subagent(model=None)))
    assert found.by_model.items == (model.TokenCount("unknown", 1, 107, 12, subagent_tokens=9),)


def test_noise_is_listed_by_rule_with_the_newest_different_examples() -> None:
    table = [
        row(f"t{number}", noise="greeting", prompt=prompt, started_at=START + days(number))
        for number, prompt in enumerate(["hello", "hi", "hi", "hey", "good morning"])
    ]
    [found] = noise_counts(rows(*table), {"greeting": "A greeting."})
    assert (found.rule, found.description, found.turns) == ("greeting", "A greeting.", 5)
    assert [turn.title for turn in found.examples] == ["Good morning", "Hey", "Hi"]


def test_a_rule_that_no_longer_exists_has_no_description() -> None:
    assert noise_counts(rows(row(noise="gone")), {})[0].description == ""


def test_the_timeline_has_the_last_kept_turns_the_newest_day_first() -> None:
    fact = model.ReportedFact("sqlite", "DECIDED", None, None, (), 0)
    found = timeline(
        rows(
            row("a"),
            row("b", session_id="s2"),
            row("c", noise="empty"),
            row("d", started_at=None),
            row("e", started_at=START + days(1)),
        ),
        {"e": [fact]},
        {"a": 2},
    )
    assert [one.day for one in found.days] == [date(2026, 3, 3), date(2026, 3, 2)]
    newest, oldest = found.days
    assert newest.sessions[0].turns[0].decisions == (fact,)
    assert [one.session_id for one in oldest.sessions] == ["s1", "s2"]
    assert oldest.sessions[0].turns[0].problems == 2
    assert (found.shown, found.total) == (3, 3)


def test_the_timeline_says_how_many_turns_it_leaves_out() -> None:
    many = [row(f"t{number:04}") for number in range(model.TIMELINE_TURNS + 7)]
    found = timeline(rows(*many), {}, {})
    assert (found.shown, found.total) == (model.TIMELINE_TURNS, model.TIMELINE_TURNS + 7)


def test_a_prompt_that_announces_the_next_line_has_it_in_its_title() -> None:
    [day] = timeline(rows(row(prompt="\n  Do this:\n# Move it\nmore")), {}, {}).days
    assert day.sessions[0].turns[0].turn.title == "Do this: Move it"
