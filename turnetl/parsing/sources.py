"""Access to an archive's bytes: a file, compressed or not, or a session of a store or a database.

Text in another encoding than UTF-8, as shells and editors of Windows write it, becomes UTF-8. Lines
stay the same, so that a turn leads back to them; offsets in bytes are those of the result.
"""

import codecs
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from turnetl.base import ids
from turnetl.base.errors import BadArchive
from turnetl.base.reason import SkipReason
from turnetl.lake import ArchiveMetadata
from turnetl.lake.paths import file_holding, is_in_database, is_in_history
from turnetl.parsing import opencode_store, problems
from turnetl.parsing.archive_files import LOCAL, ArchiveFile, ArchiveFiles
from turnetl.parsing.compression import DecompressionStatus, decompress, is_compressed
from turnetl.parsing.parse_report import Problem
from turnetl.parsing.prompt_history import PromptHistories
from turnetl.parsing.session_databases import SessionDatabases
from turnetl.parsing.walk import is_part

HEAD_BYTES = 2 << 20
"""Bytes from the start of an archive; they are enough to detect the format of most archives."""


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """Limits of a parse run, in bytes."""

    decompressed_bytes: int = 1 << 30
    expansion: int = 100
    """Maximum size of a decompressed archive as a multiple of its size on disk, unless it is
    small. Logs of agents shrink to a tenth, repetitive ones to a fiftieth."""
    small_bytes: int = 64 << 20
    """Size of a decompressed archive up to which it may have shrunk any further."""
    bytes_per_process: int = 128 << 20
    """Cost of archives, in bytes, for which a worker process is started. Its start, with the rules
    for secrets, takes as much CPU as half of that."""

    def max_bytes(self, compressed_bytes: int) -> int:
        expanded = max(self.small_bytes, self.expansion * compressed_bytes)
        return min(self.decompressed_bytes, expanded)


@dataclass(frozen=True, slots=True)
class ArchiveStat:
    """An archive's size and modification time at one point in time."""

    path: Path
    size: int
    """Total bytes of its files."""
    mtime_ns: int
    """Modification time in nanoseconds of the file that changed last."""
    files: tuple[ArchiveFile, ...]
    """Its files: several for a session of a store, one for any other archive."""
    e_tag: str = ""
    """Changes with the content of a session of a database, and of an archive in an object store;
    empty: it is a file of this machine."""

    @property
    def is_file(self) -> bool:
        """Whether it is a whole file: no session, and no project of a history of prompts."""
        is_whole = [file.path for file in self.files] == [self.path]
        return is_whole and not is_in_database(self.path)

    def is_state_of(self, metadata: ArchiveMetadata) -> bool:
        """Return whether a turns file was made of the archive in this state."""
        if is_in_database(self.path):
            return self.e_tag == metadata.e_tag
        if self.e_tag:
            return (self.size, self.e_tag) == (metadata.size, metadata.e_tag)
        return (self.size, self.mtime_ns) == (metadata.size, metadata.mtime_ns)


@dataclass(frozen=True, slots=True)
class DecompressedArchive:
    """An archive's text in UTF-8, decompressed."""

    data: bytes
    problem: Problem | None
    """Set if only a part could be decompressed."""


def stat_archives(
    paths: Iterable[Path], files: ArchiveFiles = LOCAL
) -> Iterator[ArchiveStat | BadArchive]:
    """Yield `stat_archive` of each archive, or why there is none. A database is read once."""
    with SessionDatabases() as databases:

        @cache
        def states(database: str) -> Mapping[str, ArchiveFile] | BadArchive:
            try:
                return databases.states(Path(database))
            except BadArchive as error:
                return error

        for path in paths:
            found = states(os.path.dirname(path)) if is_in_database(path) else {}  # noqa: PTH120
            if isinstance(found, BadArchive):
                yield found
            elif (file := found.get(path.name)) is not None:
                yield _file_stat(path, file)
            else:
                yield _stat_or_error(path, files)


