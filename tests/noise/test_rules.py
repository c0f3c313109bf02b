# ruff: noqa: RUF001 - letters of many languages, all intended
"""The built-in rules: turns that each must mark, and similar turns that none may mark."""

from datetime import timedelta
from typing import Any

import polars as pl
import pytest

from tests import frames
from tests.builders import START, tool, turn
from turnetl import noise
from turnetl.base.model import ClosedBy, Turn
from turnetl.noise import ON_DEMAND, RULES, rules

ASKED = (tool("mcp__turnetl__search", '{"query":"cart"}', "1 hit, best first."),)
WORK = (tool("Bash", "pytest -q", "3 passed"),)
RESPONSE = (
    "The cart was empty because the fixture forgot an item. I would fill it in `conftest.py`."
)
OBSERVER = "Hello memory agent, you are continuing to observe the primary Claude session."
LONG = "Mend the cart so that it is never empty, and write a test that shows it"
INTERRUPTED: dict[str, Any] = {"closed_by": ClosedBy.INTERRUPTED}
OPEN: dict[str, Any] = {"closed": False, "closed_by": None}


def marks(*turns: Turn) -> list[str | None]:
    return noise.mark(frames.turns(*turns)).collect()["noise"].to_list()


def prompted(prompt: str, response: str = "", **fields: Any) -> Turn:
    return turn(user_text=prompt, assistant_text=response, **fields)


def later(native: str, prompt: str, response: str = "", **fields: Any) -> Turn:
    return prompted(
        prompt, response, native=native, **{"started_at": START + timedelta(hours=1), **fields}
    )


