"""`turnetl sql`."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from turnetl import console
from turnetl.base.clock import now
from turnetl.base.errors import BadUsage
from turnetl.base.exit_code import ExitCode
from turnetl.cli.options import NO_COMMON, CommonOptions, PathOption

if TYPE_CHECKING:
    from turnetl.transfer.sql import SqlSession

_ROWS = 100
"""Rows that are printed by default."""


def sql(
    query: str | None = None,
    /,
    *,
    output: Annotated[PathOption, Parameter(name=("--output", "-o"))] = None,
    limit: Annotated[int, Parameter(name=("--limit", "-n"), validator=Number(gte=1))] = _ROWS,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Query turns, steps, tokens, facts, decisions and errors with DuckDB, read-only.

    Args:
        query: SQL; none: from standard input, or what is typed on a terminal.
        output: A file for all rows: .csv, .jsonl or .parquet.
        limit: At most this many rows are printed.
    """
    from turnetl.transfer import sql as verb
    from turnetl.views import export as view

    query = query or _piped()
    if query is None and (common.json or output is not None or not sys.stdin.isatty()):
        raise BadUsage(
            '`turnetl sql` needs a query: `turnetl sql "SHOW TABLES"` lists what it can read'
        )
    tables = common.executed(verb.read_tables, common.settings(), now)
    with tables.opened() as session:
        if query is None:
            _answer_typed(session, limit)
        elif output is not None:
            rows = verb.write_rows(session, query, output.expanduser())
            console.print_text(view.sql_file(rows, output))
        else:
            found = session.result(query)
            console.print_messages([found.unread] if found.unread else [])
            console.print_result(view.sql_rows(found, limit), found, as_json=common.json)
    return ExitCode.DONE


def _piped() -> str | None:
    """Return the query on standard input; None: it is a terminal, or empty."""
    return None if sys.stdin.isatty() else sys.stdin.read().strip() or None


def _answer_typed(session: "SqlSession", limit: int) -> None:
    """Print the result of each statement that is typed; an error does not end that."""
    from turnetl.views import export as view

    console.print_messages([session.unread] if session.unread else [])
    console.print_text("`SHOW TABLES;` lists the views, `DESCRIBE turns;` columns; Ctrl-D ends")
    for statement in _statements():
        try:
            found = session.result(statement)
        except BadUsage as error:
            console.print_messages([str(error)])
        else:
            console.print_result(view.sql_rows(found, limit), found, as_json=False)


def _statements() -> Iterator[str]:
    """Yield what is typed up to each semicolon at the end of a line."""
    typed = ""
    while True:
        try:
            typed += input("...> " if typed else "sql> ") + "\n"
        except EOFError:
            return
        if typed.rstrip().endswith(";"):
            yield typed
            typed = ""
