"""Rewrite a Ladybug file, so that it no longer holds the bytes of what was deleted.

Ladybug keeps deleted texts in its pages, also after a checkpoint, and its `EXPORT DATABASE` does
not support Graphiti's schema. The tables are copied into a new file, which then replaces the old
one in one step.
"""

import glob
import os
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from turnetl.base import damaged_copies, private_files
from turnetl.base.disk_space import free_bytes
from turnetl.base.errors import GraphUnusable
from turnetl.graph.ladybug import checksum, log
from turnetl.graph.ladybug.client import error_reason
from turnetl.graph.ladybug.database import abandon, connect, create_tables, open_database
from turnetl.graph.ladybug.file import LadybugFile
from turnetl.graph.ladybug.log import RESERVE

_SUFFIX = ".rewritten"
_TABLES = "CALL show_tables() RETURN name, type"


def rewrite_file(path: Path) -> None:
    """Replace the file by a copy of its rows, and delete copies of damaged logs beside it.

    A kill leaves the old file or the new one, and perhaps an incomplete copy, which the next call
    deletes.

    Raises:
        GraphBusy: another process has it open.
        GraphUnusable: it holds tables of another program, or there is not enough disk space.
    """
    copy = path.with_name(f"{path.name}{_SUFFIX}")
    _check_space(path)
    file = LadybugFile.open(path, write=True)
    try:
        _delete(copy)
        private_files.ensure_file(copy, like=path)
        _copy(file.connection, copy, path)
        file.connection.close()
        file.database.close()
        _check_merged(path)
        _check_merged(copy)
        _sync(copy)
        copy.replace(path)
        _sync(path.parent)
        checksum.end_writing(path)
        for old in (copy for name in log.log_names(path) for copy in damaged_copies.copies(name)):
            old.unlink(missing_ok=True)
    except RuntimeError as error:
        raise GraphUnusable(
            f"graph `{path}` cannot be copied without the deleted texts: {error_reason(error)}; "
            "it stays as it is: free some disk space, then repeat the command"
        ) from error
    finally:
        if file.lock:
            file.lock.close()


def _copy(source: Any, copy: Path, path: Path) -> None:
    with ExitStack() as opened:
        database = opened.enter_context(closing(open_database(copy, write=True)))
        target = opened.enter_context(closing(connect(database)))
        try:
            _copy_tables(source, target, path)
        except RuntimeError:
            opened.pop_all()
            abandon(target)
            raise


def _copy_tables(source: Any, target: Any, path: Path) -> None:
    create_tables(source)
    create_tables(target)
    tables = dict(_rows(source, _TABLES))
    if foreign := sorted(tables.keys() - dict(_rows(target, _TABLES)).keys()):
        raise GraphUnusable(
            f"graph `{path}` holds tables of another program (`{foreign[0]}`), which cannot be "
            "copied: what was deleted from it stays in the bytes of the file"
        )
    for name in sorted(tables, key=lambda name: (tables[name] != "NODE", name)):
        if tables[name] == "NODE":
            _copy_nodes(source, target, name)
        else:
            _copy_relationships(source, target, name)


def _copy_nodes(source: Any, target: Any, table: str) -> None:
    columns = _columns(source, table)
    named = ", ".join(f"n.`{column}` AS `{column}`" for column in columns)
    rows = source.execute(f"MATCH (n:`{table}`) RETURN {named}").get_as_arrow(-1)
    if rows.num_rows:
        listed = ", ".join(f"`{column}`" for column in columns)
        target.execute(f"COPY `{table}` ({listed}) FROM $rows", {"rows": rows})
    _check_count(target, f"MATCH (n:`{table}`) RETURN count(*)", rows.num_rows)


def _copy_relationships(source: Any, target: Any, table: str) -> None:
    columns = _columns(source, table)
    copied = 0
    ends = _rows(source, f"CALL show_connection('{table}') RETURN *")
    for start, end, start_key, end_key in ends:
        named = "".join(f", r.`{column}` AS `{column}`" for column in columns)
        rows = source.execute(
            f"MATCH (a:`{start}`)-[r:`{table}`]->(b:`{end}`) "
            f"RETURN a.`{start_key}` AS start_key, b.`{end_key}` AS end_key{named}"
        ).get_as_arrow(-1)
        if rows.num_rows:
            target.execute(
                f"COPY `{table}` FROM $rows (from='{start}', to='{end}')", {"rows": rows}
            )
        copied += rows.num_rows
    _check_count(target, f"MATCH ()-[r:`{table}`]->() RETURN count(*)", copied)


def _columns(source: Any, table: str) -> Sequence[str]:
    return [row[1] for row in _rows(source, f"CALL table_info('{table}') RETURN *")]


def _check_count(target: Any, query: str, expected: int) -> None:
    [[count]] = _rows(target, query)
    if count != expected:
        raise GraphUnusable(
            "the copy of the graph is not complete; the graph stays as it is, repeat the command"
        )


def _check_space(path: Path) -> None:
    required = path.stat().st_size + 2 * RESERVE
    if free_bytes(path.parent) < required:
        raise GraphUnusable(
            f"the disk of graph `{path}` needs {required / 1e6:,.0f} MB of free space for a copy "
            "without the deleted texts: free some space, then repeat the command"
        )


def _check_merged(path: Path) -> None:
    """Check that no log is left, which would be replayed into the copy."""
    if log.log_files(path):
        raise GraphUnusable(
            f"the log of graph `{path}` could not be merged into the file: free some disk space, "
            "then repeat the command"
        )


def _delete(copy: Path) -> None:
    # Its log, and the pages of a checkpoint: a database with this name would not open beside them.
    for file in copy.parent.glob(f"{glob.escape(copy.name)}*"):
        file.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _rows(connection: Any, query: str) -> list[Any]:
    result = connection.execute(query)
    rows: list[Any] = result.get_all()
    result.close()
    return rows
