"""A tool call's input as one text, the same for all agents: command, path, or compact JSON.

The input of a call that changes a file is its path, ` :: ` and a summary of the removed and added
lines: `src/app.py :: - return None + return cart`. A patch of several files keeps its headers:
`*** Update File: a.py - x + y *** Delete File: b.py`.
"""

import re
import shlex
from collections.abc import Mapping
from itertools import chain
from typing import Any

import msgspec

from turnetl.formats.kit.diff_summary import changed_lines, line_changes, summarize_changes
from turnetl.formats.kit.patches import is_patch, patch_lines, patched_files, summarize_patch

_PATHS = ("file_path", "filePath", "absolute_path", "notebook_path", "path")
_REMOVED = ("old_string", "oldString")
_ADDED = ("new_string", "newString", "content", "new_source")
_COMMANDS = ("command", "cmd")
_PATCHES = ("input", "patch", "patchText")
_SHELL = re.compile(r"(?:.*[/\\])?(?:ba|z|da|k|fi)?sh(?:\.exe)?", re.IGNORECASE)
_SCRIPT = re.compile(r"-\w*c")
_POWERSHELL = re.compile(r"(?:.*[/\\])?(?:pwsh|powershell)(?:\.exe)?", re.IGNORECASE)
_TOO_DEEP = b"[arguments that nest too deep]"

_encode = msgspec.json.Encoder().encode


def format_input(arguments: object) -> str:
    """Return a call's arguments as one text; a command may still span lines."""
    if not isinstance(arguments, dict):
        return summarize_patch(arguments) if isinstance(arguments, str) else compact_json(arguments)
    if (path := _path(arguments)) is not None:
        summary = _change_summary(arguments)
        return f"{path} :: {summary}" if summary else path
    text = _command(arguments) or _patch(arguments)
    return compact_json(arguments) if text is None else summarize_patch(text)


def added_lines(arguments: object) -> list[tuple[str, list[str]]]:
    """Return the path of each file that a call changes, with all lines that it adds.

    Lines are stripped of whitespace. The input shows only a few of them.
    """
    if not isinstance(arguments, dict):
        return _patched_lines(arguments) if isinstance(arguments, str) else []
    if (path := _path(arguments)) is None:
        return _patched_lines(_command(arguments) or _patch(arguments) or "")
    texts = _changed_texts(arguments)
    lines = [line for old, new in texts for line in changed_lines(new, but_not_in=old)]
    return [(path, lines)] if any(old or new for old, new in texts) else []


def _patched_lines(text: str) -> list[tuple[str, list[str]]]:
    return [(file.path, patch_lines(file, "+")) for file in patched_files(text)]


def compact_json(value: Any) -> str:
    """Return JSON without whitespace; a note in its place if it nests too deep to be encoded."""
    return encoded_json(value).decode()


def encoded_json(value: Any) -> bytes:
    """Return `compact_json` as UTF-8."""
    try:
        return _encode(value)
    except RecursionError:
        return _TOO_DEEP


def _command(arguments: Mapping[str, Any]) -> str | None:
    for key in _COMMANDS:
        if key in arguments and (command := _command_line(arguments[key])):
            return command
    return None


def _patch(arguments: Mapping[str, Any]) -> str | None:
    for key in _PATCHES:
        if isinstance(text := arguments.get(key), str) and text and is_patch(text):
            return text
    return None


def _command_line(value: object) -> str | None:
    """Return a command given as a text or as a list of words; None if it is neither."""
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        return _typed_command(value)
    return value if isinstance(value, str) else None


def _typed_command(words: list[str]) -> str:
    """Return the command as a user would type it: the script if the words pass one to a shell."""
    match words:
        case [shell, flag, script, *_] if _SHELL.fullmatch(shell) and _SCRIPT.fullmatch(flag):
            return script
        case [shell, _, *_, script] if _POWERSHELL.fullmatch(shell):
            return script
        case [_, patch] if is_patch(patch):
            return patch
    return shlex.join(words)


def _path(arguments: Mapping[str, Any]) -> str | None:
    """Return the path of the call; None for a search in a path, which has more arguments."""
    if "pattern" in arguments or "query" in arguments:
        return None
    return _first_text(arguments, _PATHS)


def _change_summary(arguments: Mapping[str, Any]) -> str:
    changes = [line_changes(old, new) for old, new in _changed_texts(arguments)]
    return summarize_changes(
        chain.from_iterable(removed for removed, _ in changes),
        chain.from_iterable(added for _, added in changes),
    )


def _changed_texts(arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the text before and the text after each change of a file."""
    edits = arguments.get("edits")
    changes = edits if isinstance(edits, list) and edits else [arguments]
    return [
        (_first_text(change, _REMOVED) or "", _first_text(change, _ADDED) or "")
        for change in changes
        if isinstance(change, dict)
    ]


def _first_text(fields: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    for key in keys:
        if isinstance(text := fields.get(key), str):
            return text
    return None
