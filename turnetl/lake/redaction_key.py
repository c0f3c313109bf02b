"""The redaction key of a lake: `redaction.key`, with which the placeholders of secrets are derived.

A secret has the same placeholder everywhere in one lake, and another one in every other lake.
Nothing derives the key: a copy or a backup of a lake must contain it.
"""

import os
import re
from contextlib import suppress
from pathlib import Path
from zlib import crc32

from turnetl.base import private_files
from turnetl.base.errors import Fatal
from turnetl.lake.files import LakeFiles
from turnetl.lake.lake import Lake
from turnetl.lake.paths import REDACTION_KEY

FILE = REDACTION_KEY
_KEY_BYTES = 32
_MAX_BYTES = 1 << 10
_CONTENT = re.compile(rb"\s*([0-9a-fA-F]{64})(?:\s+([0-9a-f]{8}))?\s*")
"""The key in hex, and its checksum unless a user made it: another key changes all placeholders."""


def redaction_key(lake: Lake, *, create: bool) -> bytes:
    """Return the key of a lake, created if the lake is new.

    Without `create` nothing will be stored, and a new lake gives a key that is used only now. A key
    that is damaged, or missing although the lake has tables, raises `Fatal`.
    """
    lake.files.check()
    files, path = lake.files, lake.root / FILE
    try:
        return _read(files, path)
    except (FileNotFoundError, NotADirectoryError):
        if lake.turn_paths():
            lake.check_version()
            raise _lost(files.name(path)) from None
    if not create:
        return os.urandom(_KEY_BYTES)
    try:
        return _create(files, path)
    except OSError as error:
        raise Fatal(
            f"the redaction key `{files.name(path)}` cannot be written ({error.strerror}): free "
            "some disk space, or name another lake with --lake"
        ) from error


def _read(files: LakeFiles, path: Path) -> bytes:
    files.fetch([path])
    name = files.name(path)
    try:
        with private_files.open_no_follow(path, write=False) as file:
            content = file.read(_MAX_BYTES)
    except FileNotFoundError:
        raise
    except OSError as error:
        cause = f"cannot be read ({error.strerror}): ask its owner to let you read it"
        if path.is_symlink():
            cause = "is a symbolic link: put the file itself in its place"
        raise Fatal(f"the redaction key `{name}` {cause}") from error
    match = _CONTENT.fullmatch(content)
    if match is None or match[2] not in (None, _checksum(match[1])):
        raise Fatal(f"the redaction key `{name}` is damaged: {_REMEDY.format(path=name)}")
    return bytes.fromhex(match[1].decode())


def _create(files: LakeFiles, path: Path) -> bytes:
    """Create a key, or return the one that another process creates meanwhile."""
    key = os.urandom(_KEY_BYTES).hex().encode()
    content = key + b"\n" + _checksum(key) + b"\n"
    with suppress(FileExistsError):
        files.create(path, content)
    return _read(files, path)


def _checksum(key: bytes) -> bytes:
    return b"%08x" % crc32(key)


_REMEDY = (
    "restore it from a copy of the lake. If there is none, move what is left of it away and create "
    "a new key with `openssl rand -hex 32 > {path}`: all archives are then parsed "
    "again, and committed turns that hold secrets become stale, because their placeholders change"
)


def _lost(path: str) -> Fatal:
    return Fatal(
        f"the lake has tables but no redaction key `{path}`, without which their placeholders "
        f"cannot be reproduced: {_REMEDY.format(path=path)}"
    )
