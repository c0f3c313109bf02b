"""Sessions: a list of them, and the command that continues one in its agent."""

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from turnetl.base.errors import BadUsage
from turnetl.base.graph_model import Receipt
from turnetl.base.model import GroupId, SessionId
from turnetl.base.results import INLINED, described
from turnetl.base.text import one_line
from turnetl.index.conditions import Selection
from turnetl.index.lookup import IndexedItem, ItemKind
from turnetl.retrieval.items import find_item
from turnetl.retrieval.turn_summary import summarize

if TYPE_CHECKING:  # the index itself imports its libraries
    from turnetl.index.persistent import PersistentIndex

_TITLED = 3
"""Turns at the beginning of a session of which the first intent is its title."""
Resume = Annotated[
    str | None,
    described("Shell command that continues the session in its agent; null if none does."),
]


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A session in a few lines."""

    session_id: Annotated[SessionId, described("Id of the session.")]
    group_id: Annotated[GroupId, described("Id of the group of its first turn.", name="group")]
    format: Annotated[str, described("Format of its archive, which names the agent.")]
    title: Annotated[str, described("Its first intent; empty if it has none.")]
    started_at: Annotated[datetime, described("Time of its first prompt.")]
    ended_at: Annotated[datetime, described("Time of its last prompt.")]
    turns: Annotated[int, described("Its turns.")]
    resume: Resume
    first: Receipt
    """Of the first turn, whose folder is the session's."""


@dataclass(frozen=True, slots=True)
class SessionList:
    """The last sessions with a turn that meets the conditions."""

    sessions: Annotated[tuple[SessionSummary, ...], described("The sessions, newest first.")]
    count: Annotated[int, described("How many sessions have such a turn.")]


@dataclass(frozen=True, slots=True)
class Resumption:
    """How a session is continued in its agent on this machine."""

    session: Annotated[SessionSummary, INLINED]
    command: Annotated[
        tuple[str, ...], described("The program and its arguments; empty if there is none.")
    ]
    folder: Annotated[
        Path | None, described("The folder to start it in; null if the archive names none.")
    ]
    problem: Annotated[
        str | None, described("Why the session cannot be continued here; null if it can.")
    ]


def list_sessions(index: "PersistentIndex", selection: Selection, *, limit: int) -> SessionList:
    """Return the sessions with a turn that meets the conditions, that of the newest turn first."""
    found, count = index.newest_sessions(selection, limit)
    return SessionList(tuple(session_summary(index, one) for one in found), count)


def session_summary(index: "PersistentIndex", session_id: SessionId) -> SessionSummary:
    """Return a session that the index holds."""
    keys = index.lookup().session(session_id)
    titled = summarize(index, [*dict.fromkeys((*keys[:_TITLED], keys[-1]))])
    first, last = titled[0].receipt, titled[-1].receipt
    return SessionSummary(
        session_id=session_id,
        group_id=first.group_id,
        format=first.format,
        title=next((turn.intent for turn in titled if turn.intent), ""),
        started_at=first.started_at,
        ended_at=last.started_at,
        turns=len(keys),
        resume=resume_command(first),
        first=first,
    )


def find_session(index: "PersistentIndex", text: str, directory: Path) -> SessionId | None:
    """Return the session that an id, the beginning of one, or a turn's id leads to.

    None if the text leads to nothing: it may be the words of a search.

    Raises:
        BadUsage: several items match (`AmbiguousItem`), or one that is of no session.
    """
    if " " in text.strip() or not index.lookup().with_prefix(text.strip(), 1):
        return None
    match find_item(index, text, directory)[0]:
        case IndexedItem(ItemKind.SESSION, session):
            return SessionId(session)
        case IndexedItem(ItemKind.TURN, turn):
            key = index.lookup().turn_key(turn)
            return None if key is None else index.turns([key])[key].receipt.session_id
        case item:
            raise BadUsage(f"`{text}` is of a {item.kind}, not of a session: `turnetl sessions`")


