"""A patch as agents write it (`*** Begin Patch` ... `*** End Patch`) in one line."""

import re

from turnetl.formats.kit.diff_summary import gist

_BEGIN = "*** Begin Patch"
_APPLY = re.compile(r"\s*(?:cd \S+ && )?apply_patch\b[^\n]*\n")
"""A shell that is handed a patch and nothing else."""
_HEADER = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+?)\s*$", re.MULTILINE)


def is_patch(text: str) -> bool:
    return text.lstrip().startswith(_BEGIN)


def in_short(text: str) -> str:
    """Return a patch as its files and the first lines that went and came; other texts as they are.

    One file: `src/app.py :: - return None + return cart`. Several keep their headers.
    """
    patch = text if is_patch(text) else _handed_to_shell(text)
    if patch is None:
        return text
    _, *parts = _HEADER.split(patch)
    files = list(zip(parts[::3], parts[1::3], map(_gist, parts[2::3]), strict=True))
    match files:
        case []:
            return text
        case [(does, path, gist)]:
            gist = gist or ("deleted" if does == "Delete" else "")
            return f"{path} :: {gist}" if gist else path
    return " ".join(f"*** {does} File: {path} {gist}".rstrip() for does, path, gist in files)


def _handed_to_shell(text: str) -> str | None:
    applied = _APPLY.match(text)
    rest = text[applied.end() :] if applied is not None else ""
    return rest if is_patch(rest) else None


def _gist(body: str) -> str:
    """Return what a patch does to one file, in its first lines."""
    lines = body.split("\n")
    return gist(*([line[1:].strip() for line in lines if line.startswith(sign)] for sign in "-+"))
