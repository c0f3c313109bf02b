"""A message with its parts, independent of OpenCode's version and of where the parts were."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from turnetl.formats.base import SourceSpan
from turnetl.formats.kit.times import parse_timestamp
from turnetl.formats.opencode.rows import (
    MessageInfo,
    MessageMetadata,
    OpenCodeLocation,
    OpenCodePart,
    OpenCodeTime,
    RawTimestamp,
    ToolMetadata,
    ToolState,
)

_MILLISECONDS = range(10**12, 5 * 10**12)
"""Since 1970, in the years 2001 to 2128."""


@dataclass(slots=True)
class OpenCodeMessage:
    """A message and its parts in order, each with its span."""

    info: MessageInfo
    span: SourceSpan
    parts: list[tuple[OpenCodePart, SourceSpan]] = field(default_factory=list)

    @property
    def created(self) -> datetime | None:
        return parse_raw_timestamp(self.info.time.created) if self.info.time is not None else None

    @property
    def all_parts(self) -> list[OpenCodePart]:
        return [part for part, _ in self.parts]

    @property
    def spans(self) -> list[SourceSpan]:
        """The message's own span and those of its parts."""
        return [self.span, *(span for _, span in self.parts)]


def build_message(
    span: SourceSpan, info: MessageInfo, parts: Iterable[OpenCodePart] = ()
) -> OpenCodeMessage:
    """Return a message with the parts beside it or inside it."""
    included = [*parts, *(info.parts or [])]
    if info.metadata is not None and info.time is None:
        included = [_converted_part(part, info.metadata) for part in included]
        info = _converted_info(info, info.metadata)
    return OpenCodeMessage(info, span, [(part, span) for part in included])


def parse_raw_timestamp(value: RawTimestamp) -> datetime | None:
    """Return a time given in milliseconds, or in any form of `parse_timestamp`, or as digits."""
    if isinstance(value, int) and value in _MILLISECONDS:
        return datetime.fromtimestamp(value / 1000, UTC)
    return parse_timestamp(int(value) if isinstance(value, str) and value.isdecimal() else value)


def folder_of(location: OpenCodeLocation | str | None) -> str | None:
    if isinstance(location, OpenCodeLocation):
        return location.cwd or location.directory
    return location or None


def _converted_info(info: MessageInfo, metadata: MessageMetadata) -> MessageInfo:
    """Convert a message of before mid-2025 to the current form."""
    model = metadata.assistant
    return MessageInfo(
        id=info.id,
        role=info.role,
        session_id=info.session_id or metadata.session_id,
        parent_id=info.parent_id,
        model_id=model.model_id if model is not None else info.model_id,
        path=model.path if model is not None else info.path,
        summary=model.summary if model is not None else info.summary,
        error=info.error or metadata.error,
        tokens=model.tokens if model is not None else info.tokens,
        time=info.time or metadata.time,
    )


def _converted_part(part: OpenCodePart, metadata: MessageMetadata) -> OpenCodePart:
    """Convert a part of before mid-2025 to the current form."""
    call = part.invocation
    if call is None:
        return part
    result = (metadata.tool or {}).get(call.tool_call_id or "", ToolMetadata())
    status = {"call": "running", "result": "completed"}.get(call.state or "", "pending")
    state = ToolState(
        status="error" if result.error is True else status,
        input=call.args,
        output=call.result,
        error=call.result or result.message,
        time=_time(result.time),
    )
    return OpenCodePart(type="tool", tool=call.tool_name, state=state)


def _time(value: object) -> OpenCodeTime | None:
    end = value.get("end") if isinstance(value, dict) else None
    return OpenCodeTime(end=end) if isinstance(end, int | float | str) else None
