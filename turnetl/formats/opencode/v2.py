"""The messages of OpenCode 2, as those of OpenCode 1 would have said it.

There a message is one object with a `type`; answers name no prompt and stand in order; what the
client writes itself has types of its own; `idle` ends a turn.
"""

from typing import Any

import msgspec

from turnetl.formats.kit.row_decoder import RowDecoder
from turnetl.formats.opencode.rows import Error, Info, Model, Part, Stamp, State, Time, Usage

_MACHINE = ("synthetic", "system", "skill")


class Called(msgspec.Struct, gc=False):
    """A tool's call: `time` says when it was made and when it was done."""

    status: str | None = None
    input: Any = None
    content: Any = None
    error: Error | None = None


class Piece(msgspec.Struct, gc=False):
    """A piece of an answer: text, reasoning or tool."""

    type: str | None = None
    text: str | None = None
    name: str | None = None
    state: Called | None = None
    time: Time | None = None


class File(msgspec.Struct, gc=False):
    name: str | None = None
    mime: str | None = None


class Second(msgspec.Struct, gc=False):
    """A message of OpenCode 2."""

    type: str | None = None
    id: str | None = None
    text: str | None = None
    files: list[File] | None = None
    content: list[Piece] | None = None
    model: Model | None = None
    finish: str | None = None
    outcome: str | None = None
    error: Error | None = None
    tokens: Usage | None = None
    time: Time | None = None


SECONDS = RowDecoder(Second)


def as_first(row: Second) -> tuple[Info, list[Part]]:
    """Return a message and its parts."""
    machine = row.type in _MACHINE
    info = Info(
        id=row.id,
        role="user" if machine else row.type,
        model=row.model,
        finish=row.outcome or row.finish,
        error=row.error,
        tokens=row.tokens,
        time=row.time,
    )
    parts = [_piece(piece) for piece in row.content or []]
    if row.text is not None:
        parts.append(Part(type="text", text=row.text, synthetic=machine))
    parts += [Part(type="file", filename=file.name, mime=file.mime) for file in row.files or []]
    return info, parts


def _piece(piece: Piece) -> Part:
    called = piece.state
    if called is None:
        return Part(type=piece.type, text=piece.text)
    said = "\n".join(filter(None, map(_text, _listed(called.content))))
    error = called.error.message if called.error is not None else None
    state = State(
        status=called.status,
        input=called.input,
        output=said,
        error=error or said,
        time=Time(end=_done(piece.time)),
    )
    return Part(type=piece.type, tool=piece.name, state=state)


def _done(time: Time | None) -> Stamp:
    return time.completed if time is not None else None


def _listed(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [content]


def _text(content: Any) -> str | None:
    text = content.get("text") if isinstance(content, dict) else content
    return text if isinstance(text, str) else None
