"""Files in which agents keep what an archive beside them lacks: the folder, and the model.

Claude Code says of a subagent which call started it, and its type.

A session or an id is never taken from one: the same archive without its side file gives the same
turns. A side file that is missing or damaged adds nothing.
"""

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import msgspec

from turnetl.base.errors import BadArchive
from turnetl.base.reason import SkipReason
from turnetl.formats.kit.message_parts import path_of_uri, text_of
from turnetl.formats.kit.turn_builder import TurnBuilder
from turnetl.formats.port import ParsedArchive
from turnetl.parsing.archive_files import ArchiveFiles

_MAX_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class SideFile:
    """Where the side file of an archive is, and where in it something stands."""

    archive: str
    """A regular expression for the whole path of the archive, with slashes."""
    file: str
    """The path of the side file, with the groups of the expression."""
    folder: tuple[str, ...] = ()
    """Keys, from the outside in; of a list, the first element counts."""
    model: tuple[str, ...] = ()
    call_id: tuple[str, ...] = ()
    """Of the call that started the subagent whose archive it is."""
    kind: tuple[str, ...] = ()
    """The type of the subagent."""
    is_preferred: bool = False
    """Whether its folder precedes that of the archive, which is one of a virtual machine."""


_VIRTUAL = "/sessions/"
"""Folders of Cowork's virtual machines, each of one session: no project."""
_TASK = r"(.*)/api_conversation_history\.json"
SIDE_FILES = {
    "claude_code": (
        SideFile(
            r"(.*/local-agent-mode-sessions/.*/local_[^/]+)/(?:audit\.jsonl|\.claude/projects/.*)",
            r"\1.json",
            folder=("userSelectedFolders",),
            model=("model",),
            is_preferred=True,
        ),
        SideFile(
            r"(.*/agent-[^/]+)\.jsonl", r"\1.meta.json", (), (), ("toolUseId",), ("agentType",)
        ),
    ),
    "cline": (
        SideFile(r"(.*)\.messages\.json", r"\1.json", ("cwd",), ("model",)),
        SideFile(_TASK, r"\1/history_item.json", ("workspace",)),
        SideFile(_TASK, r"\1/task_metadata.json", (), ("model_usage", "model_id")),
    ),
    "copilot_chat": (SideFile(r"(.*)/chatSessions/[^/]+", r"\1/workspace.json", ("folder",)),),
    "grok": (SideFile(r"(.*)/updates\.jsonl", r"\1/summary.json", ("info", "cwd")),),
    "kimi": (SideFile(r"(.*)/agents/main/wire\.jsonl", r"\1/state.json", ("workDir",)),),
    "kiro": (
        SideFile(
            r"(.*)\.jsonl",
            r"\1.json",
            ("cwd",),
            ("session_state", "rts_model_state", "model_info", "model_id"),
        ),
    ),
    "pi": (SideFile(r"(.*)\.jsonl", r"\1.settings.json", (), ("model",)),),
}
"""By format; Pi's is that of Factory Droid."""


_OF_PROJECT = re.compile(r"(?:.*?/)?([^/]+)/(?:[^/]+/subagents/.*|agent-[^/]*)", re.DOTALL)
"""An archive of a subagent; the group is the folder of its project, named after that."""


def folder_of_session(cwd: str | None, path: Path) -> str | None:
    """Return the folder where the session of a subagent began: it may since have changed it.

    It is the one at or above the subagent's after which Claude Code named the folder of archives.
    """
    found = _OF_PROJECT.fullmatch(path.as_posix())
    if cwd is None or found is None:
        return cwd
    own = PureWindowsPath(cwd) if "\\" in cwd else PurePosixPath(cwd)
    above = map(str, (own, *own.parents))
    return next((one for one in above if re.sub(r"[^A-Za-z0-9]", "-", one) == found[1]), cwd)


_OF_SUBAGENT = re.compile(
    r".*/subagents/(?:.*/)?(?:agent-)?([^/.]+)\.jsonl(?:\.[a-z]+)?", re.DOTALL
)
"""An archive of Claude Code that holds a subagent, with its id."""


