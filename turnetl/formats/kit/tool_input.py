"""A tool call's input as one text, the same for all agents: command, path, or compact JSON.

The input of a call that changes a file is its path, ` :: ` and a summary of the changed lines:
`src/app.py :: - return None + return cart`. A patch of several files keeps its headers:
`*** Update File: a.py - x + y *** Delete File: b.py`. A summary has the first changed line, then
lines that name something (functions, classes, headings), then others as far as they fit. Lines stay
complete and separate, because a secret must still be detected in them.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice, starmap
from typing import Any, NamedTuple

import msgspec

_PATHS = ("file_path", "filePath", "absolute_path", "notebook_path", "path")
_REMOVED = ("old_string", "oldString")
_ADDED = ("new_string", "newString", "content", "new_source")
_PLACES = ("command", "insert_line", "start_line", "view_range")
"""Arguments of a call that changes or shows a part of a file."""
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
    """Return the path of each file that a call changes, with all lines that it adds, stripped."""
    if not isinstance(arguments, dict):
        return _patched_lines(arguments) if isinstance(arguments, str) else []
    if (path := _path(arguments)) is None:
        return _patched_lines(_command(arguments) or _patch(arguments) or "")
    texts = _changed_texts(arguments)
    lines = [line for old, new in texts for line in changed_lines(new, but_not_in=old)]
    return [(path, lines)] if any(old or new for old, new in texts) else []


class EditedText(NamedTuple):
    """A part of a file before and after an edit of it, or the file as it was written."""

    path: str
    operation: str
    """`Write`: `after` is the whole file; else as in `PatchedFile`."""
    before: str
    after: str
    above: str = ""
    """The header of a hunk: the line of the definition that encloses it."""
    everywhere: bool = False
    """Whether every place that holds the text is edited."""


def called_path(arguments: object) -> str:
    """Return the path of a file that a call reads or writes; empty: it names none."""
    return (_path(arguments) or "") if isinstance(arguments, dict) else ""


def edited_texts(arguments: object) -> list[EditedText]:
    """Return the parts of files that a call changes."""
    if not isinstance(arguments, dict):
        return _hunks(arguments) if isinstance(arguments, str) else []
    if (path := _path(arguments)) is None:
        return _hunks(_command(arguments) or _patch(arguments) or "")
    is_part = "edits" in arguments or any(key in arguments for key in (*_REMOVED, *_PLACES))
    operation = "Update" if is_part or "content" not in arguments else "Write"
    return [
        EditedText(path, operation, *texts, everywhere=change.get("replace_all") is True)
        for change in _changes(arguments)
        if any(texts := _texts(change))
    ]


def _hunks(text: str) -> list[EditedText]:
    return [
        EditedText(file.path, "Write" if file.operation == "Add" else file.operation, *parts)
        for file in patched_files(text)
        for hunk in re.split(r"^@@", file.body, flags=re.MULTILINE)
        if hunk.strip() or file.operation == "Delete"
        for parts in [_hunk(hunk)]
    ]


def _hunk(text: str) -> tuple[str, str, str]:
    """Return the lines before and after a hunk, and what its header names."""
    header, *lines = text.split("\n")
    sides = (
        "\n".join(line[1:] for line in lines if line[:1] in {sign, " "}) for sign in ("-", "+")
    )
    return *sides, header.rpartition("@@")[2].strip()  # type: ignore[return-value]


def _patched_lines(text: str) -> list[tuple[str, list[str]]]:
    return [(file.path, patch_lines(file, "+")) for file in patched_files(text)]


def compact_json(value: Any) -> str:
    """Return JSON without whitespace; a note in its place if it nests too deep to be encoded."""
    return encoded_json(value).decode()


def as_text(value: Any) -> str:
    """Return a text unchanged, nothing as an empty text, and other values as compact JSON."""
    return "" if value is None else value if isinstance(value, str) else compact_json(value)


def error_text(error: Any) -> str:
    """Return the message of an error, which is one itself or names it."""
    message = error.get("message") if isinstance(error, dict) else None
    return message if isinstance(message, str) else as_text(error)


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
    return [*map(_texts, _changes(arguments))]


def _changes(arguments: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    edits = arguments.get("edits")
    changes = edits if isinstance(edits, list) and edits else [arguments]
    return [change for change in changes if isinstance(change, dict)]


def _texts(change: Mapping[str, Any]) -> tuple[str, str]:
    return _first_text(change, _REMOVED) or "", _first_text(change, _ADDED) or ""


def _first_text(fields: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    for key in keys:
        if isinstance(text := fields.get(key), str):
            return text
    return None


_BEGIN = "*** Begin Patch"
_APPLY = re.compile(r"\s*(?:cd \S+ && )?apply_patch\b[^\n]*\n")
"""A shell command that does nothing but apply a patch."""
_HEADER = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+?)\s*$", re.MULTILINE)


class PatchedFile(NamedTuple):
    operation: str
    """`Add`, `Update` or `Delete`."""
    path: str
    body: str


def is_patch(text: str) -> bool:
    return text.lstrip().startswith(_BEGIN)


def summarize_patch(text: str) -> str:
    """Return a patch as its files and the first changed lines; other texts unchanged."""
    match [(file, _summary(file)) for file in patched_files(text)]:
        case []:
            return text
        case [(file, summary)]:
            summary = summary or ("deleted" if file.operation == "Delete" else "")
            return f"{file.path} :: {summary}" if summary else file.path
        case several:
            entries = (f"*** {file.operation} File: {file.path} {text}" for file, text in several)
            return " ".join(entry.rstrip() for entry in entries)


def patched_files(text: str) -> list[PatchedFile]:
    """Return the files of a patch, or of a shell command that applies one; else none."""
    patch = text if is_patch(text) else _applied_patch(text)
    if patch is None:
        return []
    _, *fields = _HEADER.split(patch)
    return list(starmap(PatchedFile, zip(fields[::3], fields[1::3], fields[2::3], strict=True)))


def patch_lines(file: PatchedFile, sign: str) -> list[str]:
    """Return the lines of one file with a sign, `+` or `-`, stripped of whitespace."""
    return [line[1:].strip() for line in file.body.split("\n") if line.startswith(sign)]


def _applied_patch(text: str) -> str | None:
    """Return the patch that a shell command applies, or None if it does something else."""
    command = _APPLY.match(text)
    patch = text[command.end() :] if command is not None else ""
    return patch if is_patch(patch) else None


def _summary(file: PatchedFile) -> str:
    return summarize_changes(patch_lines(file, "-"), patch_lines(file, "+"))


_REMOVED_LINE, ADDED_CHARS = 80, 260
"""Characters of removed lines and of added lines."""
_LINE = 500
"""Maximum characters of the first line; it is kept even above the limit."""
_EXAMINED = 500
"""Changed lines that are examined."""
_KEY = re.compile("-----(?:BEGIN|END)")
"""Encloses a secret of many lines: then only the first line is used."""
_has_words = re.compile(r"\w").search
"""A line without any is not informative."""
_DEFINITIONS = (
    *("def ", "async def ", "class ", "func ", "fn ", "pub fn ", "pub struct ", "function "),
    *("export ", "interface ", "struct ", "enum ", "trait ", "impl ", "type ", "public "),
    *("#", "CREATE TABLE", "module ", "resource "),
)


def summarize_changes(removed: Iterable[str], added: Iterable[str]) -> str:
    """Return `- removed lines + added lines`, each part only if it has lines."""
    parts = (
        "\n".join(_informative(removed, _REMOVED_LINE)),
        "\n".join(_informative(added, ADDED_CHARS)),
    )
    return " ".join(f"{sign} {lines}" for sign, lines in zip("-+", parts, strict=True) if lines)


def changed_lines(text: str, *, but_not_in: str) -> Iterator[str]:
    """Yield the lines of a text that another text does not have, stripped of whitespace."""
    if not text:
        return
    others = set(map(str.strip, but_not_in.splitlines()))
    others.add("")
    for line in text.splitlines():
        if (stripped := line.strip()) not in others:
            yield stripped


def line_changes(old: str, new: str) -> tuple[Iterable[str], Iterable[str]]:
    """Return `changed_lines` of the old text and of the new one, as far as they are read."""
    if not old or not new:
        return changed_lines(old, but_not_in=""), changed_lines(new, but_not_in="")
    before, after = ([*map(str.strip, text.splitlines())] for text in (old, new))
    only_before, only_after = {*before}.difference(after), {*after}.difference(before)
    only_before.discard("")
    only_after.discard("")
    return filter(only_before.__contains__, before), filter(only_after.__contains__, after)


def _informative(changed: Iterable[str], limit: int) -> list[str]:
    # The first character of most lines is enough, and examined in a third of the time.
    with_words = (line for line in changed if line[:1].isalnum() or _has_words(line))
    lines = list(dict.fromkeys(islice(with_words, _EXAMINED)))
    if len(lines) < 2 or _KEY.search("\n".join(lines)):  # noqa: PLR2004  none but the first
        return [line[:_LINE] for line in lines[:1]]
    selected, remaining = {0}, limit - len(lines[0])
    for index in _by_rank(lines):
        if remaining <= 1:
            break
        if len(lines[index]) < remaining:
            selected.add(index)
            remaining -= len(lines[index]) + 1
    return [lines[index][:_LINE] for index in sorted(selected)]


def _by_rank(lines: list[str]) -> Iterator[int]:
    """Yield the indexes of the lines after the first one: first those that name something."""
    others = []
    for index in range(1, len(lines)):
        if lines[index].startswith(_DEFINITIONS):
            yield index
        else:
            others.append(index)
    yield from others
