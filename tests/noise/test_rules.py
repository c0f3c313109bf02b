from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests import frames
from tests.builders import START, tool, turn
from turnetl import noise
from turnetl.model import ClosedBy, Turn
from turnetl.noise.rules import RULES

DID = (tool("Bash", "pytest -q", "3 passed"),)
ANSWER = "The cart was empty because the fixture forgot an item. I would fill it in `conftest.py`."


def marks(*turns: Turn) -> list[str | None]:
    return noise.mark(frames.turns(*turns)).collect()["noise"].to_list()


def said(prompt: str, answer: str = "", **fields: Any) -> Turn:
    return turn(user_text=prompt, assistant_text=answer, **fields)


# Each rule with turns that it must catch.
CAUGHT: dict[str, list[Turn]] = {
    "suggestion": [
        said("[SUGGESTION MODE: Suggest what the user may type next.]", "run the tests")
    ],
    "title": [
        said(
            "Please write a 5-10 word title for the following conversation:\n\n...", "Cart mended"
        ),
        said("Generate a concise title for this coding session", "Cart"),
        said("Analyze if this message indicates a new conversation topic. ...", '{"new": true}'),
    ],
    "warm_up": [said("Warmup", "I am ready to help you with this project. " * 20)],
    "harness": [
        said("Summarize this part of a conversation in 2-4 sentences: ...", "They spoke." * 90),
        said("System: Please continue.", "Going on."),
    ],
    "provider_error": [
        said("Mend the cart", "API Error: 529 overloaded_error"),
        said("Mend the cart", "Claude AI usage limit reached|1767225600"),
        said("Mend the cart", "Credit balance is too low"),
        said("Mend the cart", "No response requested."),
    ],
    "heartbeat": [said("Read HEARTBEAT.md if it exists.", "HEARTBEAT_OK")],
    "client_command": [said("/clear"), said("/model opus"), said("exit", "Bye!")],
    "greeting": [said("hi", "Hello!"), said("Have a nice day!", "You too!")],
    "interrupted": [said("Mend the cart", closed_by=ClosedBy.INTERRUPTED)],
    "no_answer": [
        said("Mend the cart"),
        said("Mend the cart", "\n ", closed_by=ClosedBy.SESSION_END),
    ],
    "acknowledgement": [
        said("ok", "Anything else?"),
        said("OK, thanks!", "You are welcome."),
        said("yes please go on", "Going on."),
        said("Ja, mach weiter.", "Gut."),
        said("oui, merci", "De rien."),
        said("sí, continúa", "Bien."),
        said("да, продолжай", "Хорошо."),
        said("好的 继续", "好。"),
        said("はい", "わかりました。"),
    ],
}
# And with turns that it must not, near as they come.
SPARED: dict[str, list[Turn]] = {
    "suggestion": [said("What does [SUGGESTION MODE: mean in these logs?", ANSWER)],
    "title": [
        said("Write a title component for the conversation view", "Done.", tools=DID),
        said("Give the page a better title", ANSWER),
        said("Write a title for the conversation view, and why", ANSWER * 5),
    ],
    "warm_up": [
        said("Warmup", "Done.", tools=DID),
        said("Warm up the cache before the first request", ANSWER),
    ],
    "harness": [
        said("Summarize this part of a conversation", "Done.", tools=DID),
        said("Please summarize this part of a conversation with the customer", ANSWER),
    ],
    "provider_error": [
        said("Why does it fail?", "The log says `API Error: 529`: the provider was overloaded."),
        said("Mend the cart", "API Error: 529", tools=DID),
        said("What does it mean?", "429 means that too many requests were made. " * 30),
    ],
    "heartbeat": [said("Read HEARTBEAT.md if it exists.", "HEARTBEAT_OK", tools=DID)],
    "client_command": [said("/compact keep the names of the tables", "Done.")],
    "greeting": [said("hi, mend the cart", "Mended.")],
    "interrupted": [
        said("Mend the cart", tools=DID, closed_by=ClosedBy.INTERRUPTED),
        said("Mend the cart", "I will look", closed_by=ClosedBy.INTERRUPTED),
        said("Mend the cart", steering=("no, the basket",), closed_by=ClosedBy.INTERRUPTED),
        said("Mend the cart like this: " + "step, " * 80, closed_by=ClosedBy.INTERRUPTED),
    ],
    "no_answer": [
        said("Mend the cart", tools=DID),
        said("Mend the cart", answers=("use Postgres",)),
        said("Mend the cart", subagents=("look for carts",)),
        said("Implement the following plan: " + "step, " * 80),
    ],
    "acknowledgement": [
        said("yes", "Done.", tools=DID),
        said("continue", ANSWER * 4),
        said("ok, but use Postgres", "Will do."),
        said("yes, drop the table", "Will do."),
        said("it", "What?"),
        said("2", "The second one then."),
        said("fix it", "Will do."),
        said("no tests please", "Will do."),
        said("ok", "Will do.", steering=("and the docs",)),
    ],
}


