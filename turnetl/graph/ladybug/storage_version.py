"""The storage version of a Ladybug file, and of the release of Ladybug that is installed.

A release reads files of its own storage version and, as far as was tried, of all before. It writes
its own version into a file with the first merge of its log, after which no older release opens it.
Logs that a kill left are read only if they are of storage version 42 or later.
"""

from pathlib import Path

import ladybug

from turnetl.base.errors import GraphUnusable

_MAGIC = b"LBUG"
_END = 12
"""Bytes of the first page up to the end of the version, which is a little-endian integer."""
_MOST = 1000
"""A greater number is no version: a bit of the header changed."""
INSTALLED = int(ladybug.storage_version)
RELEASE = str(ladybug.version)
_LAST_RELEASES = {
    40: "0.16.1",
    41: "0.17.1",
    42: "0.18.3",
    43: "0.19.1",
    47: "0.21.2",
    49: "0.22.0",
}
"""The last release that writes each storage version; no release wrote the others."""


def storage_version(path: Path) -> int | None:
    """Return the version in the file's header; None if it is missing, or no Ladybug file."""
    try:
        with path.open("rb") as file:
            header = file.read(_END)
    except OSError:
        return None
    if len(header) < _END or not header.startswith(_MAGIC):
        return None
    version = int.from_bytes(header[len(_MAGIC) :], "little")
    return version if version <= _MOST else None


def other_version(path: Path) -> int | None:
    """Return the file's storage version if it is not that of the installed release."""
    version = storage_version(path)
    return None if version == INSTALLED else version


def unreadable(path: Path, version: int) -> GraphUnusable:
    """Return the error that the installed release cannot read a file of another version."""
    return GraphUnusable(
        f"cannot open graph `{path}`: it {problem(version)}; nothing was changed: {remedy(version)}"
    )


def problem(version: int) -> str:
    """Return why such a file cannot be read, as the end of a sentence."""
    return (
        f"has storage version {version}, and Ladybug {RELEASE} (version {INSTALLED}) cannot read "
        "it or its log"
    )


def remedy(version: int) -> str:
    """Return what to do about a file that cannot be read."""
    release = _LAST_RELEASES.get(version)
    named = f"ladybug=={release}" if release else "ladybug==RELEASE"
    update = "update turnetl, or " if version > INSTALLED else ""
    return (
        f"{update}install the release of Ladybug that wrote it into a folder (`pip install "
        f"--target old-ladybug {named}`), then run `turnetl graph upgrade --with old-ladybug`"
    )
