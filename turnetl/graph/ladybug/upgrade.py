"""Carry a Ladybug file over into the storage version of the installed release.

A release that can read the file, in a process of its own, dumps all tables; the installed one
builds a new file from them. The old file is only read.
"""

import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import msgspec
import polars as pl
import pyarrow as pa

from turnetl.base import private_files
from turnetl.base.disks import free_bytes
from turnetl.base.errors import BadUsage, GraphBusy, GraphUnusable
from turnetl.base.progress import Progress, ProgressUpdate, ignore_progress
from turnetl.graph.ladybug import checksum, log, swap, table_dump
from turnetl.graph.ladybug.checksum import ChecksumMatch
from turnetl.graph.ladybug.client import error_reason
from turnetl.graph.ladybug.database import REMEDY, busy, cannot_open, connect, open_database
from turnetl.graph.ladybug.file import check_no_links, check_regular, lock_graph
from turnetl.graph.ladybug.log import RESERVE
from turnetl.graph.ladybug.rewrite import (
    building,
    check_counts,
    check_merged,
    check_space,
    copy_tables,
    foreign_table,
)
from turnetl.graph.ladybug.storage_version import INSTALLED, RELEASE, remedy, storage_version
from turnetl.graph.ladybug.table_dump import TablePart, read_tables
from turnetl.graph.upgrade_report import GraphUpgrade

_LOCKED, _NO_SPACE = "Could not set lock on file", "[Errno 28]"
"""In errors of Ladybug, and of a system whose disk is full."""
_SPACE_FACTOR = 3
"""Bytes that the dump, the new file and its log may need for each byte of the file."""


class _Part(msgspec.Struct):
    file: str
    table: str
    start: str | None
    end: str | None


class _Dump(msgspec.Struct):
    """The contents of a dump: parts, or an error."""

    error: str | None = None
    parts: tuple[_Part, ...] = ()
    counts: dict[str, int] = {}
    indexes: tuple[str, ...] = ()
    is_cut: bool = False


@dataclass(frozen=True)
class _Reader:
    """How the release that dumps a file is run."""

    python: str
    folder: Path | None = None
    """With the release, if it is not that of the Python."""

    @classmethod
    def of(cls, release: Path | None) -> "_Reader":
        if release is None:
            return cls(sys.executable)
        if release.is_file():
            return cls(str(release.absolute()))
        if not (release / "ladybug").is_dir():
            raise BadUsage(
                f"`{release}` is neither a Python nor a folder with a release of Ladybug: install "
                f"one there with `pip install --target {release} ladybug==RELEASE`"
            )
        return cls(sys.executable, release.absolute())

    def command(self, path: Path, folder: Path, version: int) -> list[str]:
        arguments = [path, folder, version, *([] if self.folder is None else [self.folder])]
        # This Python may have its packages in the user's folder; another one has its own.
        option = "-P" if self.python == sys.executable else "-I"
        return [self.python, option, table_dump.__file__, *map(str, arguments)]


def upgrade_file(
    path: Path,
    release: Path | None,
    progress: Progress = ignore_progress,
    *,
    free_bytes: Callable[[Path], float] = free_bytes,
) -> GraphUpgrade:
    """Replace the file by one of the installed storage version with the same rows.

    A kill leaves the old file or the new one, and perhaps an incomplete folder `*.upgrading`, which
    the next call deletes.

    Args:
        path: of the file.
        release: a folder with a release of Ladybug, or a Python that has one; None: the installed.
        progress: called after each part of a table.
        free_bytes: of the disk of a folder.

    Raises:
        BadUsage: there is no release.
        GraphBusy: another process has the file open.
        GraphUnusable: the release cannot read the file, the file holds what cannot be copied, or
            there is not enough disk space.
    """
    reader = _Reader.of(release)
    if path.is_symlink():
        raise GraphUnusable(f"`{path}` is a symbolic link: name the file itself with --graph")
    check_regular(path)
    check_no_links(path)
    lock = lock_graph(path, write=True)
    try:
        swap.finish(path)
        swap.delete_work(path)
        version = storage_version(path)
        if version is None and path.stat().st_size:
            raise GraphUnusable(cannot_open(path, "it is no Ladybug file, or it is damaged"))
        if version is None or version == INSTALLED:
            return GraphUpgrade(path, INSTALLED)
        size = sum(file.stat().st_size for file in (path, *log.log_files(path)))
        check_space(path, _SPACE_FACTOR * size + 2 * RESERVE, "its upgrade", free_bytes)
        return _Upgrade(path, version, lock).run(reader, progress)
    except (RuntimeError, OSError) as error:
        raise GraphUnusable(
            f"graph `{path}` cannot be carried over: {error_reason(error)}; it stays as it is. "
            "Make sure that its folder can be written, and run again, or name another file "
            "with --graph"
        ) from error
    finally:
        if lock is not None:
            lock.close()