MARKED = [
    (
        "suggestion",
        prompted("[SUGGESTION MODE: Suggest what the user might type.]", "run the tests"),
    ),
    ("suggestion", prompted("Generate 0 to 3 hyperpersonalized suggestions for what ...", "[]")),
    ("title", prompted("Please write a 5-10 word title for the following conversation:\n", "Cart")),
    ("title", prompted("Generate a concise title for this coding session", "Cart")),
    ("title", prompted("Generate a title for this conversation:\n", "Cart")),
    ("title", prompted("Based on the above conversation, generate a short title", "Cart")),
    ("title", prompted("Analyze if this message indicates a new conversation topic. ...", "{}")),
    ("title", prompted("Summarize this coding conversation in under 50 characters.\n...", "Cart")),
    ("title", prompted("You are a title generator. You output ONLY a thread title.", "Cart")),
    ("warm_up", prompted("Warmup", "I am ready to help you with this project. " * 20)),
    ("warm_up", prompted("ping", "pong")),
    ("warm_up", prompted("quota", "H")),
    (
        "harness",
        prompted("Summarize this part of a conversation in 2-4 sentences: ...", "They." * 90),
    ),
    (
        "harness",
        prompted("Your task is to create a detailed summary of the conversation", RESPONSE * 9),
    ),
    (
        "harness",
        prompted("You are performing a CONTEXT CHECKPOINT COMPACTION. Create", RESPONSE * 9),
    ),
    (
        "harness",
        prompted("First, reason in your scratchpad. Then, generate the <state_snapshot>.", ""),
    ),
    ("harness", prompted("System: Please continue.", "Going on.")),
    ("harness", prompted("Continue from where you left off.", "No response requested.")),
    ("harness", prompted("Continue if you have next steps", "None are left.")),
    ("harness", prompted("Stop hook feedback:\n- the tests were not run", "They need not be.")),
    ("harness", prompted("[Request interrupted by user for tool use]", "Understood.")),
    (
        "harness",
        prompted("<bash-input>ls</bash-input><bash-stdout>a.py</bash-stdout>", "One file."),
    ),
    ("harness", prompted(OBSERVER, "<observation>")),
    ("heartbeat", prompted("Read HEARTBEAT.md if it exists. If nothing ...", "HEARTBEAT_OK")),
    ("heartbeat", prompted("Check the inbox.", "**HEARTBEAT_OK**")),
    ("client_command", prompted("/clear")),
    ("client_command", prompted("/compact", "Compacted.")),
    ("client_command", prompted("/model opus", "Set model to opus.")),
    ("client_command", prompted("/login", **OPEN)),
    ("client_command", prompted("exit", "Bye!")),
    ("provider_error", prompted("Mend the cart", "API Error: 529 overloaded_error")),
    ("provider_error", prompted("Mend the cart", "[API Error: quota exceeded]")),
    ("provider_error", prompted("Mend the cart", "Claude AI usage limit reached|1767225600")),
    ("provider_error", prompted("Mend the cart", "5-hour limit reached - resets 6pm")),
    ("provider_error", prompted("Mend the cart", "You've hit your usage limit. Try again later.")),
    ("provider_error", prompted("Mend the cart", "You\u2019ve reached your weekly limit.")),
    ("provider_error", prompted("Mend the cart", "Credit balance is too low")),
    ("provider_error", prompted("Mend the cart", "Invalid API key · Please run /login")),
    (
        "provider_error",
        prompted("Mend the cart", "stream disconnected before completion: timed out"),
    ),
    ("provider_error", prompted("Mend the cart", "unexpected status 429 Too Many Requests")),
    ("provider_error", prompted("Mend the cart", "No response requested.")),
    ("interrupted", prompted("Mend the cart", **INTERRUPTED)),
    ("interrupted", prompted("yes please", **INTERRUPTED)),
    ("interrupted", prompted("请修复购物车", **INTERRUPTED)),
    ("no_response", prompted("Mend the cart")),
    ("no_response", prompted("wow error", "\n ")),
    ("no_response", prompted("")),
    ("acknowledgement", prompted("ok", "Anything else?")),
    ("acknowledgement", prompted("OK, thanks!", "You are welcome.")),
    ("acknowledgement", prompted("yes please go on", "Going on.")),
    ("acknowledgement", prompted("That's great, thank you for your help!", "You are welcome.")),
    ("acknowledgement", prompted("Thanks a lot, that's all I needed.", "You are welcome.")),
    ("acknowledgement", prompted("I see, that's correct.", "Good.")),
    ("acknowledgement", prompted("danke für die Hilfe", "Gerne.")),
    ("acknowledgement", prompted("No, thanks.", "As you like.")),
    ("acknowledgement", prompted("ok", "Anything else?", **OPEN)),
    ("acknowledgement", prompted("Ja, mach weiter.", "Gut.")),
    ("acknowledgement", prompted("oui, merci", "De rien.")),
    ("acknowledgement", prompted("d'accord", "Bien.")),
    ("acknowledgement", prompted("sí, continúa", "Bien.")),
    ("acknowledgement", prompted("sim, obrigado", "De nada.")),
    ("acknowledgement", prompted("va bene, grazie", "Prego.")),
    ("acknowledgement", prompted("goed, dank", "Graag gedaan.")),
    ("acknowledgement", prompted("dobrze, dziękuję", "Proszę.")),
    ("acknowledgement", prompted("да, продолжай", "Хорошо.")),
    ("acknowledgement", prompted("так, дякую", "Добре.")),
    ("acknowledgement", prompted("好的 继续", "好。")),
    ("acknowledgement", prompted("好的，谢谢！", "不客气。")),
    ("acknowledgement", prompted("はい", "わかりました。")),
    ("acknowledgement", prompted("ありがとうございます。", "どういたしまして。")),
    ("acknowledgement", prompted("네, 계속", "네.")),
    ("acknowledgement", prompted("نعم شكرا", "عفوا")),
    ("acknowledgement", prompted("tamam, devam", "Peki.")),
    ("acknowledgement", prompted("tiếp tục", "Vâng.")),
    ("acknowledgement", prompted("👍", "Anything else?")),
    ("acknowledgement", prompted("ok ❤️", "Anything else?")),
    ("acknowledgement", prompted("...", "Anything else?")),
    ("greeting", prompted("hi", "Hello! What shall we do?")),
    ("greeting", prompted("Hey Claude!", "Hello!")),
    ("greeting", prompted("Good morning", "Good morning!")),
    ("greeting", prompted("Have a nice day!", "You too!")),
    ("greeting", prompted("Tschüss", "Bis bald!")),
    ("greeting", prompted("你好", "你好！")),
    ("greeting", prompted("test", "It works.")),
    ("history_query", prompted("How did we mend the cart?", RESPONSE, tool_calls=ASKED)),
    ("history_query", prompted("When was the cart fixed?", tool_calls=ASKED, **INTERRUPTED)),
    (
        "history_query",
        prompted(
            "Which error was it?",
            RESPONSE,
            tool_calls=(tool("ToolSearch", "turnetl"), tool("mcp_turnetl_fix", "{}"), *ASKED),
        ),
    ),
    (
        "history_query",
        prompted(
            "What happened?",
            RESPONSE,
            tool_calls=tuple(
                tool(f"turnetl_{name}", "{}") for name in ("list", "timeline", "open")
            ),
        ),
    ),
]
KEPT = [
    prompted("What does [SUGGESTION MODE: mean in these logs?", RESPONSE),
    prompted("[SUGGESTION MODE: Suggest what to type.]", "run the tests", tool_calls=WORK),
    # Titles that the user wants.
    prompted("Write a title component for the conversation view", "Done.", tool_calls=WORK),
    prompted("Give the page a better title", RESPONSE),
    prompted("Give me a title for the chat page", "Talk"),
    prompted("Write a title for the conversation view, and why", RESPONSE * 5),
    # Words that programs use, too.
    prompted("Warmup", "Done.", tool_calls=WORK),
    prompted("Warm up the cache before the first request", RESPONSE),
    prompted("Summarize this part of a conversation", "Done.", tool_calls=WORK),
    prompted("Please summarize this part of a conversation with the customer", RESPONSE),
    prompted("Why does it say `Stop hook feedback:`?", RESPONSE),
    prompted("<environment_context>a</environment_context>\n\nMend the cart", RESPONSE),
    prompted("Read HEARTBEAT.md if it exists.", "HEARTBEAT_OK", tool_calls=WORK),
    prompted("What does HEARTBEAT_OK mean?", "HEARTBEAT_OK means that there is nothing to do."),
    prompted("/compact keep the names of the tables", "Done."),
    prompted("/review", "Two things are wrong in it."),
    prompted("/status", RESPONSE * 4),
    prompted("exit code 3, why?", "The cart was empty."),
    # Responses about an error; prompts without a response that describe a task or decide something.
    prompted("Why does it fail?", "The log says `API Error: 529`: the provider was overloaded."),
    prompted("Mend the cart", "API Error: 529", tool_calls=WORK),
    prompted("What does it mean?", "429 means that too many requests were made. " * 30),
    prompted(LONG, "API Error: 529 overloaded_error"),
    prompted("no, use postgres", "API Error: 529 overloaded_error"),
    prompted(LONG, **INTERRUPTED),
    prompted("Mend the cart like this: " + "step, " * 80, **INTERRUPTED),
    prompted("no, use postgres", **INTERRUPTED),
    prompted("Use Postgres instead", **INTERRUPTED),
    prompted("let's keep sqlite", **INTERRUPTED),
    prompted("only the cart", **INTERRUPTED),
    prompted("nein, nimm Postgres", **INTERRUPTED),
    prompted("不要用 sqlite", **INTERRUPTED),
    prompted("请修复购物车，使它永远不会是空的，并写一个测试", **INTERRUPTED),
    prompted("Mend the cart", tool_calls=WORK, **INTERRUPTED),
    prompted("Mend the cart", "I will look", **INTERRUPTED),
    prompted("Mend the cart", steering=("no, the basket",), **INTERRUPTED),
    prompted(LONG),
    prompted("don't touch the cart"),
    prompted("Mend the cart", tool_calls=WORK),
    prompted("Mend the cart", user_answers=("use Postgres",)),
    prompted("Mend the cart", subagent_prompts=("look for carts",)),
    # Turns that still await a response.
    prompted("Mend the cart", **OPEN),
    prompted("ok", **OPEN),
    prompted("", **OPEN),
    # Short prompts that decide, choose or ask, or that got work done.
    prompted("yes", "Done.", tool_calls=WORK),
    prompted("continue", RESPONSE * 4),
    prompted("ok, but use Postgres", "Will do."),
    prompted("yes, drop the table", "Will do."),
    prompted("no", "Then I leave it."),
    prompted("nein", "Dann nicht."),
    prompted("it", "What?"),
    prompted("?", "What is unclear?"),
    prompted("right?", "Yes, the cart is empty."),
    prompted("2", "The second one then."),
    prompted("ok, a", "Option A then."),
    prompted("yes, all", "All of them then."),
    prompted("sí, todo", "Todo."),
    prompted("bitte nur das", "Nur das."),
    prompted("correct it please", "Will do."),
    prompted("fix it", "Will do."),
    prompted("no tests please", "Will do."),
    prompted("好的，用 postgres", "好。"),
    prompted("ok", "Will do.", steering=("and the docs",)),
    prompted("hi, mend the cart", "Will do."),
    prompted("what is there", "A cart."),
    prompted("test it", "Will do."),
    prompted("hi", RESPONSE * 4),
    # Turns in which the agent asked turnetl, and more happened.
    prompted("How did we mend the cart?", RESPONSE, tool_calls=(*ASKED, *WORK)),
    prompted("How did we mend it?", RESPONSE, tool_calls=ASKED, steering=("and the basket",)),
    prompted("How did we mend it?", RESPONSE, tool_calls=ASKED, subagent_prompts=("look",)),
    prompted("How did we mend it?", RESPONSE, tool_calls=ASKED, user_answers=("in May",)),
    prompted("no, use postgres as we decided", RESPONSE, tool_calls=ASKED),
    prompted("Look up what we said, then follow these rules: " + LONG * 9, "", tool_calls=ASKED),
    prompted("How?", RESPONSE, tool_calls=(tool("mcp__other__search", "{}"),)),
    prompted("How?", RESPONSE, tool_calls=(tool("mcp__turnetl__search_all", "{}"),)),
    prompted("Which tools are there?", RESPONSE, tool_calls=(tool("ToolSearch", "turnetl"),)),
]