def resumption(
    session: SessionSummary,
    *,
    program: Callable[[str], str | None],
    exists: Callable[[str], bool],
) -> Resumption:
    """Return how a session is continued, and why it cannot be.

    Args:
        program: returns the path of an installed program, else None.
        exists: whether a folder or an archive exists here.
    """
    command, folder = _command(session.first), _folder(session.first)
    problem = _problem(session, command, folder, program, exists)
    return Resumption(session, command, None if folder is None else Path(folder), problem)


def _problem(
    session: SessionSummary,
    command: tuple[str, ...],
    folder: str | None,
    program: Callable[[str], str | None],
    exists: Callable[[str], bool],
) -> str | None:
    archive = session.first.archive
    if not command:
        return f"no program continues this session: {_without_command(session.first)}"
    if program(command[0]) is None:
        return f"`{command[0]}` is not installed, or not in PATH"
    if folder is not None and not exists(folder):
        return f"its folder is gone: `{folder}`"
    if _REDACTED not in archive and not exists(archive):
        return f"its transcript was deleted: `{archive}`; the turns stay in the graph"
    return None


_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_OPENCODE_ID = re.compile(r"ses_\w{8,64}", re.ASCII)
_AMP_ID = re.compile(rf"T-{_UUID.pattern}", re.IGNORECASE)
_COMMANDS = {
    "claude_code": (_UUID, ("claude", "--resume")),
    "codex": (_UUID, ("codex", "resume")),
    "gemini_json": (_UUID, ("gemini", "--resume")),
    "gemini_jsonl": (_UUID, ("gemini", "--resume")),
    "opencode": (_OPENCODE_ID, ("opencode", "-s")),
    "copilot": (_UUID, ("copilot", "--resume")),
    "cursor": (_UUID, ("cursor-agent", "--resume")),
    "qwen": (_UUID, ("qwen", "--resume")),
    "amp": (_AMP_ID, ("amp", "threads", "continue")),
}
"""By format: what the agent's session ids look like, and the command that takes one. The formats
without an entry are exports, or of agents that continue no session by its id."""
_OF_EDITOR = "state.vscdb"
"""The database of Cursor's editor, whose chats its command line does not know."""
_REDACTED = "[REDACTED:"


def _command(receipt: Receipt) -> tuple[str, ...]:
    """Return the program and arguments that continue a session; none for one that cannot be.

    That is an export, a session of a subagent, or one whose archive has no id.
    """
    pattern, words = _COMMANDS.get(receipt.format, (None, ()))
    if pattern is None or receipt.agent_id is not None or _OF_EDITOR in receipt.archive:
        return ()
    # Anchored, because the id comes from an archive and becomes part of a command.
    return (*words, receipt.session_id) if pattern.fullmatch(receipt.session_id) else ()


def _without_command(receipt: Receipt) -> str:
    """Return why no command continues a session."""
    if receipt.agent_id is not None:
        return "it is of a subagent"
    if receipt.format not in _COMMANDS or _OF_EDITOR in receipt.archive:
        return f"it is of `{receipt.format}`"
    _, (program, *_) = _COMMANDS[receipt.format]
    return f"`{program}` gives no session an id like `{one_line(receipt.session_id, 60)}`"


def _folder(receipt: Receipt) -> str | None:
    """Return the folder of a session; None if it is unknown, redacted or cannot be typed."""
    directory = receipt.cwd
    is_known = directory and _REDACTED not in directory and directory.isprintable()
    return directory if is_known else None


def resume_command(receipt: Receipt) -> str | None:
    """Return the shell command that continues the session of a turn, in its directory.

    Agents find a session only from the directory in which it was started.
    """
    if not (command := _command(receipt)):
        return None
    folder = _folder(receipt)
    resume = shlex.join(command)
    return resume if folder is None else f"cd {shlex.quote(folder)} && {resume}"
