"""The redaction key of a lake: `redaction.key`, with which the placeholders of secrets are derived.

A secret has the same placeholder everywhere in one lake, and another one in every other lake.
Nothing derives the key: a copy or a backup of a lake must contain it.
"""

import os
import re
from pathlib import Path

from turnetl import private_files
from turnetl.errors import Fatal
from turnetl.lake.lake import Lake
from turnetl.lake.temporary import sync_folder

FILE = "redaction.key"
_KEY_BYTES = 32
_MAX_BYTES = 1 << 10
_CONTENT = re.compile(rb"\s*([0-9a-fA-F]{64})\s*")
_OWNER_FILE = 0o600


def redaction_key(lake: Lake, *, create: bool) -> bytes:
    """Return the key of a lake.

    Args:
        lake: the lake.
        create: whether to create the key of a new lake. False: nothing will be stored, and a new
            lake gives a key that is used only now.

    Raises:
        BadUsage: the lake is a file.
        Fatal: the key is damaged, cannot be read or written, or is missing although the lake has
            tables.
    """
    lake.check_root()
    path = lake.root / FILE
    try:
        return _read(path)
    except (FileNotFoundError, NotADirectoryError):
        if lake.turn_paths():
            lake.check_version()
            raise _lost(path) from None
    if not create:
        return os.urandom(_KEY_BYTES)
    try:
        return _create(path)
    except OSError as error:
        raise Fatal(
            f"the redaction key `{path}` cannot be written ({error.strerror}): free some disk "
            "space, or name another lake with --lake"
        ) from error


def _read(path: Path) -> bytes:
    """Return the key in a file.

    Raises:
        FileNotFoundError: there is none.
        Fatal: it cannot be read, or holds no key.
    """
    try:
        with private_files.open_no_follow(path, write=False) as file:
            content = file.read(_MAX_BYTES)
    except FileNotFoundError:
        raise
    except OSError as error:
        cause = f"cannot be read ({error.strerror}): ask its owner to let you read it"
        if path.is_symlink():
            cause = "is a symbolic link: put the file itself in its place"
        raise Fatal(f"the redaction key `{path}` {cause}") from error
    match = _CONTENT.fullmatch(content)
    if match is None:
        raise Fatal(f"the redaction key `{path}` is damaged: {_REMEDY.format(path=path)}")
    return bytes.fromhex(match[1].decode())


def _create(path: Path) -> bytes:
    """Create a key, or return the one that another process creates meanwhile."""
    private_files.create_folder(path.parent, path.parent)
    temporary = path.with_name(f".{FILE}.{os.urandom(8).hex()}.tmp")
    content = os.urandom(_KEY_BYTES).hex().encode() + b"\n"
    try:
        private_files.write_whole(temporary, content)
        _name_first(temporary, path, content)
    except FileExistsError:
        pass
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)
    return _read(path)


def _name_first(temporary: Path, path: Path, content: bytes) -> None:
    """Give a complete file its name.

    Raises:
        FileExistsError: another process was first.
    """
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError:
        # A disk without hard links. Here a process that reads during the write fails.
        with private_files.create_file(path) as file:
            path.chmod(_OWNER_FILE)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())


_REMEDY = (
    "restore it from a copy of the lake. If there is none, create a new key with `openssl rand "
    "-hex 32 > {path}`: all archives are then parsed again, and committed turns that hold secrets "
    "become stale, because their placeholders change"
)


def _lost(path: Path) -> Fatal:
    return Fatal(
        f"the lake has tables but no redaction key `{path}`, without which their placeholders "
        f"cannot be reproduced: {_REMEDY.format(path=path)}"
    )
