# ruff: noqa: RUF001 - signs of many languages, none of them there by mistake
"""The rules that turnetl brings: what each must catch, and what it must not, near as it comes."""

from datetime import timedelta
from typing import Any

import polars as pl
import pytest

from tests import frames
from tests.builders import START, tool, turn
from turnetl import noise
from turnetl.model import ClosedBy, Turn
from turnetl.noise import ON_DEMAND, RULES, features

DID = (tool("Bash", "pytest -q", "3 passed"),)
ANSWER = "The cart was empty because the fixture forgot an item. I would fill it in `conftest.py`."
OBSERVER = "Hello memory agent, you are continuing to observe the primary Claude session."
LONG = "Mend the cart so that it is never empty, and write a test that shows it"
INTERRUPTED: dict[str, Any] = {"closed_by": ClosedBy.INTERRUPTED}
OPEN: dict[str, Any] = {"closed": False, "closed_by": None}


def marks(*turns: Turn) -> list[str | None]:
    return noise.mark(frames.turns(*turns)).collect()["noise"].to_list()


def said(prompt: str, answer: str = "", **fields: Any) -> Turn:
    return turn(user_text=prompt, assistant_text=answer, **fields)


def later(native: str, prompt: str, answer: str = "", **fields: Any) -> Turn:
    return said(
        prompt, answer, native=native, **{"started_at": START + timedelta(hours=1), **fields}
    )