@dataclass(frozen=True)
class _Upgrade:
    """The upgrade of a file whose lock is held."""

    path: Path
    version: int
    lock: IO[bytes] | None

    def run(self, reader: _Reader, progress: Progress) -> GraphUpgrade:
        path = self.path
        if (kept := swap.earlier_kept(path, self.version)) is not None:
            raise GraphUnusable(
                f"`{kept}`, which an earlier upgrade kept, would be overwritten: move it away, "
                "then repeat the command"
            )
        is_damaged = checksum.compare(path) is ChecksumMatch.DAMAGED
        before = _states(path)
        with _work_folder(path) as folder:
            dump = self._dumped(folder, reader)
            new = folder / path.name
            private_files.ensure_file(new, like=path)
            counts = _build(new, folder, dump, progress)
            _check_rows(new, folder, dump)
            # Without locks, as on Windows, another process may have written meanwhile.
            if _states(path) != before:
                raise GraphBusy(f"graph `{path}` was written meanwhile; repeat the command")
            swap.commit(path, new)
        checksum.accept(path, is_doubted=is_damaged)
        kept = swap.kept_name(path, self.version)
        return GraphUpgrade(path, INSTALLED, self.version, counts, kept, dump.is_cut)

    def _dumped(self, folder: Path, reader: _Reader) -> _Dump:
        """Dump the file with the installed release if it can, else with the one of the reader.

        A log that the installed release wrote would be lost with an older one.
        """
        own = _Reader(sys.executable)
        dump = self._read(folder, own)
        if dump.error is not None and reader != own:
            dump = self._read(folder, reader)
        if dump.error is not None:
            raise GraphUnusable(
                f"graph `{self.path}` of storage version {self.version} cannot be read "
                f"({dump.error}); it stays as it is: {remedy(self.version)}"
            )
        logs = [one.read_bytes() for one in log.log_files(self.path)]
        if dump.is_cut and any(map(log.commit_ends, logs)):
            raise GraphUnusable(
                f"the log of graph `{self.path}` holds turns of Ladybug {RELEASE}, and is damaged: "
                f"an older release would lose them; it stays as it is: {REMEDY}"
            )
        return dump

    def _read(self, folder: Path, reader: _Reader) -> _Dump:
        """Dump the file in another process, which a damaged page may end.

        The process shares the lock, so that nobody writes while it still reads.
        """
        # A session of its own: Ctrl-C must not look like a crash.
        result = subprocess.run(
            reader.command(self.path, folder, self.version),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            start_new_session=True,
            pass_fds=() if self.lock is None else (self.lock.fileno(),),
        )
        contents = folder / table_dump.CONTENTS
        if result.returncode == -getattr(signal, "SIGKILL", 0):
            raise GraphUnusable(
                f"the process that reads graph `{self.path}` was killed, perhaps for lack of "
                "memory; the graph stays as it is: stop other programs, then repeat the command"
            )
        if result.returncode or not contents.exists():
            return _Dump(error=f"the process that reads it ended with {result.returncode}")
        dump = msgspec.json.decode(contents.read_bytes(), type=_Dump)
        if _LOCKED in (dump.error or ""):
            raise busy(self.path, "")
        if _NO_SPACE in (dump.error or ""):
            raise GraphUnusable(
                f"the disk of graph `{self.path}` is full; the graph stays as it is: free some "
                "space, then repeat the command"
            )
        return dump


def _states(path: Path) -> list[tuple[int, int]]:
    """Return size and time of the file and its logs."""
    files = (path, *log.log_files(path))
    return [(one.stat().st_size, one.stat().st_mtime_ns) for one in files]


@contextmanager
def _work_folder(path: Path) -> Generator[Path]:
    folder = swap.work_folder(path)
    private_files.create_folder(folder)
    try:
        yield folder
    finally:
        swap.delete_work(path)


def _build(new: Path, folder: Path, dump: _Dump, progress: Progress) -> Mapping[str, int]:
    """Build the new file, and return the rows of each table."""
    done = 0

    def copied(part: TablePart) -> None:
        nonlocal done
        done += 1
        progress(ProgressUpdate("graph upgrade", part.table, done, len(dump.parts)))

    with building(new) as target:
        foreign = foreign_table(dump.counts, target)
        if foreign is not None or dump.indexes:
            raise GraphUnusable(
                f"the graph holds a table or an index of another program (`"
                f"{foreign or dump.indexes[0]}`), which cannot be carried over: drop it with the "
                "release that wrote it"
            )
        copy_tables(target, _parts(folder, dump), copied)
        check_counts(target, dump.counts)
    check_merged(new)
    return dump.counts


def _parts(folder: Path, dump: _Dump) -> Iterator[tuple[TablePart, Any]]:
    for part in dump.parts:
        with pa.memory_map(str(folder / part.file)) as source:
            rows = pa.ipc.open_file(source).read_all()
        yield TablePart(part.table, part.start, part.end), rows


def _check_rows(new: Path, folder: Path, dump: _Dump) -> None:
    """Compare all values of the closed file with the dump: counts do not show a lost vector."""
    with (
        closing(open_database(new, write=False)) as database,
        closing(connect(database)) as connection,
    ):
        expected = dict(_parts(folder, dump))
        for part, rows in read_tables(connection):
            before = expected.get(part)
            columns = [] if before is None else before.column_names
            if before is not None and not _digest(before, columns).equals(_digest(rows, columns)):
                raise GraphUnusable(
                    f"the copy of table `{part.table}` differs from the old one; the graph stays "
                    "as it is: repeat the command"
                )


def _digest(rows: Any, columns: list[str]) -> pl.Series:
    """Return the digests of the rows, sorted: their order means nothing."""
    return pl.DataFrame(pl.from_arrow(rows)).select(columns).hash_rows().sort()
