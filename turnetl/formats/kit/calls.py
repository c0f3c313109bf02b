"""A tool call in one line, whatever the agent: the command, the path, or compact JSON.

A call that changes a file is its path and the gist of the change behind ` :: `, the first line that
went and the first that came: `src/app.py :: - return None + return cart`.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

_PATHS = ("file_path", "notebook_path", "path")
_TOO_MUCH = "[arguments that nest too deep]"
_GIST = 500
"""Characters of a changed line that are looked at: enough for a secret to be known as one."""


def call(arguments: object) -> str:
    """Return the call; a command may still span lines."""
    if not isinstance(arguments, dict):
        return arguments if isinstance(arguments, str) else compact(arguments)
    if (path := _path(arguments)) is not None:
        gist = _gist(arguments)
        return f"{path} :: {gist}" if gist else path
    command = arguments.get("command")
    return command if isinstance(command, str) else compact(arguments)


def compact(value: Any) -> str:
    """Return JSON without blanks; a note in its place if it nests too deep to be written."""
    try:
        return msgspec.json.encode(value).decode()
    except RecursionError:
        return _TOO_MUCH


def _path(arguments: Mapping[str, Any]) -> str | None:
    """Return the path that the call is about; a search in a path is about more than that."""
    if "pattern" in arguments or "query" in arguments:
        return None
    found = (arguments.get(key) for key in _PATHS)
    return next((path for path in found if isinstance(path, str)), None)


def _gist(arguments: Mapping[str, Any]) -> str:
    edits = arguments.get("edits")
    change = edits[0] if isinstance(edits, list) and edits else arguments
    if not isinstance(change, dict):
        return ""
    old, new = _text(change, "old_string"), _text(change, "new_string", "content", "new_source")
    gone = _first_line(old, but_not_in=new)
    came = _first_line(new, but_not_in=old)
    return " ".join(([f"- {gone}"] if gone else []) + ([f"+ {came}"] if came else []))


def _text(change: Mapping[str, Any], *keys: str) -> str:
    found = (change.get(key) for key in keys)
    return next((text for text in found if isinstance(text, str)), "")


def _first_line(text: str, *, but_not_in: str) -> str:
    others = {line.strip() for line in but_not_in.splitlines()}
    lines = (line.strip() for line in text.splitlines())
    return next((line[:_GIST] for line in lines if line and line not in others), "")
