"""The intent and the outcome of a turn: a line each, also for a "yes", a pasted log and a claim."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnetl.episode_text.conversation import Conversation, from_episode_text
from turnetl.episode_text.intents import MAX_CHARS, intent
from turnetl.episode_text.outcomes import outcome

OPTIONS = "Two ways:\n\n1. **Redis** - shared by all workers\n2. Files in `/tmp`\n\nWhich one?"
OFFER = "The cart ignores the tax. Want me to fix it?"


def turn(prompt: str, answer: str = "", *steps: str) -> Conversation:
    """Return a turn as the index has it; its steps as `tool input -> outcome`."""
    tools = "".join(f"\n\ntools: {step}" for step in steps)
    return from_episode_text(f"user: {prompt}\n\nassistant: {answer}{tools}")


ANSWERS = (
    ("yes", OFFER, "Fix it (The cart ignores the tax.)"),
    ("\N{THUMBS UP SIGN}", OFFER, "Fix it (The cart ignores the tax.)"),
    ("k thx", OFFER, "Fix it (The cart ignores the tax.)"),
    ("Yes, please!", OFFER, "Fix it (The cart ignores the tax.)"),
    ("no", OFFER, "No: Fix it (The cart ignores the tax.)"),
    ("2", OPTIONS, "Choose “Files in `/tmp`”"),
    ("option 1 please", OPTIONS, "Choose “Redis - shared by all workers”"),
    ("the second one, but in /var", OPTIONS, "Choose “Files in `/tmp`” but in /var"),
    ("both", OPTIONS, "Choose all of: Redis - shared by all workers; Files in `/tmp`"),
    ("1. yup\n2. no", OPTIONS, "Redis - shared by all workers: yup; Files in `/tmp`: no"),
    ("continue", "I read it.", "Continue: Add a cache to the cart"),
    (
        "continue, the network is back",
        "",
        "Continue: Add a cache to the cart (the network is back)",
    ),
    ("push", "Done.", "Push (after: Add a cache to the cart)"),
    ("and what about prices?", "Done.", "What about prices? (after: Add a cache to the cart)"),
)


def test_a_short_prompt_is_titled_by_what_it_answers(subtests: pytest.Subtests) -> None:
    for prompt, answer, expected in ANSWERS:
        with subtests.test(prompt):
            previous = turn("can you please add a cache to the cart?", answer)
            assert intent(turn(prompt), previous) == expected


REQUESTS = (
    ("hey, could you also rename `a.py`? thanks", "Rename `a.py`"),
    ("/init", "Analyse the repository and write a file of instructions for agents"),
    ("/deploy to the test server", "To the test server (/deploy)"),
    (
        "Implement the following plan:\n\n# One log per worktree\n\nText.",
        "Implement the following plan: One log per worktree",
    ),
    ("> git gc\nfatal: gc is already running", "Pasted: git gc: fatal: gc is already running"),
    (
        "Error: no such table\n    at run (a.js:3)\n\nfix this please",
        "Fix this (pasted: Error: no such table)",
    ),
    ("It worked. Why is it wrong?\n```\n1\n```", "It worked. Why is it wrong?"),
    ("<system-reminder>Be brief.</system-reminder>list files", "List files"),
    ("[REDACTED:password:0123]", ""),
    (
        "I get this error in CI:\nreading 3 files\nmain.go:3: x fails to build\nif x {",
        "I get this error in CI: main.go:3: x fails to build",
    ),
    ("?!", ""),
    ("", ""),
)


def test_a_prompt_is_titled_by_what_it_asks_for(subtests: pytest.Subtests) -> None:
    for prompt, expected in REQUESTS:
        with subtests.test(prompt):
            assert intent(turn(prompt)) == expected


EDIT, TESTS = "Edit cart.py :: + x -> ", "Bash pytest tests -> "
FOUND = (
    "Let me look.\n\n## What happens\n\nGood, the cart ignores the tax because it rounds first.\n\n"
    f"More of it is in {'a log and ' * 20}a trace.\n\nIt could round last. Want me to fix it?"
)
TABLE = (
    "Here's what I did:\n\n| # | File | Change |\n|---|---|---|\n| 1 | `cart.py` | Added a tax |\n"
    "| 2 | `till.py` | Removed the rounding |"
)
OUTCOMES = (
    (FOUND, (), "The cart ignores the tax because it rounds first. (asks: Want me to fix it?)"),
    (TABLE, (), "`cart.py`, Added a tax; `till.py`, Removed the rounding"),
    (
        "Let me look:\n\nDone. The cart adds the tax. All tests pass.",
        (EDIT, f"{TESTS}3 passed"),
        "The cart adds the tax. (edited cart.py; tests pass)",
    ),
    (
        "I fixed the tax. All tests pass.",
        (EDIT, f"{TESTS}failed: 1 failed"),
        "I fixed the tax. (edited cart.py; tests fail)",
    ),
    (
        "I've created the file.",
        ("Write new.py :: + x -> failed: tool use rejected by the user",),
        "Edit of new.py not permitted",
    ),
    ("Committed.", ("Bash git commit -m x -> [main 1a2b3c4] x",), "Committed. (committed 1a2b3c4)"),
    ("I'll change the cart now.", (), "Announced only: I'll change the cart now."),
    ("You're welcome! If you need more, feel free to ask.", (), "Courtesy only"),
    ("Which one do you mean?", (), "Asks: Which one do you mean?"),
    ("", (), "No answer"),
)


def test_an_outcome_says_what_was_done_and_nothing_that_the_steps_refute(
    subtests: pytest.Subtests,
) -> None:
    for answer, steps, expected in OUTCOMES:
        with subtests.test(answer):
            assert outcome(turn("Add the tax.", answer, *steps)) == expected


def test_an_interrupted_turn_says_so() -> None:
    text = "user: go\n\nassistant: I'll look.\n\nuser: [Request interrupted by user]"
    assert outcome(from_episode_text(text)) == "Interrupted; I'll look."


PIECES = (
    *("yes ", "2", "- ", "**", "```", "<b>", "</b>", "can you ", "[REDACTED:token:01]", "user: "),
    *("assistant: ", "tools: Edit a :: b", " -> failed: ", "ok", "Want me to ", "option A"),
    *(
        "A) ",
        "let me ",
        "tests pass",
        "git push",
        "\u3002",
        "\ud800",
        *"\n\t ()\"'`#>|*[]<.?!:;,1a",
    ),
)
HOSTILE = st.lists(st.sampled_from(PIECES) | st.text(max_size=9), max_size=60).map("".join)


@given(text=HOSTILE, before=HOSTILE, times=st.sampled_from([1, 300]))
def test_any_text_gives_titles_of_one_short_line(text: str, before: str, times: int) -> None:
    found = from_episode_text(f"user: {text * times}"), from_episode_text(f"user: {before * times}")
    for title in (intent(*found), intent(found[0]), outcome(found[0])):
        assert len(title) <= MAX_CHARS + 20
        assert len(title.splitlines()) <= 1
        assert "[REDACTED:" not in title
        assert not title or any(map(str.isalnum, title.replace("[redacted]", "")))