def _name(value: object) -> str | None:
    return value.user_text[:30] if isinstance(value, Turn) else None


def test_a_rule_marks_its_kind_of_noise(subtests: pytest.Subtests) -> None:
    for rule, marked in MARKED:
        with subtests.test(rule=rule):
            assert marks(marked) == [rule]


def test_no_rule_marks_a_turn_that_only_resembles_noise(subtests: pytest.Subtests) -> None:
    for kept in KEPT:
        with subtests.test(kept=kept):
            assert marks(kept) == [None]


def test_each_rule_has_an_example() -> None:
    about_several_turns = {"copy", "repeat"}
    assert {name for name, _ in MARKED} == {rule.name for rule in RULES} - about_several_turns


def test_a_short_prompt_without_a_response_is_marked_when_its_session_continues() -> None:
    is_open = prompted("Mend the cart", **OPEN)
    closed = prompted("Mend the cart", closed_by=ClosedBy.NEXT_PROMPT)
    assert (marks(is_open), marks(closed)) == ([None], ["no_response"])


def test_a_turn_that_a_forked_session_repeats_is_a_copy() -> None:
    first = turn("p0", session_id="s1")
    assert marks(first, turn("p1", session_id="s2")) == [None, "copy"]


def test_the_same_content_at_another_time_is_not_a_copy() -> None:
    again = turn("p1", session_id="s2", started_at=START + timedelta(hours=1))
    assert marks(turn("p0"), again) == [None, None]


