"""Read all tables of a Ladybug database as Arrow tables, also by another release of Ladybug.

As a program, this module imports nothing of turnetl, so that any Python with a release of Ladybug
and pyarrow runs it:

python table_dump.py GRAPH FOLDER VERSION [FOLDER_OF_THE_RELEASE]

It writes the tables into the folder, last `tables.json`: either `parts`, or an `error`.
"""

import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

CONTENTS = "tables.json"
_TABLES = "CALL show_tables() RETURN name, type"
BESIDE = (".wal", ".wal.checkpoint", ".shadow")
"""Of the files that the database makes beside its own."""
_NEEDS_RECOVERY = "recovery is pending"
_MAX_CHARS = 160


@dataclass(frozen=True)
class TablePart:
    """A node table, or the relationships of a table between two node tables."""

    table: str
    start: str | None = None
    """The node table where the relationships start; None for nodes."""
    end: str | None = None


def table_names(connection: Any) -> dict[str, bool]:
    """Return whether each table holds nodes, by its name: first those of nodes, by name."""
    tables = dict(query_rows(connection, _TABLES))
    names = sorted(tables, key=lambda name: (tables[name] != "NODE", name))
    return {name: tables[name] == "NODE" for name in names}


def read_tables(connection: Any) -> Iterator[tuple[TablePart, Any]]:
    """Yield each part of the database with its rows as an Arrow table, nodes first.

    Relationships have the keys of their ends as `start_key` and `end_key` before their columns.
    """
    for table, is_node in table_names(connection).items():
        if is_node:
            named = ", ".join(
                f"n.`{column}` AS `{column}`" for column in _columns(connection, table)
            )
            yield TablePart(table), _arrow(connection, f"MATCH (n:`{table}`) RETURN {named}")
        else:
            yield from _relationships(connection, table)


def count_rows(connection: Any, table: str, *, is_node: bool) -> int:
    pattern = f"(r:`{table}`)" if is_node else f"()-[r:`{table}`]->()"
    [[count]] = query_rows(connection, f"MATCH {pattern} RETURN count(*)")
    return int(count)


def query_rows(connection: Any, query: str) -> list[Any]:
    result = connection.execute(query)
    rows: list[Any] = result.get_all()
    result.close()
    return rows


def _relationships(connection: Any, table: str) -> Iterator[tuple[TablePart, Any]]:
    named = "".join(f", r.`{column}` AS `{column}`" for column in _columns(connection, table))
    ends = query_rows(connection, f"CALL show_connection('{table}') RETURN *")
    for start, end, start_key, end_key in ends:
        query = (
            f"MATCH (a:`{start}`)-[r:`{table}`]->(b:`{end}`) "
            f"RETURN a.`{start_key}` AS start_key, b.`{end_key}` AS end_key{named}"
        )
        yield TablePart(table, start, end), _arrow(connection, query)


def _arrow(connection: Any, query: str) -> Any:
    result = connection.execute(query)
    rows = result.get_as_arrow(-1)
    result.close()
    return rows


def _columns(connection: Any, table: str) -> Sequence[str]:
    return [row[1] for row in query_rows(connection, f"CALL table_info('{table}') RETURN *")]


def dump(graph: Path, folder: Path, version: int) -> dict[str, Any]:
    """Write the tables into a folder, and return its contents. The graph stays as it is.

    A damaged end of the log is left out only if this is a release of the file's own version: to
    another one, an intact log may look like a damaged one.
    """
    import ladybug  # noqa: PLC0415 - perhaps from a folder, which `main` adds to the path

    is_cut = False
    # Compressed floats may be lost when a log is merged.
    options: dict[str, Any] = {"max_num_threads": 1, "compression": False}
    try:
        database = ladybug.Database(str(graph), read_only=True, **options)
    except RuntimeError as error:
        if version != ladybug.storage_version:
            raise
        if is_cut := _NEEDS_RECOVERY not in str(error):
            options |= {"read_only": True, "throw_on_wal_replay_failure": False}
            database = ladybug.Database(str(graph), **options)
        else:
            # Only a writer completes the merge, and the file must stay as it is.
            database = ladybug.Database(str(_copy(graph, folder)), **options)
    with closing(database), closing(ladybug.Connection(database, num_threads=1)) as connection:
        return {"is_cut": is_cut, **_write_tables(connection, folder)}


def _copy(graph: Path, folder: Path) -> Path:
    for suffix in ("", *BESIDE):
        source = graph.with_name(f"{graph.name}{suffix}")
        if source.exists():
            shutil.copy2(source, folder / f"recovered{suffix}")
    return folder / "recovered"


def _write_tables(connection: Any, folder: Path) -> dict[str, Any]:
    import pyarrow as pa  # noqa: PLC0415 - takes a moment, and only the program writes files

    parts = []
    for number, (part, rows) in enumerate(read_tables(connection)):
        file = f"{number:04}.arrow"
        with pa.OSFile(str(folder / file), "wb") as sink, pa.ipc.new_file(sink, rows.schema) as out:
            out.write_table(rows)
        parts.append({"file": file, **asdict(part)})
    counts = {
        table: count_rows(connection, table, is_node=is_node)
        for table, is_node in table_names(connection).items()
    }
    return {"parts": parts, "counts": counts, "indexes": _indexes(connection)}


def _indexes(connection: Any) -> list[str]:
    """Return the indexes of other programs, which no table holds."""
    columns = "RETURN table_name, index_name, index_type"
    rows = query_rows(connection, f"CALL show_indexes() {columns}")
    return [f"{table}.{name}" for table, name, kind in rows if kind != "HASH"]


def main(graph: Path, folder: Path, version: int, release: Path | None) -> None:
    if release is not None:
        sys.path.insert(0, str(release))
    try:
        contents = dump(graph, folder, version)
    except (ImportError, RuntimeError, OSError, ValueError) as error:
        # No text of a turn gets into a message.
        contents = {"error": (str(error).splitlines() or [""])[0][:_MAX_CHARS]}
    (folder / CONTENTS).write_text(json.dumps(contents))


if __name__ == "__main__":
    graph_file, dump_folder, version, *release_folder = sys.argv[1:]
    added = Path(release_folder[0]) if release_folder else None
    main(Path(graph_file), Path(dump_folder), int(version), added)
