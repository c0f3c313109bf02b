"""A tool call in one line, whatever the agent: the command, the path, or compact JSON.

A call that changes a file is its path and the gist of the change behind ` :: `, a few lines that
went and that came: `src/app.py :: - return None + return cart`. A patch of several files keeps its
headers: `*** Update File: a.py - x + y *** Delete File: b.py`.
"""

import re
import shlex
from collections.abc import Mapping
from typing import Any

import msgspec

from turnetl.formats.kit.diff_summary import changed, gist
from turnetl.formats.kit.patches import in_short, is_patch

_PATHS = ("file_path", "filePath", "absolute_path", "notebook_path", "path")
_GONE = ("old_string", "oldString")
_CAME = ("new_string", "newString", "content", "new_source")
_COMMANDS = ("command", "cmd")
_PATCHES = ("input", "patch", "patchText")
_SHELL = re.compile(r"(?:.*[/\\])?(?:ba|z|da|k|fi)?sh(?:\.exe)?", re.IGNORECASE)
_SCRIPT = re.compile(r"-\w*c")
_POWERSHELL = re.compile(r"(?:.*[/\\])?(?:pwsh|powershell)(?:\.exe)?", re.IGNORECASE)
_TOO_MUCH = "[arguments that nest too deep]"


def call(arguments: object) -> str:
    """Return the call; a command may still span lines."""
    if not isinstance(arguments, dict):
        return in_short(arguments) if isinstance(arguments, str) else compact(arguments)
    if (path := _path(arguments)) is not None:
        gist = _gist(arguments)
        return f"{path} :: {gist}" if gist else path
    said = _command_said(arguments) or _patch_said(arguments)
    return compact(arguments) if said is None else in_short(said)


def compact(value: Any) -> str:
    """Return JSON without blanks; a note in its place if it nests too deep to be written."""
    try:
        return msgspec.json.encode(value).decode()
    except RecursionError:
        return _TOO_MUCH


def _command_said(arguments: Mapping[str, Any]) -> str | None:
    for key in _COMMANDS:
        if key in arguments and (said := _said(arguments[key])):
            return said
    return None


def _patch_said(arguments: Mapping[str, Any]) -> str | None:
    for key in _PATCHES:
        if isinstance(text := arguments.get(key), str) and text and is_patch(text):
            return text
    return None


def _said(value: object) -> str | None:
    """Return a command, be it a text or a list of words; None if it is neither."""
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        return _command(value)
    return value if isinstance(value, str) else None


def _command(words: list[str]) -> str:
    """Return what a person would type: the script if the words hand one to a shell."""
    match words:
        case [shell, flag, script, *_] if _SHELL.fullmatch(shell) and _SCRIPT.fullmatch(flag):
            return script
        case [shell, _, *_, script] if _POWERSHELL.fullmatch(shell):
            return script
        case [_, patch] if is_patch(patch):
            return patch
    return shlex.join(words)


def _path(arguments: Mapping[str, Any]) -> str | None:
    """Return the path that the call is about; a search in a path is about more than that."""
    if "pattern" in arguments or "query" in arguments:
        return None
    return _first_text(arguments, _PATHS)


def _gist(arguments: Mapping[str, Any]) -> str:
    edits = arguments.get("edits")
    given = edits if isinstance(edits, list) and edits else [arguments]
    texts = [
        (_first_text(change, _GONE) or "", _first_text(change, _CAME) or "")
        for change in given
        if isinstance(change, dict)
    ]
    gone = (line for old, new in texts for line in changed(old, but_not_in=new))
    came = (line for old, new in texts for line in changed(new, but_not_in=old))
    return gist(gone, came)


def _first_text(fields: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    for key in keys:
        if isinstance(text := fields.get(key), str):
            return text
    return None