def test_turns_without_a_time_are_not_copies_of_each_other() -> None:
    first, second = (turn(name, session_id=name, started_at=None) for name in ("p0", "p1"))
    assert marks(first, second) == [None, None]


def test_a_retry_with_the_same_response_is_a_repeat() -> None:
    again = turn("p1", started_at=START + timedelta(minutes=5))
    elsewhere = turn("p2", started_at=START + timedelta(minutes=6), session_id="s2")
    assert marks(turn("p0"), again, elsewhere) == [None, "repeat", None]


@pytest.mark.parametrize("first", [prompted(LONG, **INTERRUPTED), prompted(LONG, "API Error: 529")])
def test_a_prompt_without_a_response_is_a_repeat_of_the_same_prompt_with_one(first: Turn) -> None:
    assert marks(first, later("p1", LONG, tool_calls=WORK)) == ["repeat", None]
    assert marks(first, later("p1", LONG, RESPONSE, session_id="s2")) == ["repeat", None]


def test_an_interrupted_prompt_is_noise_if_the_next_of_its_session_says_it_again() -> None:
    stopped = prompted("Mend the cart so that it is never empty, and write a test", **INTERRUPTED)
    again = "mend the cart so that it is NEVER empty and write two tests for the basket"
    assert marks(stopped, later("p1", again, tool_calls=WORK)) == ["interrupted", None]
    for other in (later("p1", "Continue", tool_calls=WORK), later("p1", again, session_id="s2")):
        assert marks(stopped, other) == [None, None]