@pytest.mark.parametrize("name", CAUGHT)
def test_a_rule_catches_what_it_is_for(name: str) -> None:
    for caught in CAUGHT[name]:
        assert marks(caught) == [name], caught.user_text


@pytest.mark.parametrize("name", SPARED)
def test_a_rule_leaves_alone_what_only_looks_like_it(name: str) -> None:
    for spared in SPARED[name]:
        assert marks(spared) == [None], spared.user_text


def test_a_turn_that_a_forked_session_carries_along_is_a_copy() -> None:
    first = turn("p0", session_id="s1")
    assert marks(first, turn("p1", session_id="s2")) == [None, "copy"]


def test_the_same_words_at_another_time_are_no_copy() -> None:
    later = turn("p1", session_id="s2", started_at=START + timedelta(hours=1))
    assert marks(turn("p0"), later) == [None, None]


def test_turns_without_a_time_are_no_copies_of_each_other() -> None:
    first, second = (turn(name, session_id=name, started_at=None) for name in ("p0", "p1"))
    assert marks(first, second) == [None, None]


def test_a_retry_with_the_same_answer_is_a_repeat() -> None:
    again = turn("p1", started_at=START + timedelta(minutes=5))
    elsewhere = turn("p2", started_at=START + timedelta(minutes=6), session_id="s2")
    assert marks(turn("p0"), again, elsewhere) == [None, "repeat", None]


def test_the_same_command_given_twice_is_work_done_twice() -> None:
    times = (START, START + timedelta(minutes=5))
    twice = [turn(f"p{at}", user_text="run the tests", tools=DID, started_at=at) for at in times]
    assert marks(*twice) == [None, None]


def test_the_same_question_with_another_answer_is_no_repeat() -> None:
    again = turn("p1", assistant_text="It is Tuesday.", started_at=START + timedelta(minutes=5))
    assert marks(turn("p0"), again) == [None, None]


def test_the_first_rule_that_matches_names_the_turn() -> None:
    unanswered = replace(turn("p0", user_text="ok", assistant_text=""))
    assert marks(unanswered) == ["no_answer"]
    assert marks(replace(unanswered, closed_by=ClosedBy.INTERRUPTED)) == ["interrupted"]


def test_marking_keeps_every_turn_in_its_order() -> None:
    turns = [turn(f"p{n}", started_at=START + timedelta(minutes=n)) for n in range(5)]
    marked = noise.mark(frames.turns(*turns)).collect()
    assert marked["turn_id"].to_list() == [value.turn_id for value in turns]


def test_no_turns_give_no_marks() -> None:
    assert marks() == []


def test_rules_have_names_of_their_own_and_say_why() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert all(rule.why.endswith(".") for rule in RULES)
    assert set(CAUGHT) == set(SPARED) == {rule.name for rule in RULES} - {"copy", "repeat"}
