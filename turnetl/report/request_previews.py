"""The requests of a turn that is to be read: text that a template's author reads, and JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.text import Text

from turnetl.extraction.request_preview import RequestPreview


def text(found: Sequence[RequestPreview]) -> RenderableType:
    """Every message of every request, as the model would read it."""
    if not found:
        return Text("No turn is ready, or none of them would be shown to a model.")
    return Group(*(line for request in found for line in _lines(request)), Text(_caption(found)))


def as_json(found: Sequence[RequestPreview]) -> dict[str, Any]:
    return {
        "requests": [asdict(request) for request in found],
        "tokens": sum(request.tokens for request in found if not request.is_known),
    }


def _lines(request: RequestPreview) -> Iterator[RenderableType]:
    yield Rule()
    yield _whole(f"turn {request.turn_id}, {request.prompt}, to {request.model}")
    yield Text(_about(request), style="dim")
    for said in request.messages:
        yield Text(f"\n[{said.role}]", style="bold")
        yield _whole(said.text)


def _whole(text: str) -> Text:
    """Return a text whose lines are those that it has."""
    return Text(text, no_wrap=True, overflow="ignore")


def _about(request: RequestPreview) -> str:
    said = [f"about {request.tokens:,} tokens"]
    if request.schema:
        said.append(f"answered as {request.schema} in at most {request.max_tokens:,}")
    if request.is_known:
        said.append("its answer is in the journal: it would not be sent")
    if request.has_stand_in:
        said.append("with a stand-in for what the first answer will name")
    return "; ".join(said)


def _caption(found: Sequence[RequestPreview]) -> str:
    new = [request for request in found if not request.is_known]
    turns = len({request.turn_id for request in found})
    return (
        f"\n{len(found)} requests to read {turns} turn{'s' * (turns != 1)}, {len(new)} of them "
        f"to be sent: about {sum(request.tokens for request in new):,} tokens. Those that match "
        "what is found against the group follow."
    )
