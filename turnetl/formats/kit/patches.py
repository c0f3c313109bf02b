"""Summaries of patches as agents write them: `*** Begin Patch` ... `*** End Patch`."""

import re
from itertools import starmap
from typing import NamedTuple

from turnetl.formats.kit.diff_summary import summarize_changes

_BEGIN = "*** Begin Patch"
_APPLY = re.compile(r"\s*(?:cd \S+ && )?apply_patch\b[^\n]*\n")
"""A shell command that does nothing but apply a patch."""
_HEADER = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+?)\s*$", re.MULTILINE)


class PatchedFile(NamedTuple):
    """The change of one file in a patch."""

    operation: str
    """`Add`, `Update` or `Delete`."""
    path: str
    body: str


def is_patch(text: str) -> bool:
    return text.lstrip().startswith(_BEGIN)


def summarize_patch(text: str) -> str:
    """Return a patch as its files and the first changed lines; other texts unchanged.

    One file: `src/app.py :: - return None + return cart`. Several files keep their headers.
    """
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
    """Return the first removed and added lines of one file in a patch."""
    return summarize_changes(patch_lines(file, "-"), patch_lines(file, "+"))