def _stat_or_error(path: Path, files: ArchiveFiles) -> ArchiveStat | BadArchive:
    try:
        return stat_archive(path, files)
    except BadArchive as error:
        return error


def stat_archive(path: Path, files: ArchiveFiles = LOCAL) -> ArchiveStat:
    """Return an archive's size and modification time without opening it."""
    if is_in_database(path):
        with SessionDatabases() as databases:
            return _file_stat(path, databases.state(path))
    if is_in_history(path):
        return _file_stat(path, files.state(file_holding(path)))
    file = files.state(path)
    paths = opencode_store.session_files(path, files)
    if paths is None and is_part(f"{path.name}.001"):
        parts = (entry for entry in files.entries(path.parent) if is_part(entry.name))
        paths = [path, *sorted(parts)]
    if paths is None:
        return _file_stat(path, file)
    return _session_stat(path, list(_states(files, paths)), file.mtime_ns)


def read_stored(
    archive: ArchiveStat,
    files: ArchiveFiles = LOCAL,
    histories: PromptHistories | None = None,
    databases: SessionDatabases | None = None,
) -> tuple[bytes, ArchiveStat]:
    """Return the stored bytes, and the state of the archive of which they are.

    Of several files, each ends with a newline. Given for several archives, `histories` reads a
    history of prompts once, until any other archive releases its memory, and `databases` opens a
    database once.
    """
    histories = histories or PromptHistories()
    if is_in_history(archive.path):
        data, file = histories.read(archive.path, archive.files[0], files)
        return data, _file_stat(archive.path, file)
    histories.release()
    if is_in_database(archive.path):
        with nullcontext(databases) if databases else SessionDatabases() as opened:
            data, file = opened.read(archive.path)
        return data, _file_stat(archive.path, file)
    if archive.is_file:
        data, file = files.read(archive.files[0])
        return data, _file_stat(archive.path, file)
    read = list(_contents(files, archive.files))
    data = b"".join(_with_final_newline(content) for content, _ in read)
    return data, _session_stat(archive.path, [file for _, file in read], archive.mtime_ns)


def read_head(archive: ArchiveStat, files: ArchiveFiles = LOCAL) -> bytes:
    """Return the decompressed start: slightly more than `HEAD_BYTES`, or all of the archive."""
    size = min(archive.files[0].size, HEAD_BYTES)
    return to_utf8(decompress(files.start(archive.files[0].path, size), HEAD_BYTES).data)


def decompress_archive(path: Path, data: bytes, limits: ParseLimits) -> DecompressedArchive:
    """Return an archive's text; `BadArchive` if it is too large or damaged at its start."""
    if not is_compressed(data):
        return DecompressedArchive(to_utf8(data), None)
    max_bytes = limits.max_bytes(len(data))
    result = decompress(data, max_bytes)
    if result.status is DecompressionStatus.LIMIT_EXCEEDED:
        raise problems.too_large(path, max_bytes)
    problem = problems.decompression_problem(path, result.status, len(result.data))
    if problem is not None and not result.data:
        raise BadArchive(problem.reason, problem.message)
    return DecompressedArchive(to_utf8(result.data), problem)


def read_archive(
    archive: Path | ArchiveStat,
    files: ArchiveFiles = LOCAL,
    histories: PromptHistories | None = None,
    databases: SessionDatabases | None = None,
) -> bytes:
    """Return the text of an archive as it is now, decompressed and in UTF-8; see `read_stored`."""
    stat = archive if isinstance(archive, ArchiveStat) else stat_archive(archive, files)
    stored, _ = read_stored(stat, files, histories, databases)
    return decompress_archive(stat.path, stored, ParseLimits()).data


def _file_stat(path: Path, file: ArchiveFile) -> ArchiveStat:
    return ArchiveStat(path, file.size, file.mtime_ns, (file,), file.e_tag)


