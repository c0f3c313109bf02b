"""A tool call in one line, whatever the agent: the command, the path, or compact JSON.

A call that changes a file is its path and the gist of the change behind ` :: `, the first line that
went and the first that came: `src/app.py :: - return None + return cart`. A patch of several files
keeps its headers: `*** Update File: a.py - x + y *** Delete File: b.py`.
"""

import re
import shlex
from collections.abc import Mapping
from typing import Any

import msgspec

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
_GIST = 500
"""Characters of a changed line that are looked at: enough for a secret to be known as one."""


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
    change = edits[0] if isinstance(edits, list) and edits else arguments
    if not isinstance(change, dict):
        return ""
    old, new = _first_text(change, _GONE) or "", _first_text(change, _CAME) or ""
    gone = _first_line(old, but_not_in=new)
    came = _first_line(new, but_not_in=old)
    return " ".join(([f"- {gone}"] if gone else []) + ([f"+ {came}"] if came else []))


def _first_text(fields: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    for key in keys:
        if isinstance(text := fields.get(key), str):
            return text
    return None


def _first_line(text: str, *, but_not_in: str) -> str:
    if not text:
        return ""
    others = set(map(str.strip, but_not_in.splitlines()))
    lines = map(str.strip, text.splitlines())
    return next((line[:_GIST] for line in lines if line and line not in others), "")
