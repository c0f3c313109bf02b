"""What subagents did for a turn is stated like what its agent did, and marked."""

from dataclasses import replace
from datetime import timedelta

from tests.builders import START, subagent, tool, turn
from tests.extraction.structural.shop_group import ShopGroup
from turnetl.base.model import AgentCall, SubagentStep, ToolCall

FAILURE = "FAILED tests/test_cart.py::test_total - KeyError: 'price'"


def at(minute: int, call: ToolCall) -> ToolCall:
    return replace(call, ended_at=START + timedelta(minutes=minute))


EDIT = at(3, tool("Edit", "src/shop/cart.py :: + price = 1", "updated"))
FAILED_RUN = at(2, tool("Bash", "pytest -q", FAILURE, is_error=True))
PASSED_RUN = at(4, tool("Bash", "pytest -q", "3 passed"))


async def test_facts_from_steps_of_subagents_name_them_and_their_lines(shop: ShopGroup) -> None:
    await shop.ingest(
        assistant_text="All done.",
        tool_calls=(at(5, tool("Task", "fix it", "done")),),
        subagents=(
            subagent("a1", FAILED_RUN, EDIT, answer="I changed cart.py so that prices default."),
        ),
    )
    [edit], [failure] = shop.facts("CHANGED"), shop.facts("FAILED_WITH")
    assert edit.text == ("`src/shop/cart.py`: `price = 1` was added (by subagent Explore)")
    assert edit.step == SubagentStep("Explore", "/archives/agent-a1.jsonl", 3)
    assert failure.text.endswith(" (by subagent Explore)")
    assert failure.step == SubagentStep("Explore", "/archives/agent-a1.jsonl", 2)
    assert failure.attributes["line"] == "pytest -q"


async def test_a_fact_that_the_agent_of_the_turn_states_too_is_its_own(shop: ShopGroup) -> None:
    await shop.ingest(tool_calls=(EDIT,), subagents=(subagent("a1", EDIT, type=None),))
    [edit] = shop.facts("CHANGED")
    assert edit.step is None
    assert "subagent" not in edit.text


async def test_a_success_after_the_failure_of_a_subagent_resolves_it(shop: ShopGroup) -> None:
    await shop.ingest(tool_calls=(PASSED_RUN,), subagents=(subagent("a1", FAILED_RUN, EDIT),))
    [failure] = shop.facts("FAILED_WITH")
    assert failure.invalid_at == PASSED_RUN.ended_at


async def test_many_steps_of_subagents_displace_none_of_the_agent_of_the_turn(
    shop: ShopGroup,
) -> None:
    before, after = (
        [at(minute, tool("Read", f"src/shop/page_{number}.py")) for number in range(500)]
        for minute in (1, 9)
    )
    runs = (subagent("a1", *before), subagent("a2", *after))
    await shop.ingest(tool_calls=(EDIT,), subagents=runs)
    assert [fact.step for fact in shop.facts("CHANGED")] == [None]


def test_calls_are_in_the_order_of_their_results_and_those_without_a_time_stay_in_place() -> None:
    first, untimed = at(1, tool("Read", "a.py")), replace(tool("Read", "b.py"), ended_at=None)
    run = subagent("a1", FAILED_RUN, untimed)
    built = turn(tool_calls=(first, untimed, PASSED_RUN), subagents=(run,))
    expected = [
        AgentCall(first),
        AgentCall(untimed),
        *(AgentCall(call, run) for call in run.tool_calls),
        AgentCall(PASSED_RUN),
    ]
    assert built.agent_calls == expected
