"""The `turnetl` command: its commands and options. `turnetl.console` runs them and prints.

Nothing heavy is imported before a command is selected.
"""

import gc
import os
import sys
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from cyclopts import App, Group

from turnetl.cli import (
    backfill,
    completion,
    config,
    entity,
    export,
    graph,
    history,
    index,
    inspect,
    install,
    migrate,
    model,
    plan,
    prefect,
    search,
    serve,
    sql,
    summarize,
    templates,
    undo,
    verify,
)
from turnetl.cli.options import HISTORY_COMMANDS, INSPECTION_COMMANDS, SETUP_COMMANDS
from turnetl.console import run, terminal

if TYPE_CHECKING:  # importing it takes a moment, which a command without `--help` must not spend
    from cyclopts.help import PlainFormatter

_MAIN = Group("Main command", sort_key=0)
_STAGES = Group("Stages", sort_key=1)


def _version() -> str:
    from importlib import metadata

    return metadata.version("turnetl")


app = App(
    name="turnetl",
    help="Turn years of coding-agent archives into a temporal knowledge graph.",
    version=_version,
    result_action="return_value",
    suppress_keyboard_interrupt=False,  # the console reports it
    help_format="plaintext",  # markdown costs a tenth of a second
)
app.command(backfill.backfill, group=_MAIN)
app.command(plan.plan, group=_MAIN)
app.command(backfill.sources, group=_MAIN)
app.command(backfill.parse, group=_STAGES)
app.command(backfill.filter_, name="filter", group=_STAGES)
app.command(
    backfill.ingest,
    name="ingest",
    group=_STAGES,
    help="Ingest episodes into the graph, oldest first, one transaction per turn.",
)
app.command(
    partial(backfill.ingest, retry=True),
    name="retry",
    group=_STAGES,
    help="Ingest, and try the quarantined turns again.",
)
app.command(summarize.summarize, group=_STAGES)
app.command(undo.redo, group=_STAGES)
app.command(undo.undo, group=_STAGES)
app.command(undo.forget, group=_STAGES)
app.command(export.import_, name="import", group=_STAGES)
app.command(inspect.status, group=INSPECTION_COMMANDS)
app.command(inspect.runs_app)
app.command(inspect.report, group=INSPECTION_COMMANDS)
app.command(verify.verify, group=INSPECTION_COMMANDS)
app.command(graph.app)
app.command(summarize.app)
app.command(migrate.app)
app.command(search.search, group=INSPECTION_COMMANDS)
app.command(index.index_, name="index", group=INSPECTION_COMMANDS)
app.command(index.evaluate, group=INSPECTION_COMMANDS)
app.command(history.show, group=HISTORY_COMMANDS)
app.command(history.timeline, group=HISTORY_COMMANDS)
app.command(history.digest, group=HISTORY_COMMANDS)
app.command(entity.app)
app.command(history.file_, name="file", group=HISTORY_COMMANDS)
app.command(history.fix, group=HISTORY_COMMANDS)
app.command(history.why, group=HISTORY_COMMANDS)
app.command(serve.serve, group=HISTORY_COMMANDS)
app.command(serve.mcp, group=HISTORY_COMMANDS)
app.command(export.export, group=HISTORY_COMMANDS)
app.command(install.install, group=SETUP_COMMANDS)
app.command(install.uninstall, group=SETUP_COMMANDS)
app.command(install.hook, show=False)
app.command(sql.sql, group=HISTORY_COMMANDS)
app.command(inspect.formats_, name="formats", group=INSPECTION_COMMANDS)
app.command(inspect.rules_, name="rules", group=INSPECTION_COMMANDS)
app.command(templates.app)
app.command(model.model_app)
app.command(model.journal_app)
app.command(config.app)
app.command(config.trust, group=SETUP_COMMANDS)
app.command(prefect.app)
app.command(inspect.schema, group=SETUP_COMMANDS)
app.command(completion.app)

READING_COMMANDS = frozenset(
    {
        "completion",
        "config",
        "digest",
        "entity",
        "file",
        "fix",
        "formats",
        "mcp",
        "migrate",
        "model",
        "report",
        "rules",
        "runs",
        "schema",
        "search",
        "serve",
        "show",
        "sources",
        "sql",
        "status",
        "timeline",
        "why",
    }
)
"""Commands that write nothing but the search index: a second run starts from the beginning."""


class PipedHelpFormatter:
    """Prints the help as plain lines, for pipes and files: without boxes, and wraps nothing."""

    def __call__(self, console: Any, options: Any, panel: Any) -> None:
        self._plain(console, options, panel)

    def render_usage(self, console: Any, options: Any, usage: Any) -> None:
        # The usage is printed first: from here on, the console wraps nothing.
        console.width = terminal.UNWRAPPED
        self._plain.render_usage(console, options, usage)

    def render_description(self, console: Any, options: Any, description: Any) -> None:
        self._plain.render_description(console, options, description)

    @cached_property
    def _plain(self) -> "PlainFormatter":
        from cyclopts.help import PlainFormatter

        return PlainFormatter(max_width=terminal.UNWRAPPED)


_UMASK = 0o077
_GC_OBJECTS = 200_000
"""New objects between two collections: more than imports create, none of which is garbage."""


def main() -> None:
    """Run the command and exit with its exit code, a member of `ExitCode`."""
    gc.set_threshold(_GC_OBJECTS)
    # Read when numpy is imported. All products are small: further threads only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # noqa: TID251 - read there only
    # For files that libraries create beside a graph; turnetl's own need no umask.
    os.umask(_UMASK)
    if not sys.stdout.isatty():
        app.help_formatter = PipedHelpFormatter()
    elif terminal.is_unstyled():
        app.console = terminal.rich_console()
    exit_code = run(app, sys.argv[1:], reading=READING_COMMANDS)
    # Else the interpreter searches all modules for garbage before it ends, for a tenth of a second.
    gc.freeze()
    sys.exit(exit_code)
