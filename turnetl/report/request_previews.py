"""The requests that a run would send, as text that a template's author can read."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from turnetl.base.text import plural
from turnetl.extraction.request_preview import RequestPreview
from turnetl.report.layout import unwrapped

_RULE = "─" * 80


def text(previews: Sequence[RequestPreview]) -> RenderableType:
    """Render every message of every request as the model would receive it."""
    if not previews:
        return Text("No request would be sent.")
    lines = [line for preview in previews for line in _lines(preview)]
    return Group(*lines, Text(_summary(previews)))


def _lines(preview: RequestPreview) -> Iterator[RenderableType]:
    yield unwrapped(_RULE)
    yield unwrapped(f"turn {preview.turn_id}, {preview.prompt}, to {preview.model}")
    yield Text(_details(preview), style="dim")
    for message in preview.messages:
        yield Text(f"\n[{message.role}]", style="bold")
        yield unwrapped(message.text)


def _details(preview: RequestPreview) -> str:
    parts = [f"about {preview.tokens:,} tokens"]
    if preview.schema:
        parts.append(f"response: {preview.schema}, at most {preview.max_tokens:,} tokens")
    if preview.is_cached:
        parts.append("the journal holds the response: nothing would be sent")
    if preview.has_placeholder:
        parts.append("with a placeholder for what the first response will name")
    return "; ".join(parts)


def _summary(previews: Sequence[RequestPreview]) -> str:
    new = [preview for preview in previews if not preview.is_cached]
    turns = len({preview.turn_id for preview in previews})
    return (
        f"\n{plural(len(previews), 'request')} to read {plural(turns, 'turn')}, {len(new):,} of "
        f"them to be sent: about {sum(preview.tokens for preview in new):,} tokens. The requests "
        "that resolve the results against the group depend on the responses."
    )