CAUGHT = [
    ("suggestion", said("[SUGGESTION MODE: Suggest what the user might type.]", "run the tests")),
    ("suggestion", said("Generate 0 to 3 hyperpersonalized suggestions for what ...", "[]")),
    ("title", said("Please write a 5-10 word title for the following conversation:\n", "Cart")),
    ("title", said("Generate a concise title for this coding session", "Cart")),
    ("title", said("Generate a title for this conversation:\n", "Cart")),
    ("title", said("Based on the above conversation, generate a short title", "Cart")),
    ("title", said("Analyze if this message indicates a new conversation topic. ...", "{}")),
    ("title", said("Summarize this coding conversation in under 50 characters.\n...", "Cart")),
    ("title", said("You are a title generator. You output ONLY a thread title.", "Cart")),
    ("warm_up", said("Warmup", "I am ready to help you with this project. " * 20)),
    ("warm_up", said("ping", "pong")),
    ("warm_up", said("quota", "H")),
    ("harness", said("Summarize this part of a conversation in 2-4 sentences: ...", "They." * 90)),
    ("harness", said("Your task is to create a detailed summary of the conversation", ANSWER * 9)),
    ("harness", said("You are performing a CONTEXT CHECKPOINT COMPACTION. Create", ANSWER * 9)),
    ("harness", said("First, reason in your scratchpad. Then, generate the <state_snapshot>.", "")),
    ("harness", said("System: Please continue.", "Going on.")),
    ("harness", said("Continue from where you left off.", "No response requested.")),
    ("harness", said("Continue if you have next steps", "None are left.")),
    ("harness", said("Stop hook feedback:\n- the tests were not run", "They need not be.")),
    ("harness", said("[Request interrupted by user for tool use]", "Understood.")),
    ("harness", said("<bash-input>ls</bash-input><bash-stdout>a.py</bash-stdout>", "One file.")),
    ("harness", said(OBSERVER, "<observation>")),
    ("heartbeat", said("Read HEARTBEAT.md if it exists. If nothing ...", "HEARTBEAT_OK")),
    ("heartbeat", said("Check the inbox.", "**HEARTBEAT_OK**")),
    ("client_command", said("/clear")),
    ("client_command", said("/compact", "Compacted.")),
    ("client_command", said("/model opus", "Set model to opus.")),
    ("client_command", said("/login", **OPEN)),
    ("client_command", said("exit", "Bye!")),
    ("provider_error", said("Mend the cart", "API Error: 529 overloaded_error")),
    ("provider_error", said("Mend the cart", "[API Error: quota exceeded]")),
    ("provider_error", said("Mend the cart", "Claude AI usage limit reached|1767225600")),
    ("provider_error", said("Mend the cart", "5-hour limit reached - resets 6pm")),
    ("provider_error", said("Mend the cart", "You've hit your usage limit. Try again later.")),
    ("provider_error", said("Mend the cart", "You\u2019ve reached your weekly limit.")),
    ("provider_error", said("Mend the cart", "Credit balance is too low")),
    ("provider_error", said("Mend the cart", "Invalid API key · Please run /login")),
    ("provider_error", said("Mend the cart", "stream disconnected before completion: timed out")),
    ("provider_error", said("Mend the cart", "unexpected status 429 Too Many Requests")),
    ("provider_error", said("Mend the cart", "No response requested.")),
    ("interrupted", said("Mend the cart", **INTERRUPTED)),
    ("interrupted", said("yes please", **INTERRUPTED)),
    ("interrupted", said("请修复购物车", **INTERRUPTED)),
    ("no_answer", said("Mend the cart")),
    ("no_answer", said("wow error", "\n ")),
    ("no_answer", said("")),
    ("acknowledgement", said("ok", "Anything else?")),
    ("acknowledgement", said("OK, thanks!", "You are welcome.")),
    ("acknowledgement", said("yes please go on", "Going on.")),
    ("acknowledgement", said("That's great, thank you for your help!", "You are welcome.")),
    ("acknowledgement", said("Thanks a lot, that's all I needed.", "You are welcome.")),
    ("acknowledgement", said("I see, that's correct.", "Good.")),
    ("acknowledgement", said("danke für die Hilfe", "Gerne.")),
    ("acknowledgement", said("No, thanks.", "As you like.")),
    ("acknowledgement", said("ok", "Anything else?", **OPEN)),
    ("acknowledgement", said("Ja, mach weiter.", "Gut.")),
    ("acknowledgement", said("oui, merci", "De rien.")),
    ("acknowledgement", said("d'accord", "Bien.")),
    ("acknowledgement", said("sí, continúa", "Bien.")),
    ("acknowledgement", said("sim, obrigado", "De nada.")),
    ("acknowledgement", said("va bene, grazie", "Prego.")),
    ("acknowledgement", said("goed, dank", "Graag gedaan.")),
    ("acknowledgement", said("dobrze, dziękuję", "Proszę.")),
    ("acknowledgement", said("да, продолжай", "Хорошо.")),
    ("acknowledgement", said("так, дякую", "Добре.")),
    ("acknowledgement", said("好的 继续", "好。")),
    ("acknowledgement", said("好的，谢谢！", "不客气。")),
    ("acknowledgement", said("はい", "わかりました。")),
    ("acknowledgement", said("ありがとうございます。", "どういたしまして。")),
    ("acknowledgement", said("네, 계속", "네.")),
    ("acknowledgement", said("نعم شكرا", "عفوا")),
    ("acknowledgement", said("tamam, devam", "Peki.")),
    ("acknowledgement", said("tiếp tục", "Vâng.")),
    ("acknowledgement", said("👍", "Anything else?")),
    ("acknowledgement", said("ok ❤️", "Anything else?")),
    ("acknowledgement", said("...", "Anything else?")),
    ("greeting", said("hi", "Hello! What shall we do?")),
    ("greeting", said("Hey Claude!", "Hello!")),
    ("greeting", said("Good morning", "Good morning!")),
    ("greeting", said("Have a nice day!", "You too!")),
    ("greeting", said("Tschüss", "Bis bald!")),
    ("greeting", said("你好", "你好！")),
    ("greeting", said("test", "It works.")),
]
SPARED = [
    said("What does [SUGGESTION MODE: mean in these logs?", ANSWER),
    said("[SUGGESTION MODE: Suggest what to type.]", "run the tests", tool_calls=DID),
    # Titles that a person wants.
    said("Write a title component for the conversation view", "Done.", tool_calls=DID),
    said("Give the page a better title", ANSWER),
    said("Give me a title for the chat page", "Talk"),
    said("Write a title for the conversation view, and why", ANSWER * 5),
    # Words that programs use too.
    said("Warmup", "Done.", tool_calls=DID),
    said("Warm up the cache before the first request", ANSWER),
    said("Summarize this part of a conversation", "Done.", tool_calls=DID),
    said("Please summarize this part of a conversation with the customer", ANSWER),
    said("Why does it say `Stop hook feedback:`?", ANSWER),
    said("<environment_context>a</environment_context>\n\nMend the cart", ANSWER),
    said("Read HEARTBEAT.md if it exists.", "HEARTBEAT_OK", tool_calls=DID),
    said("What does HEARTBEAT_OK mean?", "HEARTBEAT_OK means that there is nothing to do."),
    said("/compact keep the names of the tables", "Done."),
    said("/review", "Two things are wrong in it."),
    said("/status", ANSWER * 4),
    said("exit code 3, why?", "The cart was empty."),
    # An answer that tells of an error, and prompts that say something though none came.
    said("Why does it fail?", "The log says `API Error: 529`: the provider was overloaded."),
    said("Mend the cart", "API Error: 529", tool_calls=DID),
    said("What does it mean?", "429 means that too many requests were made. " * 30),
    said(LONG, "API Error: 529 overloaded_error"),
    said("no, use postgres", "API Error: 529 overloaded_error"),
    said(LONG, **INTERRUPTED),
    said("Mend the cart like this: " + "step, " * 80, **INTERRUPTED),
    said("no, use postgres", **INTERRUPTED),
    said("Use Postgres instead", **INTERRUPTED),
    said("let's keep sqlite", **INTERRUPTED),
    said("only the cart", **INTERRUPTED),
    said("nein, nimm Postgres", **INTERRUPTED),
    said("不要用 sqlite", **INTERRUPTED),
    said("请修复购物车，使它永远不会是空的，并写一个测试", **INTERRUPTED),
    said("Mend the cart", tool_calls=DID, **INTERRUPTED),
    said("Mend the cart", "I will look", **INTERRUPTED),
    said("Mend the cart", steering=("no, the basket",), **INTERRUPTED),
    said(LONG),
    said("don't touch the cart"),
    said("Mend the cart", tool_calls=DID),
    said("Mend the cart", user_answers=("use Postgres",)),
    said("Mend the cart", subagent_prompts=("look for carts",)),
    # What only waits.
    said("Mend the cart", **OPEN),
    said("ok", **OPEN),
    said("", **OPEN),
    # Short words that decide, choose or ask, or that got work done.
    said("yes", "Done.", tool_calls=DID),
    said("continue", ANSWER * 4),
    said("ok, but use Postgres", "Will do."),
    said("yes, drop the table", "Will do."),
    said("no", "Then I leave it."),
    said("nein", "Dann nicht."),
    said("it", "What?"),
    said("?", "What is unclear?"),
    said("right?", "Yes, the cart is empty."),
    said("2", "The second one then."),
    said("ok, a", "Option A then."),
    said("yes, all", "All of them then."),
    said("sí, todo", "Todo."),
    said("bitte nur das", "Nur das."),
    said("correct it please", "Will do."),
    said("fix it", "Will do."),
    said("no tests please", "Will do."),
    said("好的，用 postgres", "好。"),
    said("ok", "Will do.", steering=("and the docs",)),
    said("hi, mend the cart", "Will do."),
    said("what is there", "A cart."),
    said("test it", "Will do."),
    said("hi", ANSWER * 4),
]


