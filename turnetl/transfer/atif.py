"""Harbor's Agent Trajectory Interchange Format (ATIF): a file per session, two steps per turn.

The lake keeps no order of texts and calls within a turn, and calls on one line: the agent's step
has all of them, and arguments are `{"input": …}` unless the line is a JSON object.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import msgspec

from turnetl.base.edit_outline import without_outline
from turnetl.base.model import ToolCall, Turn
from turnetl.transfer.content import ExportContent, ExportedSession
from turnetl.transfer.markdown import session_name

VERSION = "ATIF-v1.6"
"""Readers of later versions accept it; nothing that is written needs one."""


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
    metrics = [_metrics(turn) for turn in turns]
    totals = {f"total_{name}": sum(one.get(name, 0) for one in metrics) for name in _TOKENS}
    return {
        "schema_version": VERSION,
        "session_id": session.session_id or "unknown",
        "agent": _known(agent),
        "steps": [{"step_id": number} | step for number, step in enumerate(steps, 1)],
        "notes": "Each turn is a step of the user and one of the agent, with all of its calls.",
        "final_metrics": totals | {"total_steps": len(steps)},
        "extra": {"group_id": session.group_id, "archives": _distinct(t.archive for t in turns)},
    }


_TOKENS = ("prompt_tokens", "completion_tokens", "cached_tokens")


def _steps(turn: Turn) -> Iterator[dict[str, Any]]:
    lineage = {"turn_id": turn.turn_id, "lines": [turn.first_line, turn.last_line]}
    prompt = {"timestamp": _time(turn.started_at), "source": "user", "message": turn.user_text}
    yield _known(prompt | {"extra": lineage})
    said = {"steering": turn.steering, "user_answers": turn.user_answers}
    extra = {name: texts for name, texts in said.items() if texts}
    calls = {f"{turn.turn_id}-{number}": call for number, call in enumerate(turn.tool_calls)}
    if failed := tuple(key for key, call in calls.items() if call.is_error):
        extra["failed_call_ids"] = failed
    results = [{"source_call_id": key, "content": call.result} for key, call in calls.items()]
    if not (turn.assistant_text or calls or extra or turn.output_tokens):
        return
    yield _known(
        {
            "timestamp": _time(turn.ended_at),
            "source": "agent",
            "model_name": turn.model,
            "message": turn.assistant_text,
            "tool_calls": [_call(key, call) for key, call in calls.items()] or None,
            "observation": {"results": results} if results else None,
            "metrics": _metrics(turn) or None,
            "extra": extra or None,
        }
    )


def _call(key: str, call: ToolCall) -> dict[str, Any]:
    try:
        arguments = msgspec.json.decode(without_outline(call.input), type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        arguments = {"input": without_outline(call.input)}
    return {"tool_call_id": key, "function_name": call.name, "arguments": arguments}


def _metrics(turn: Turn) -> dict[str, Any]:
    """Return the tokens of all requests of a turn; the prompt includes the cache."""
    written, cached = turn.cache_write_tokens, turn.cache_read_tokens
    # Without `usage`, an older turnetl wrote the turn, and what the input includes differs.
    prompt = turn.input_tokens + (written or 0) + (cached or 0)
    if not prompt and not turn.output_tokens:
        return {}
    extra = {
        "cache_creation_input_tokens": written,
        "reasoning_tokens": turn.reasoning_tokens,
    }
    return _known(
        {
            "prompt_tokens": prompt,
            "completion_tokens": turn.output_tokens,
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
