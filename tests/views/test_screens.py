"""Views of a large history fit one screen of 24 lines, and say how to see the rest."""

from datetime import timedelta

import pytest

from tests import builders
from tests.builders import START
from tests.printed import printed
from turnetl.base.model import GroupId, SessionId, Usage
from turnetl.estimation.plan_report import Estimate, GroupEstimate, PlanReport
from turnetl.estimation.sample import UsageRange
from turnetl.ingestion.estimate_record import EstimateMethod, Range
from turnetl.retrieval.digest import Digest, DigestSection, DigestSections, SessionDigest
from turnetl.retrieval.turn_summary import TurnSummary
from turnetl.views import digest, plan

SCREEN = 24
LONG = "Fix the rounding of prices in the cart so that no order is off by a cent any more, again"


def session(group: GroupId, number: int) -> SessionDigest:
    receipt = builders.receipt(builders.episode(group_id=group))
    turn = TurnSummary("abcdef01", LONG, LONG, f"{LONG} (edited cart.py)", ("cart.py",), receipt)
    return SessionDigest(
        session_id=SessionId(f"{group}-{number}"),
        group_id=group,
        turns=(turn,) * (number + 1),
        decisions=(),
        open_problems=(),
        solved_problems=(),
        commits=(),
        files=("cart.py",),
        outcome=LONG,
        outcome_turn=turn,
        open_question="",
    )


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("projects", [1, 3, 12])
def test_a_long_digest_is_one_screen_and_names_what_shows_the_rest(
    projects: int, width: int
) -> None:
    days = [START + timedelta(days=day) for day in range(5)]
    sections = tuple(
        DigestSection(
            f"{day:%Y-%m-%d}",
            tuple(session(GroupId(f"project_{n}"), n) for n in range(projects)),
        )
        for day in days
    )
    found = Digest(DigestSections.DAY, sections, START, days[0], None)
    text = printed(digest.view(found, is_whole=False), width=width)
    assert len(text.splitlines()) <= SCREEN
    assert max(map(len, text.splitlines())) <= width
    assert "--verbose has all" in " ".join(text.split())
    assert (f"and {projects - 5} more projects" in text) == (projects > 5)
    assert f"project_{projects - 1}: 5 sessions" in text
    whole = printed(digest.view(found), width=width)
    assert len(whole.splitlines()) > SCREEN
    assert all(f"project_{n}: " in whole for n in range(projects))


def test_a_short_digest_is_whole() -> None:
    sections = (DigestSection("2026-03-02", (session(GroupId("shop"), 1),)),)
    found = Digest(DigestSections.DAY, sections, START, START, None)
    assert digest.view(found, is_whole=False) == digest.view(found)


@pytest.mark.parametrize("groups", [3, 200])
def test_a_plan_of_many_groups_is_one_screen_and_leaves_no_turn_out(groups: int) -> None:
    amount = Range(900.0, 1000.0, 1100.0)
    usage = UsageRange(amount, amount, amount, amount, amount, amount)
    estimate = Estimate(
        method=EstimateMethod.HISTORY,
        extractor="llm",
        model="provider/model",
        groups=tuple(
            GroupEstimate(GroupId(f"project_{n}"), n + 1, 10, 1, 5, 2, 100, 0.5)
            for n in range(groups)
        ),
        total=usage,
        by_prompt={f"extract_nodes.{n}": usage for n in range(8)},
        basis=10,
        answered_turns=0,
        answered=Usage(),
        answered_requests=0,
        seconds=amount,
        disk={"graph": amount, "index": amount, "journal": amount},
        pilot=None,
        missing_prices=(),
    )
    text = printed(plan.view(PlanReport("backfill", estimate), is_verbose=False))
    assert len(text.splitlines()) <= SCREEN
    if groups > 8:
        assert f"{groups - 8} more (--verbose)" in text
        rest = sum(range(1, groups - 8 + 1))
        assert f"{rest:,}" in text
        assert f"${(groups - 8) * 0.5:.2f}" in text
    whole = printed(plan.view(PlanReport("backfill", estimate)))
    assert all(f"project_{n} " in whole for n in range(groups))