def _name(value: object) -> str | None:
    return value.user_text[:30] if isinstance(value, Turn) else None


@pytest.mark.parametrize(("name", "caught"), CAUGHT, ids=_name)
def test_a_rule_catches_what_it_is_for(name: str, caught: Turn) -> None:
    assert marks(caught) == [name]


@pytest.mark.parametrize("spared", SPARED, ids=_name)
def test_no_rule_takes_what_only_looks_like_noise(spared: Turn) -> None:
    assert marks(spared) == [None]


def test_each_rule_is_tried() -> None:
    of_several = {"copy", "repeat"}
    assert {name for name, _ in CAUGHT} == {rule.name for rule in RULES} - of_several


def test_a_short_prompt_that_waited_in_vain_is_marked_when_its_session_goes_on() -> None:
    waiting = said("Mend the cart", **OPEN)
    over = said("Mend the cart", closed_by=ClosedBy.NEXT_PROMPT)
    assert (marks(waiting), marks(over)) == ([None], ["no_answer"])


def test_a_turn_that_a_forked_session_carries_along_is_a_copy() -> None:
    first = turn("p0", session_id="s1")
    assert marks(first, turn("p1", session_id="s2")) == [None, "copy"]


def test_the_same_words_at_another_time_are_no_copy() -> None:
    again = turn("p1", session_id="s2", started_at=START + timedelta(hours=1))
    assert marks(turn("p0"), again) == [None, None]