def _session_stat(path: Path, files: Sequence[ArchiveFile], mtime_ns: int) -> ArchiveStat:
    """Return the state of a session from its files that exist; `mtime_ns` counts if none do."""
    e_tags = [f"{file.path}\0{file.e_tag}" for file in files if file.e_tag]
    e_tag = ids.digest("\0".join(e_tags)) if e_tags else ""
    return ArchiveStat(
        path,
        sum(file.size for file in files),
        max((file.mtime_ns for file in files), default=mtime_ns),
        tuple(files),
        files[0].e_tag if len(files) == 1 else e_tag,
    )


def _states(files: ArchiveFiles, paths: Iterable[Path]) -> Iterator[ArchiveFile]:
    for path in paths:
        with suppress(BadArchive):
            yield files.state(path)


def _contents(
    files: ArchiveFiles, session: Iterable[ArchiveFile]
) -> Iterator[tuple[bytes, ArchiveFile]]:
    """Yield the files that still exist, with their states."""
    for file in session:
        try:
            yield files.read(file)
        except BadArchive as error:
            if error.reason is not SkipReason.MISSING:
                raise


def _with_final_newline(data: bytes) -> bytes:
    return data if not data or data.endswith(b"\n") else data + b"\n"


_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_HEAD = 16
"""Bytes in which every second one of UTF-16 without a mark is zero: JSON starts with ASCII."""
_END_OF_FILE = b"\x1a"
"""Ctrl-Z, which some programs of Windows write at the end."""
_find_foreign = re.compile(rb"[\x80-\xff]+").finditer
_CONTINUATIONS = bytes(range(0x80, 0xC0))
"""Bytes of a character in UTF-8 after its first one."""
_ENOUGH = 2
"""Runs of bytes that are not UTF-8 which show that a text without any valid run is not UTF-8."""
_PIECE = 1 << 10
"""Bytes of a block that is tested for ASCII: many times faster than a pattern search."""


def to_utf8(data: bytes) -> bytes:
    """Return text as UTF-8: of UTF-16 and UTF-32, and of Windows-1252 if nothing in it is UTF-8.

    Damaged UTF-8 is returned unchanged. Bytes that are no text become replacement characters.
    """
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace").encode()
    unmarked = _utf16_without_mark(data[:_HEAD])
    if unmarked is not None:
        return data.decode(unmarked, "replace").encode()
    if data.endswith(_END_OF_FILE):
        data = data[:-1] + b" "
    return _from_windows(data) if _is_windows_text(data) else data


def _utf16_without_mark(head: bytes) -> str | None:
    pairs = len(head) // 2
    if pairs < 2:  # noqa: PLR2004 - one pair may be anything
        return None
    even, odd = head[: 2 * pairs : 2], head[1 : 2 * pairs : 2]
    if not any(odd) and all(even):
        return "utf-16-le"
    return "utf-16-be" if not any(even) and all(odd) else None


def _is_windows_text(data: bytes) -> bool:
    """Return whether no byte beyond ASCII belongs to valid UTF-8, and some cannot be cut UTF-8."""
    single = 0
    for run in _find_foreign(data, _ascii_bytes(data)):
        # Any part of the run is a character in UTF-8.
        if run[0].decode("utf-8", "ignore"):
            return False
        single += len(run[0]) == 1 or not _is_cut(run[0])
    return single >= _ENOUGH


def _ascii_bytes(data: bytes) -> int:
    """Return a number of bytes at the start that are ASCII; all of them if the whole text is."""
    pieces = range(0, len(data), _PIECE)
    return next((at for at in pieces if not data[at : at + _PIECE].isascii()), len(data))


def _is_cut(run: bytes) -> bool:
    """Return whether a run is the start of a character in UTF-8, or the rest of one."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(run)
    except UnicodeDecodeError:
        return not run.strip(_CONTINUATIONS)
    return True


def _from_windows(data: bytes) -> bytes:
    try:
        return data.decode("cp1252").encode()
    except UnicodeDecodeError:
        return data.decode("latin-1").encode()
