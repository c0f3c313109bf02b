"""Harbor's Agent Trajectory Interchange Format (ATIF): a file per session, two steps per turn.

The lake keeps no order of texts and calls within a turn, and calls on one line: the agent's step
has all of them, and arguments are `{"input": …}` unless the line is a JSON object. A subagent has a
trajectory of its own in that of the session, to which the step of its turn refers.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec

from turnetl.base.edit_outline import without_outline
from turnetl.base.model import SubagentRun, ToolCall, Turn
from turnetl.transfer.content import ExportContent, ExportedSession
from turnetl.transfer.markdown import session_name

VERSION, EMBEDDING = "ATIF-v1.6", "ATIF-v1.7"
"""Readers of later versions accept the first; trajectories of subagents need the second."""


def to_atif(content: ExportContent) -> dict[str, bytes]:
    """Return `trajectories/<date>-….json` for each session; times are ISO 8601 in UTC."""
    return {
        f"trajectories/{session_name(session)}.json": msgspec.json.format(
            msgspec.json.encode(_trajectory(session)), indent=1
        )
        for session in content.sessions
    }


def _trajectory(session: ExportedSession) -> dict[str, Any]:
    turns = [exported.turn for exported in session.turns]
    first, last = turns[0], turns[-1]
    steps = [step for turn in turns for step in _steps(turn)]
    agent = {
        "name": first.format,
        "version": last.app_version or "unknown",
        "model_name": last.model,
        "extra": {
            "cwds": _distinct(turn.cwd for turn in turns),
            "git_branches": _distinct(turn.git_branch for turn in turns),
        },
    }
    runs = [run for turn in turns for run in turn.subagents]
    return _known(
        {
            "schema_version": EMBEDDING if runs else VERSION,
            "session_id": session.session_id or "unknown",
            "agent": _known(agent),
            "steps": _numbered(steps),
            "notes": "Each turn is a step of the user and one of the agent, with all of its calls.",
            "final_metrics": _totals([_metrics(turn) for turn in turns], len(steps)),
            "subagent_trajectories": [_subagent(run, last) for run in runs] or None,
            "extra": {
                "group_id": session.group_id,
                "archives": _distinct(turn.archive for turn in turns),
            },
        }
    )


def _subagent(run: SubagentRun, turn: Turn) -> dict[str, Any]:
    """Return the trajectory of a run: its prompt, and one step with its calls and its answer."""
    version, model = turn.app_version or "unknown", run.model
    prompt = {"timestamp": _time(run.started_at), "source": "user", "message": run.prompt}
    step = _agent_step(run, run.answer, run.agent_id)
    extra = {
        "archive": run.archive,
        "lines": [run.first_line, run.last_line],
        "started_by": run.started_by,
    }
    return {
        "schema_version": EMBEDDING,
        "trajectory_id": run.agent_id,
        "agent": _known({"name": run.type or turn.format, "version": version, "model_name": model}),
        "steps": _numbered([_known(prompt), _known(step)]),
        "final_metrics": _totals([_metrics(run)], 2),
        "extra": _known(extra),
    }


def _numbered(steps: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"step_id": number} | step for number, step in enumerate(steps, 1)]


def _totals(metrics: Sequence[dict[str, Any]], steps: int) -> dict[str, Any]:
    totals = {f"total_{name}": sum(one.get(name, 0) for one in metrics) for name in _TOKENS}
    return totals | {"total_steps": steps}


_TOKENS = ("prompt_tokens", "completion_tokens", "cached_tokens")


def _steps(turn: Turn) -> Iterator[dict[str, Any]]:
    lineage = {"turn_id": turn.turn_id, "lines": [turn.first_line, turn.last_line]}
    prompt = {"timestamp": _time(turn.started_at), "source": "user", "message": turn.user_text}
    yield _known(prompt | {"extra": lineage})
    said = {"steering": turn.steering, "user_answers": turn.user_answers}
    extra = {name: texts for name, texts in said.items() if texts}
    step = _agent_step(turn, turn.assistant_text, turn.turn_id, extra)
    if turn.assistant_text or turn.tool_calls or step["extra"] or turn.subagents or step["metrics"]:
        yield _known(step)


def _agent_step(
    work: Turn | SubagentRun, message: str, prefix: str, extra: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the step of an agent; its results end with references to what its subagents did."""
    calls = {f"{prefix}-{number}": call for number, call in enumerate(work.tool_calls)}
    failed = tuple(key for key, call in calls.items() if call.is_error)
    results: list[dict[str, Any]] = [
        {"source_call_id": key, "content": call.result} for key, call in calls.items()
    ]
    if isinstance(work, Turn):
        results += [{"subagent_trajectory_ref": [_reference(run)]} for run in work.subagents]
    return {
        "timestamp": _time(work.ended_at),
        "source": "agent",
        "model_name": work.model,
        "message": message,
        "tool_calls": [_call(key, call) for key, call in calls.items()] or None,
        "observation": {"results": results} if results else None,
        "metrics": _metrics(work) or None,
        "extra": ((extra or {}) | ({"failed_call_ids": failed} if failed else {})) or None,
    }


def _reference(run: SubagentRun) -> dict[str, Any]:
    extra = {"subagent_type": run.type} if run.type else None
    return _known({"trajectory_id": run.agent_id, "extra": extra})


def _call(key: str, call: ToolCall) -> dict[str, Any]:
    try:
        arguments = msgspec.json.decode(without_outline(call.input), type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        arguments = {"input": without_outline(call.input)}
    return {"tool_call_id": key, "function_name": call.name, "arguments": arguments}


def _metrics(work: Turn | SubagentRun) -> dict[str, Any]:
    """Return the tokens of all requests of an agent; the prompt includes the cache."""
    written, cached = work.cache_write_tokens, work.cache_read_tokens
    # Without `usage`, an older turnetl wrote the turn, and what the input includes differs.
    prompt = work.input_tokens + (written or 0) + (cached or 0)
    if not prompt and not work.output_tokens:
        return {}
    extra = {
        "cache_creation_input_tokens": written,
        "reasoning_tokens": work.reasoning_tokens,
    }
    return _known(
        {
            "prompt_tokens": prompt,
            "completion_tokens": work.output_tokens,
            "cached_tokens": cached,
            "extra": _known(extra) or None,
        }
    )


def _known(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _distinct(values: Iterable[str | None]) -> list[str]:
    return [value for value in dict.fromkeys(values) if value]


def _time(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()
