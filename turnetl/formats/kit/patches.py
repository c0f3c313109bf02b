"""Summaries of patches as agents write them: `*** Begin Patch` ... `*** End Patch`."""

import re

from turnetl.formats.kit.diff_summary import summarize_changes

_BEGIN = "*** Begin Patch"
_APPLY = re.compile(r"\s*(?:cd \S+ && )?apply_patch\b[^\n]*\n")
"""A shell command that does nothing but apply a patch."""
_HEADER = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+?)\s*$", re.MULTILINE)


def is_patch(text: str) -> bool:
    return text.lstrip().startswith(_BEGIN)


def summarize_patch(text: str) -> str:
    """Return a patch as its files and the first changed lines; other texts unchanged.

    One file: `src/app.py :: - return None + return cart`. Several files keep their headers.
    """
    patch = text if is_patch(text) else _applied_patch(text)
    if patch is None:
        return text
    _, *fields = _HEADER.split(patch)
    files = list(zip(fields[::3], fields[1::3], map(_summary, fields[2::3]), strict=True))
    match files:
        case []:
            return text
        case [(operation, path, summary)]:
            summary = summary or ("deleted" if operation == "Delete" else "")
            return f"{path} :: {summary}" if summary else path
    entries = (f"*** {operation} File: {path} {summary}" for operation, path, summary in files)
    return " ".join(entry.rstrip() for entry in entries)


def _applied_patch(text: str) -> str | None:
    """Return the patch that a shell command applies, or None if it does something else."""
    command = _APPLY.match(text)
    patch = text[command.end() :] if command is not None else ""
    return patch if is_patch(patch) else None


def _summary(body: str) -> str:
    """Return the first removed and added lines of one file in a patch."""
    lines = body.split("\n")
    removed, added = (
        [line[1:].strip() for line in lines if line.startswith(sign)] for sign in "-+"
    )
    return summarize_changes(removed, added)