def test_turns_without_a_time_are_no_copies_of_each_other() -> None:
    first, second = (turn(name, session_id=name, started_at=None) for name in ("p0", "p1"))
    assert marks(first, second) == [None, None]


def test_a_retry_with_the_same_answer_is_a_repeat() -> None:
    again = turn("p1", started_at=START + timedelta(minutes=5))
    elsewhere = turn("p2", started_at=START + timedelta(minutes=6), session_id="s2")
    assert marks(turn("p0"), again, elsewhere) == [None, "repeat", None]


@pytest.mark.parametrize("first", [said(LONG, **INTERRUPTED), said(LONG, "API Error: 529")])
def test_what_got_nowhere_is_a_repeat_of_the_same_words_that_did(first: Turn) -> None:
    assert marks(first, later("p1", LONG, tool_calls=DID)) == ["repeat", None]
    assert marks(first, later("p1", LONG, ANSWER, session_id="s2")) == ["repeat", None]


def test_what_got_nowhere_twice_is_kept_once() -> None:
    twice = [said(LONG, **INTERRUPTED), later("p1", LONG, **INTERRUPTED)]
    assert marks(*twice) == [None, "repeat"]


def test_a_retry_that_still_waits_is_no_repeat_yet() -> None:
    assert marks(said(LONG, ANSWER), later("p1", LONG, **OPEN)) == [None, None]


def test_the_same_command_given_twice_is_work_done_twice() -> None:
    assert marks(
        said("run the tests", tool_calls=DID), later("p1", "run the tests", tool_calls=DID)
    ) == [
        None,
        None,
    ]


def test_the_same_question_with_another_answer_is_no_repeat() -> None:
    again = turn("p1", assistant_text="It is Tuesday.", started_at=START + timedelta(minutes=5))
    assert marks(turn("p0"), again) == [None, None]


def test_the_first_rule_that_matches_names_the_turn() -> None:
    assert marks(said("ok")) == ["no_answer"]
    assert marks(said("ok", **INTERRUPTED)) == ["interrupted"]
    assert marks(said("ok", "ok")) == ["acknowledgement"]


def asked_for(name: str, *turns: Turn) -> list[str | None]:
    rules = noise.select_rules((), [name])
    return noise.mark(frames.turns(*turns), rules).collect()["noise"].to_list()


def test_the_conversations_of_agents_are_marked_on_demand() -> None:
    both = turn("p0"), turn("p1", agent_id="a7", assistant_text=ANSWER)
    assert marks(*both) == [None, None]
    assert asked_for("subagent", *both) == [None, "subagent"]


def test_words_that_open_five_sessions_are_marked_on_demand() -> None:
    daily = [
        later(f"p{n}", "Check the inbox", f"{n} letters", session_id=f"s{n}", tool_calls=DID)
        for n in range(5)
    ]
    once = later("q0", "Check the outbox", "none", session_id="s9", tool_calls=DID)
    assert set(marks(*daily, once)) == {None}
    assert asked_for("scheduled", *daily, once) == ["scheduled"] * 5 + [None]
    assert set(asked_for("scheduled", *daily[:4], once)) == {None}


def test_talk_without_a_tool_is_marked_on_demand() -> None:
    turns = said(LONG, ANSWER), later("p1", LONG, tool_calls=DID), later("p2", "Why?", **OPEN)
    assert asked_for("talk", *turns) == ["talk", None, None]


def test_rules_have_names_of_their_own_and_say_why() -> None:
    known = (*RULES, *ON_DEMAND)
    assert len({rule.name for rule in known}) == len(known)
    assert all(rule.why.endswith(".") for rule in known)
    assert all(rule.on_by_default for rule in RULES)
    assert not any(rule.on_by_default for rule in ON_DEMAND)


def test_rules_answer_yes_or_no_of_every_turn() -> None:
    nullable = ("started_at", "closed_by", "agent_id", "model", "cwd")
    nothing: dict[str, Any] = dict.fromkeys(nullable)
    turns = [turn(**nothing), said("", **nothing), said("ok", "ok"), said("ok", tool_calls=DID)]
    frame = features.add_features(frames.turns(*turns))
    asked = frame.select(rule.condition.alias(rule.name) for rule in (*RULES, *ON_DEMAND)).collect()
    assert set(asked.dtypes) == {pl.Boolean}
    assert asked.null_count().sum_horizontal().item() == 0
