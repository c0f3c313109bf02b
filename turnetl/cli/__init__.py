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
    config,
    entity,
    export,
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
from turnetl.console import print_text, run, terminal

if TYPE_CHECKING:  # importing it takes a moment, which a command without `--help` must not spend
    from cyclopts.help import PlainFormatter


def _version() -> str:
    from importlib import metadata

    return metadata.version("turnetl")


class _OfAnyClass(type):
    """Cyclopts documents a command if it is of the class of its program: here all are."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, App)


class _Program(App, metaclass=_OfAnyClass):
    """The command, whose help lists the commands for every day; with `--all` also the others."""

    def __call__(self, tokens: Any = None, **options: Any) -> Any:
        """Run the command that the tokens name; without any, print what to do next."""
        if tokens == []:
            return inspect.next_step()
        return super().__call__(tokens, **options)

    def help_print(self, tokens: Any = None, *, console: Any = None) -> None:
        super().help_print(tokens or [_BRIEF], console=console)
        if not tokens:
            print_text(_MORE)

    def _assemble_help_panels(self, tokens: Any, help_format: Any) -> Any:
        panels = super()._assemble_help_panels(tokens, help_format)
        # The generated page of all commands has no tokens, and `--help --all` has others.
        return [one for one in panels if _BRIEF not in tokens or one[0] not in _OTHERS]


_BRIEF = "--brief"
"""Stands for no arguments: only the commands for every day are listed."""
_MORE = "All other commands: turnetl --help --all. Options: turnetl COMMAND --help."
_EVERY_DAY = Group("Every day", sort_key=0)
_OTHERS = {
    Group("Look back", sort_key=1): (
        *(
            "timeline",
            "sessions",
            "resume",
            "entity",
            "file",
            "why",
            "report",
            "export",
            "sql",
            "mcp",
        ),
    ),
    Group("Read archives step by step", sort_key=2): (
        *("sources", "plan", "parse", "filter", "ingest", "retry", "summarize", "communities"),
        *("import", "index"),
    ),
    Group("Correct and remove", sort_key=3): ("redo", "undo", "forget"),
    Group("Inspect and maintain", sort_key=4): (
        *("runs", "verify", "evaluate", "rules", "formats", "graph", "migrate"),
    ),
    Group("Use a model", sort_key=5): ("model", "templates", "journal"),
    Group("Set up and script", sort_key=6): (
        *("config", "trust", "prefect", "schema", "completion", "uninstall"),
    ),
}
"""What people want to do, and the commands for it."""
EVERY_DAY = ("backfill", "search", "serve", "show", "digest", "fix", "install", "status")
"""The commands that the help lists without `--all`."""

app = _Program(
    name="turnetl",
    help="Find what you and your coding agents decided, built and fixed: years of it, on this "
    "machine.",
    version=_version,
    result_action="return_value",
    suppress_keyboard_interrupt=False,  # the console reports it
    help_format="plaintext",  # markdown costs a tenth of a second
)
app.command(backfill.backfill)
app.command(plan.plan)
app.command(backfill.sources)
app.command(backfill.parse)
app.command(backfill.filter_, name="filter")
app.command(
    backfill.ingest,
    name="ingest",
    help="Ingest episodes into the graph, oldest first, one transaction per turn.",
)
app.command(
    partial(backfill.ingest, retry=True),
    name="retry",
    help="Ingest, and try the quarantined turns again.",
)
app.command(summarize.summarize)
app.command(undo.redo)
app.command(undo.undo)
app.command(undo.forget)
app.command(export.import_, name="import")
app.command(inspect.status)
app.command(inspect.runs_app)
app.command(inspect.report)
app.command(verify.verify)
app.command(verify.graph_app)
app.command(summarize.app)
app.command(migrate.app)
app.command(search.search)
app.command(index.index_, name="index")
app.command(index.evaluate)
app.command(history.show)
app.command(history.timeline)
app.command(history.sessions)
app.command(history.resume)
app.command(history.digest)
app.command(entity.app)
app.command(history.file_, name="file")
app.command(history.fix)
app.command(history.why)
app.command(serve.serve)
app.command(serve.mcp)
app.command(export.export)
app.command(install.install)
app.command(install.uninstall)
app.command(install.hook, show=False)
app.command(sql.sql)
app.command(inspect.formats_, name="formats")
app.command(inspect.rules_, name="rules")
app.command(templates.app)
app.command(model.model_app)
app.command(model.journal_app)
app.command(config.app)
app.command(config.trust)
app.command(prefect.app)
app.command(inspect.schema)
app.command(config.completion_app)
_OPTIONS = Group("Options", sort_key=9)
for _group, _names in (
    *_OTHERS.items(),
    (_EVERY_DAY, EVERY_DAY),
    (_OPTIONS, ("--help", "--version")),
):
    for _place, _name in enumerate(_names):
        if _name in app:
            app[_name].group, app[_name].sort_key = _group, _place

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
        "resume",
        "schema",
        "search",
        "serve",
        "sessions",
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
