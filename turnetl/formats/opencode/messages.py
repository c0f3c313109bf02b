"""A message with its parts, whatever version wrote it and wherever the parts lay."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from turnetl.formats.base import SourceSpan
from turnetl.formats.kit.times import parse_timestamp
from turnetl.formats.opencode.rows import Info, Metadata, Part, Result, Stamp, State, Time, Where

_MILLISECONDS = range(10**12, 5 * 10**12)
"""Since 1970, in the years 2001 to 2128."""


@dataclass(slots=True)
class Message:
    """A message, where it stands, and its parts in order, each where it stands."""

    info: Info
    place: SourceSpan
    parts: list[tuple[Part, SourceSpan]] = field(default_factory=list)

    @property
    def created(self) -> datetime | None:
        return when(self.info.time.created) if self.info.time is not None else None

    @property
    def pieces(self) -> list[Part]:
        return [part for part, _ in self.parts]


def message(place: SourceSpan, info: Info, parts: Iterable[Part] = ()) -> Message:
    """Put a message together, with the parts that stand where it stands, or inside it."""
    inside = [*parts, *(info.parts or [])]
    if info.metadata is not None and info.time is None:
        inside = [_modern(part, info.metadata) for part in inside]
        info = _with_metadata(info, info.metadata)
    return Message(info, place, [(part, place) for part in inside])


def when(value: Stamp) -> datetime | None:
    """Return a time: milliseconds, or whatever else tools write, numbers as text among it."""
    if isinstance(value, int) and value in _MILLISECONDS:
        return datetime.fromtimestamp(value / 1000, UTC)
    return parse_timestamp(int(value) if isinstance(value, str) and value.isdecimal() else value)


def folder(where: Where | str | None) -> str | None:
    if isinstance(where, Where):
        return where.cwd or where.directory
    return where or None


def _with_metadata(info: Info, said: Metadata) -> Info:
    """Return a message of before mid-2025 as later ones are."""
    model = said.assistant
    return Info(
        id=info.id,
        role=info.role,
        session_id=info.session_id or said.session_id,
        parent_id=info.parent_id,
        model_id=model.model_id if model is not None else info.model_id,
        path=model.path if model is not None else info.path,
        summary=model.summary if model is not None else info.summary,
        error=info.error or said.error,
        tokens=model.tokens if model is not None else info.tokens,
        time=info.time or said.time,
    )


def _modern(part: Part, said: Metadata) -> Part:
    """Return a part of before mid-2025 as later ones are."""
    call = part.invocation
    if call is None:
        return part
    result = (said.tool or {}).get(call.tool_call_id or "", Result())
    status = {"call": "running", "result": "completed"}.get(call.state or "", "pending")
    state = State(
        status="error" if result.error is True else status,
        input=call.args,
        output=call.result,
        error=call.result or result.message,
        time=_time(result.time),
    )
    return Part(type="tool", tool=call.tool_name, state=state)


def _time(value: object) -> Time | None:
    end = value.get("end") if isinstance(value, dict) else None
    return Time(end=end) if isinstance(end, int | float | str) else None
