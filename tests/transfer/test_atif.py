"""ATIF: a trajectory has the fields of the published schema, and gives the turns that it is of."""

from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given

from tests.builders import subagent, tool, turn
from tests.transfer.contents import HOSTILE, TEXTS, content
from turnetl import formats
from turnetl.transfer.atif import to_atif
from turnetl.transfer.content import ExportContent, ExportedTurn


class AtifObject(msgspec.Struct, forbid_unknown_fields=True):
    """What all parts of the schema allow: `extra`, and no field that it does not name."""


class ToolCall(AtifObject):
    tool_call_id: str
    function_name: str
    arguments: dict[str, Any]


class Reference(AtifObject):
    trajectory_id: str
    extra: dict[str, str] = {}


class Result(AtifObject):
    source_call_id: str | None = None
    content: str | None = None
    subagent_trajectory_ref: list[Reference] = []


class Observation(AtifObject):
    results: list[Result]


class Metrics(AtifObject):
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    extra: dict[str, int] = {}


class Step(AtifObject):
    step_id: int
    source: Literal["user", "agent"]
    message: str
    timestamp: str | None = None
    model_name: str | None = None
    tool_calls: list[ToolCall] = []
    observation: Observation | None = None
    metrics: Metrics | None = None
    extra: dict[str, Any] = {}


class Agent(AtifObject):
    name: str
    version: str
    model_name: str | None = None
    extra: dict[str, Any] = {}


class Totals(AtifObject):
    total_prompt_tokens: int
    total_completion_tokens: int
    total_cached_tokens: int
    total_steps: int


class SubagentTrajectory(AtifObject):
    schema_version: Literal["ATIF-v1.7"]
    trajectory_id: str
    agent: Agent
    steps: list[Step]
    final_metrics: Totals
    extra: dict[str, Any]


class Trajectory(AtifObject):
    schema_version: Literal["ATIF-v1.6", "ATIF-v1.7"]
    session_id: str
    agent: Agent
    steps: list[Step]
    notes: str
    final_metrics: Totals
    extra: dict[str, Any]
    subagent_trajectories: list[SubagentTrajectory] = []


def check(exported: ExportContent) -> None:
    files = to_atif(exported)
    assert len(files) == len(exported.sessions)
    for session, data in zip(exported.sessions, files.values(), strict=True):
        trajectory = msgspec.json.decode(data, type=Trajectory)
        steps = trajectory.steps
        assert [step.step_id for step in steps] == [*range(1, len(steps) + 1)]
        for step in steps:
            results = step.observation.results if step.observation else []
            called = [call.tool_call_id for call in step.tool_calls]
            assert [result.source_call_id for result in results] == called
        atif = formats.sniff(data)
        assert atif is not None
        turns = [one.turn for one in session.turns if one.turn.user_text.strip()]
        for given_turn, read in zip(turns, atif.read(data).turns, strict=True):
            assert read.user_text == given_turn.user_text
            assert "\n\n".join(read.assistant_texts) == given_turn.assistant_text.strip() or (
                read.assistant_texts == [given_turn.assistant_text]
            )
            assert [(one.name, one.result, one.is_error) for one in read.tool_calls] == [
                (one.name, one.result, one.is_error) for one in given_turn.tool_calls
            ]
            assert read.started_at == given_turn.started_at
            said = [text for text in given_turn.steering if text.strip()]
            assert read.steering == said


def test_hostile_texts_are_read_back(subtests: pytest.Subtests) -> None:
    for text in HOSTILE:
        with subtests.test(text=text):
            check(content(text))


@given(TEXTS)
def test_every_text_is_read_back(text: str) -> None:
    check(content(text))


def test_tokens_and_arguments_are_read_back_as_they_were() -> None:
    calls = (tool("Bash", "pytest -q", "ok"), tool("grep", '{"pattern":"x"}', "1"))
    counts: dict[str, Any] = {"input_tokens": 300, "output_tokens": 80, "reasoning_tokens": 12}
    one = turn(tool_calls=calls, cache_write_tokens=20, cache_read_tokens=200, **counts)
    (data,) = to_atif(ExportContent([ExportedTurn(one, None, 0)])).values()
    atif = formats.sniff(data)
    assert atif is not None
    (read,) = atif.read(data).turns
    assert [call.input for call in read.tool_calls] == ["pytest -q", '{"pattern":"x"}']
    (usage,) = read.usage.values()
    assert usage.tokens() == (300, 20, 200, 80, 12)
    totals = msgspec.json.decode(data, type=Trajectory).final_metrics
    assert (totals.total_prompt_tokens, totals.total_cached_tokens) == (520, 200)


def test_the_work_of_subagents_is_read_back_with_the_turn_that_started_it() -> None:
    call = tool("Bash", "pytest -q", "3 failed", is_error=True)
    runs = [
        subagent("a1", call, type="Explore", prompt="Look", answer="Here"),
        subagent("a2", type=None, prompt="Write", answer="Done"),
    ]
    turns = [turn(f"p{n}", ordinal=n, subagents=(run,)) for n, run in enumerate(runs)]
    (data,) = to_atif(ExportContent([ExportedTurn(one, None, 0) for one in turns])).values()
    written = msgspec.json.decode(data, type=Trajectory)
    assert written.schema_version == "ATIF-v1.7"
    assert [one.trajectory_id for one in written.subagent_trajectories] == ["a1", "a2"]
    atif = formats.sniff(data)
    assert atif is not None
    read = atif.read(data)
    assert [[(one.agent_id, one.type) for one in each.subagent_calls] for each in read.turns] == [
        [("a1", "Explore")],
        [("a2", None)],
    ]
    assert [(run.agent_id, run.user_text, run.assistant_texts) for run in read.runs] == [
        ("a1", "Look", ["Here"]),
        ("a2", "Write", ["Done"]),
    ]
    (step,) = read.runs[0].tool_calls
    assert (step.name, step.result, step.is_error) == ("Bash", "3 failed", True)