def turns_to_run(parsed: ParsedArchive, format_name: str, path: Path) -> None:
    """Make the turns of an archive one run if only its folder says that it is a subagent's."""
    found = _OF_SUBAGENT.fullmatch(path.as_posix()) if parsed.turns else None
    if format_name != "claude_code" or found is None:
        return
    builder, session, counts = TurnBuilder(), parsed.turns[0].session_id, parsed.counts
    builder.add_run_of(parsed.turns, session, found[1])
    for key, message in ((key, one) for turn in parsed.turns for key, one in turn.usage.items()):
        builder.subagents.add(session, found[1], started_by=session, key=key, message=message)
    read = builder.finish(session, parsed.cwd)
    parsed.turns, parsed.runs = [], [*parsed.runs, *read.runs]
    parsed.subagent_usage = (*(parsed.subagent_usage or ()), *(read.subagent_usage or ()))
    counts.turns = counts.steering = counts.user_answers = 0
    counts.sidechain_rows += counts.used
    counts.recount(None, SkipReason.SIDECHAIN, counts.used)


def add_side_files(
    parsed: ParsedArchive, format_name: str, path: Path, files: ArchiveFiles
) -> None:
    """Add the folder and the model to the turns that lack them. Raises no `BadArchive`."""
    turns_to_run(parsed, format_name, path)
    if format_name == "claude_code" and parsed.runs and not parsed.turns:
        parsed.cwd = folder_of_session(parsed.cwd, path)
    for side in SIDE_FILES.get(format_name, ()):
        needs_folder = bool(side.folder) and (side.is_preferred or _lacks(parsed, "cwd"))
        needs_model = bool(side.model) and _lacks(parsed, "model")
        if not needs_folder and not needs_model and not (side.call_id and parsed.runs):
            continue
        if (found := re.fullmatch(side.archive, path.as_posix(), re.DOTALL)) is None:
            continue
        values = _read(Path(found.expand(side.file)), files)
        if side.is_preferred and (parsed.cwd or "").startswith(_VIRTUAL):
            parsed.cwd = None
        if folder := path_of_uri(_value(values, side.folder) or ""):
            parsed.cwd = folder if side.is_preferred else parsed.cwd or folder
        for turn in parsed.turns:
            turn.cwd = folder if folder and side.is_preferred else turn.cwd or folder
            turn.model = turn.model or _value(values, side.model)
        for run in parsed.runs if side.call_id else ():
            run.prompt_id = run.prompt_id or _value(values, side.call_id)
            run.subagent_type = run.subagent_type or _value(values, side.kind) or ""


_HAS_OUTPUTS = re.compile(r"(.*?)(?:/subagents/.*|\.jsonl(?:\.[a-z]+)?)", re.DOTALL)
"""An archive of Claude Code; the group is the folder in which its session keeps whole outputs."""
_SAVED = re.compile(
    r"\s*(?:<persisted-output>|Error: result \()[^\n]*\n?[^\n]*?"
    r"saved to:? [^\n]*?tool-results[/\\]([\w-]+(?:\.[\w-]+)*)"
)


def add_whole_outputs(
    parsed: ParsedArchive, format_name: str, path: Path, files: ArchiveFiles
) -> None:
    """Replace results that only name the file of the output by it. Raises no `BadArchive`."""
    found = _HAS_OUTPUTS.fullmatch(path.as_posix())
    if format_name != "claude_code" or found is None:
        return
    for call in (call for row in parsed.rows for call in row.tool_calls):
        if saved := _SAVED.match(call.result):
            data = _bytes(Path(f"{found[1]}/tool-results/{saved[1]}"), files)
            call.result = call.result if data is None else _output(data)


def _output(data: bytes) -> str:
    """Return a whole output; of the parts of a tool of an MCP server the texts."""
    with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return "\n".join(part.text for part in msgspec.json.decode(data, type=list[_Part]))
    return data.decode(errors="replace")


class _Part(msgspec.Struct):
    text: str


def _lacks(parsed: ParsedArchive, name: str) -> bool:
    return any(getattr(turn, name) is None for turn in parsed.turns)


def _read(path: Path, files: ArchiveFiles) -> Any:
    """Return what a file holds; None if it cannot be read."""
    with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        data = _bytes(path, files)
        return None if data is None else msgspec.json.decode(data)
    return None


def _bytes(path: Path, files: ArchiveFiles) -> bytes | None:
    with suppress(BadArchive):
        state = files.state(path)
        if state.size <= _MAX_BYTES:
            return files.read(state)[0]
    return None


def _value(value: Any, keys: tuple[str, ...]) -> str | None:
    """Return the text at a path of keys."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
        value = next(iter(value), None) if isinstance(value, list) else value
    return text_of(value)
