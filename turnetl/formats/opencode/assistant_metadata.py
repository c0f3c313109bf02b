"""What an answer adds to its turn beside words: calls, tokens, the model, an end."""

from collections.abc import Iterable

from turnetl.formats.base import ParseCounts, RawToolCall, RawTurn
from turnetl.formats.kit.tool_input import compact_json, format_input
from turnetl.formats.opencode import authorship
from turnetl.formats.opencode.messages import Message, when
from turnetl.formats.opencode.rows import Info, Part, State
from turnetl.model import ClosedBy

_SUBAGENTS = ("task",)
_GOES_ON = ("tool-calls", "unknown")


def use(part: Part, turn: RawTurn, counts: ParseCounts) -> None:
    """Add a call, what came of it, and what a person said by way of it."""
    state = part.state or State()
    tool = RawToolCall(
        name=part.tool or part.name or "",
        input=format_input(state.input),
        result=_outcome(state),
        is_error=state.status == "error",
        ended_at=when(state.time.end) if state.time is not None else None,
    )
    turn.tool_calls.append(tool)
    turn.input_chars += len(compact_json(state.input)) if state.input is not None else 0
    counts.tool_calls += 1
    if (said := authorship.answer(state)) is not None:
        turn.user_answers.append(said)
        counts.user_answers += 1
    if tool.name in _SUBAGENTS and isinstance(state.input, dict):
        prompt = state.input.get("prompt")
        turn.subagent_prompts += [prompt] if isinstance(prompt, str) else []


def bill(message: Message, turn: RawTurn) -> None:
    """Count each request to the model once: a message is one, or a step of it."""
    key = message.info.id or f"at {message.place.start}"
    steps = [part.tokens for part in message.pieces if part.type == "step-finish"]
    billed = steps if any(steps) else [message.info.tokens]
    for number, tokens in enumerate(billed):
        if tokens is not None:
            turn.usage[f"{key}:{number}"] = (tokens.input or 0, tokens.output or 0)


def model(info: Info) -> str | None:
    """Return the model that a message names."""
    named = info.model
    return info.model_id or (named and (named.model_id or named.id)) or None


def ended_by(info: Info, parts: Iterable[Part]) -> ClosedBy | None:
    """Return what ended the turn, if this is its last message: the agent goes on after a call."""
    if info.error is not None:
        return ClosedBy.INTERRUPTED
    completed = info.time is not None and info.time.completed is not None
    if not completed or info.finish is None or info.finish in _GOES_ON:
        return None
    return None if any(part.type == "tool" for part in parts) else ClosedBy.SESSION_END


def _outcome(state: State) -> str:
    result = state.error if state.status == "error" else state.output
    if result is None:
        return ""
    return result if isinstance(result, str) else compact_json(result)
