"""Trajectories in Harbor's Agent Trajectory Interchange Format (ATIF), which many agents export.

A step is of the user, the agent or the system. Trajectories of subagents are in the same document.
"""

from functools import partial
from typing import Any

import msgspec

from turnetl.base.reason import SkipReason
from turnetl.formats.kit.conversation import Conversation
from turnetl.formats.kit.conversation_archives import read_messages
from turnetl.formats.kit.message_parts import at, first_of, objects, plain_text, text_of
from turnetl.formats.kit.row_decoder import Envelope, RowDecoder, decode_lenient
from turnetl.formats.kit.times import parse_time
from turnetl.formats.kit.usage import OpenAIUsage
from turnetl.formats.port import ParsedArchive, Probe


class AtifStep(msgspec.Struct):
    """A step; the results of its calls are its observation."""

    step_id: int | None = None
    timestamp: str | None = None
    source: str | None = None
    model_name: str | None = None
    message: Any = None
    tool_calls: Any = None
    observation: Any = None
    metrics: dict[str, Any] = {}
    is_copied_context: bool | None = None
    extra: dict[str, Any] = {}


_STEPS = RowDecoder(AtifStep, Envelope(own=(("step_id", "source"),)))


class Atif:
    def sniff(self, probe: Probe) -> bool:
        """Recognise the archive by the version of its schema, and its steps."""
        version = str(probe.first.get("schema_version"))
        return version.startswith("ATIF-") and "steps" in probe.first

    def read(self, data: bytes) -> ParsedArchive:
        return read_messages(data, "steps", _STEPS, _read, _describe)


def _describe(talk: Conversation, fields: dict[str, Any]) -> None:
    agent = fields.get("agent")
    # Harbor lists all folders and branches of the session.
    cwd, branch = (
        next(iter(_listed(at(agent, "extra", key))), None) for key in ("cwds", "git_branches")
    )
    version, model = at(agent, "version"), at(agent, "model_name")
    session = fields.get("session_id") or fields.get("trajectory_id")
    talk.describe(session, cwd, branch, version, model)
    for one in objects(fields.get("subagent_trajectories")):
        name = one.get("trajectory_id")
        for step in objects(one.get("steps")):
            talk.time = parse_time(step.get("timestamp"))
            key, usage = f"{name} {step.get('step_id')}", _usage(step.get("metrics"))
            model = at(one, "agent", "model_name")
            read = partial(_read, step=decode_lenient(AtifStep, step))
            talk.sidechain(read, name, key, OpenAIUsage, usage, model)


def _read(talk: Conversation, step: AtifStep) -> SkipReason | None:
    talk.time = parse_time(step.timestamp)
    key = None if step.step_id is None else f"{step.step_id}"
    if step.is_copied_context:
        return SkipReason.COPY
    if step.source != "agent":
        return talk.content(step.source, step.message, key)
    talk.describe(model=step.model_name)
    reasons = [talk.content("assistant", step.message)]
    for call in objects(step.tool_calls):
        given = call.get("arguments")
        if isinstance(given, dict) and given.keys() == {"input"}:
            given = given["input"]
        reasons.append(talk.call(call.get("function_name"), given, call.get("tool_call_id")))
    failed, steering = (_listed(step.extra.get(name)) for name in ("failed_call_ids", "steering"))
    for result in objects(at(step.observation, "results")):
        called, output = result.get("source_call_id"), plain_text(result.get("content"))
        for ref in objects(result.get("subagent_trajectory_ref")):
            agent, kind = text_of(ref.get("trajectory_id")), at(ref, "extra", "subagent_type")
            talk.builder.link(talk.turn(), text_of(called), agent, text_of(kind))
        if called is not None or output:
            reasons.append(talk.result(called, output, is_error=called in failed))
    reasons += [talk.steer(text) for text in steering]
    for answer in _listed(step.extra.get("user_answers")):
        talk.builder.add_answer(talk.turn(), text_of(answer))
    talk.usage(key, OpenAIUsage, _usage(step.metrics))
    return first_of(reasons)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _usage(metrics: Any) -> dict[str, Any] | None:
    """Return the tokens under the names of `OpenAIUsage`: the prompt includes the cache."""
    extra = at(metrics, "extra")
    usage = {
        "input_tokens": at(metrics, "prompt_tokens"),
        "cached_input_tokens": at(metrics, "cached_tokens"),
        "cache_write_input_tokens": at(extra, "cache_creation_input_tokens"),
        "output_tokens": at(metrics, "completion_tokens"),
        "reasoning_output_tokens": at(extra, "reasoning_tokens"),
    }
    return usage if any(count is not None for count in usage.values()) else None