def test_a_prompt_that_has_no_response_twice_is_kept_once() -> None:
    twice = [prompted(LONG, **INTERRUPTED), later("p1", LONG, **INTERRUPTED)]
    assert marks(*twice) == [None, "repeat"]


def test_an_open_retry_is_not_a_repeat() -> None:
    assert marks(prompted(LONG, RESPONSE), later("p1", LONG, **OPEN)) == [None, None]


def test_the_same_prompt_that_got_work_done_twice_is_kept_twice() -> None:
    assert marks(
        prompted("run the tests", tool_calls=WORK), later("p1", "run the tests", tool_calls=WORK)
    ) == [
        None,
        None,
    ]


def test_the_same_question_with_another_response_is_not_a_repeat() -> None:
    again = turn("p1", assistant_text="It is Tuesday.", started_at=START + timedelta(minutes=5))
    assert marks(turn("p0"), again) == [None, None]


def test_the_first_matching_rule_marks_the_turn() -> None:
    assert marks(prompted("ok")) == ["no_response"]
    assert marks(prompted("ok", **INTERRUPTED)) == ["interrupted"]
    assert marks(prompted("ok", "ok")) == ["acknowledgement"]


def marks_on_demand(name: str, *turns: Turn) -> list[str | None]:
    rules = noise.select_rules((), [name])
    return noise.mark(frames.turns(*turns), rules).collect()["noise"].to_list()


def test_conversations_between_agents_are_marked_on_demand() -> None:
    both = turn("p0"), turn("p1", agent_id="a7", assistant_text=RESPONSE)
    assert marks(*both) == [None, None]
    assert marks_on_demand("subagent", *both) == [None, "subagent"]


def test_a_prompt_that_begins_five_sessions_is_marked_on_demand() -> None:
    daily = [
        later(f"p{n}", "Check the inbox", f"{n} letters", session_id=f"s{n}", tool_calls=WORK)
        for n in range(5)
    ]
    once = later("q0", "Check the outbox", "none", session_id="s9", tool_calls=WORK)
    assert set(marks(*daily, once)) == {None}
    assert marks_on_demand("scheduled", *daily, once) == ["scheduled"] * 5 + [None]
    assert set(marks_on_demand("scheduled", *daily[:4], once)) == {None}


def test_conversation_without_tool_calls_is_marked_on_demand() -> None:
    turns = (
        prompted(LONG, RESPONSE),
        later("p1", LONG, tool_calls=WORK),
        later("p2", "Why?", **OPEN),
    )
    assert marks_on_demand("no_tool_calls", *turns) == ["no_tool_calls", None, None]


def test_rules_have_unique_names_and_a_description() -> None:
    known = (*RULES, *ON_DEMAND)
    assert len({rule.name for rule in known}) == len(known)
    assert all(rule.description.endswith(".") for rule in known)
    assert all(rule.enabled_by_default for rule in RULES)
    assert not any(rule.enabled_by_default for rule in ON_DEMAND)


def test_conditions_are_true_or_false_for_every_turn() -> None:
    nullable = ("started_at", "closed_by", "agent_id", "model", "cwd")
    nothing: dict[str, Any] = dict.fromkeys(nullable)
    turns = [
        turn(**nothing),
        prompted("", **nothing),
        prompted("ok", "ok"),
        prompted("ok", tool_calls=WORK),
    ]
    frame = rules.add_features(frames.turns(*turns))
    results = frame.select(
        rule.condition.alias(rule.name) for rule in (*RULES, *ON_DEMAND)
    ).collect()
    assert set(results.dtypes) == {pl.Boolean}
    assert results.null_count().sum_horizontal().item() == 0
