"""The kind of a turn: the first that applies."""

from dataclasses import asdict
from typing import Any, get_args

import polars as pl
import pytest

from tests import frames, real_archives
from tests.builders import subagent, tool, turn
from turnetl import parsing
from turnetl.base import schema
from turnetl.base.model import ToolCall
from turnetl.episodes import filters
from turnetl.episodes.table import TURN_KIND, turn_kinds
from turnetl.extraction.config import TurnKind
from turnetl.lake import Lake
from turnetl.redact import SecretRedactor

RUN, EDIT = tool("Bash", "make test", "ok"), tool("Edit", "cart.py", "changed")
READ = tool("Read", "cart.py", "def total(): ...")
FAILED = tool("Bash", "make test", "exit 2", is_error=True)
CODE = "```python\nprint(1)\n```\n"


def kind(*calls: ToolCall, **fields: Any) -> str:
    texts: dict[str, Any] = {"user_text": "Go on.", "assistant_text": "Done.", **fields}
    row = frames.turns(turn(tool_calls=calls, **texts)).select(TURN_KIND.alias("kind"))
    return str(row.collect().item())


def test_two_failed_calls_of_ten_make_a_turn_error_heavy_and_one_does_not() -> None:
    assert kind(*[FAILED] * 2, *[RUN] * 8) == filters.ERROR_HEAVY
    assert kind(*[FAILED] * 2, *[RUN] * 9) == filters.TOOL_HEAVY
    assert kind(FAILED, *[RUN] * 3) == filters.ORDINARY


def test_a_turn_whose_only_call_failed_is_error_heavy() -> None:
    assert kind(FAILED) == filters.ERROR_HEAVY
    assert kind(FAILED, RUN) == filters.ORDINARY


@pytest.mark.parametrize(
    "result",
    [
        "Traceback (most recent call last):\n  File ...",
        "Exit code: 1",
        "exited with code 127",
        "FAILED tests/test_cart.py",
        "3 failed, 12 passed",
    ],
)
def test_a_command_whose_output_reports_a_failure_counts_as_failed(result: str) -> None:
    failed = tool("exec_command", "pytest", result)
    assert kind(failed, failed, RUN) == filters.ERROR_HEAVY


def test_the_calls_of_subagents_count_like_those_of_the_turn() -> None:
    runs = [asdict(subagent("a1", EDIT, EDIT)), asdict(subagent("a2", EDIT))]
    turns = frames.turns(turn(tool_calls=(RUN,)), turn("p1", tool_calls=(RUN,))).collect()
    column = pl.Series("subagents", [runs, []], schema.EPISODES.polars["subagents"])
    kinds = turn_kinds(turns.with_columns(column))
    assert kinds.to_list() == [filters.CODE_HEAVY, filters.CONVERSATIONAL]


def test_a_file_that_mentions_a_failure_does_not_count_as_failed() -> None:
    log = tool("Read", "test.log", "3 failed, exit code: 1")
    assert kind(log, log, RUN) == filters.ORDINARY
    fine = tool("Bash", "pytest", "0 failed, exit code: 0")
    assert kind(fine, fine, RUN) == filters.ORDINARY


@pytest.mark.parametrize(
    "prompt",
    [
        "What is this?\nTraceback (most recent call last):\n  File x",
        "RangeError: Invalid Date\n    at toISOString (unknown)",
        "thread 'main' panicked at src/main.rs:4",
        "goroutine 1 [running]:",
    ],
)
def test_a_stack_trace_in_the_prompt_makes_a_turn_error_heavy(prompt: str) -> None:
    assert kind(user_text=prompt) == filters.ERROR_HEAVY


def test_a_failure_that_prompt_and_answer_mention_makes_a_turn_error_heavy() -> None:
    answer = "The error comes from the fixture; with it mended, nothing fails."
    assert kind(user_text="The tests are failing.", assistant_text=answer) == filters.ERROR_HEAVY
    assert kind(user_text="The tests are failing.") == filters.CONVERSATIONAL
    assert kind(user_text="Write tests.", assistant_text=answer) == filters.CONVERSATIONAL


def test_a_failure_mentioned_deep_in_a_long_prompt_does_not_count() -> None:
    plan = "Follow this plan. " * 100 + "Log every error."
    assert kind(user_text=plan, assistant_text="Errors, errors.") == filters.CONVERSATIONAL


def test_three_edits_make_a_turn_code_heavy_if_they_are_a_fifth_of_the_calls() -> None:
    assert kind(*[EDIT] * 3, *[READ] * 12) == filters.CODE_HEAVY
    assert kind(*[EDIT] * 3, *[READ] * 13) == filters.TOOL_HEAVY
    assert kind(*[EDIT] * 2, READ) == filters.ORDINARY


def test_an_answer_of_code_makes_a_turn_code_heavy() -> None:
    assert kind(assistant_text=CODE * 3) == filters.CODE_HEAVY
    assert kind(assistant_text=CODE * 2) == filters.CONVERSATIONAL
    assert kind(assistant_text=f"```\n{'x = 1' * 400}\n```\n") == filters.CODE_HEAVY
    assert kind(assistant_text=CODE * 3 + "It is said in words. " * 10) == filters.CONVERSATIONAL


def test_ten_calls_make_a_turn_tool_heavy_and_at_most_one_conversational() -> None:
    assert kind(*[RUN] * 10) == filters.TOOL_HEAVY
    assert kind(*[RUN] * 9) == filters.ORDINARY
    assert kind(RUN) == kind() == filters.CONVERSATIONAL


def test_errors_take_precedence_over_code_and_code_over_calls() -> None:
    assert kind(*[FAILED] * 4, *[EDIT] * 8) == filters.ERROR_HEAVY
    assert kind(*[EDIT] * 10) == filters.CODE_HEAVY


def test_an_empty_turn_has_a_kind() -> None:
    assert kind(user_text="", assistant_text="") == filters.CONVERSATIONAL


def test_a_config_accepts_exactly_the_existing_kinds() -> None:
    assert get_args(TurnKind) == filters.KINDS


def test_the_table_contains_the_kind_of_every_turn() -> None:
    table = frames.episode_table(frames.turns(turn("a"), turn("b", tool_calls=(FAILED, FAILED))))
    assert dict(table.select("prompt_id", "kind").iter_rows()) == {
        "a": filters.CONVERSATIONAL,
        "b": filters.ERROR_HEAVY,
    }


@pytest.mark.full
@pytest.mark.archives
@real_archives.needs_archives
def test_no_kind_has_more_than_half_of_the_turns_of_real_agents(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    lake = Lake(tmp_path_factory.mktemp("lake"))
    parsing.parse_archives(
        parsing.expand([real_archives.ARCHIVES]).archives, lake, redactor=SecretRedactor()
    )
    turns = pl.concat([lake.scan_turns(group) for group in lake.groups()]).filter(
        pl.col("format").is_in(["claude_code", "codex"])
    )
    shares = turns.select(TURN_KIND.alias("kind")).collect()["kind"].value_counts(normalize=True)
    assert set(shares["kind"]) == set(filters.KINDS)
    assert shares["proportion"].max() < 0.5  # type: ignore[operator]  # a float
