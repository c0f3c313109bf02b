"""The `turnetl` command: its commands and options. `turnetl.console` runs them and prints.

Nothing heavy is imported before a command is selected.
"""

import gc
import os
import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cyclopts import App, Group

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
            from turnetl.cli.inspect import next_step

            return next_step()
        return super().__call__(tokens, **options)

    def help_print(self, tokens: Any = None, *, console: Any = None) -> None:
        super().help_print(tokens or [_BRIEF], console=console)
        if not tokens:
            print_text(_MORE)

    def _assemble_help_panels(self, tokens: Any, help_format: Any) -> Any:
        if not tokens or tokens[0].startswith("-"):
            for name in self:
                self[name]  # imports it, for its help
        panels = super()._assemble_help_panels(tokens, help_format)
        # The generated page of all commands has no tokens, and `--help --all` has others.
        return [one for one in panels if _BRIEF not in tokens or one[0] not in _OTHERS]


_BRIEF = "--brief"
"""Stands for no arguments: only the commands for every day are listed."""
_MORE = "All other commands: turnetl --help --all. Options: turnetl COMMAND --help."
_EVERY_DAY = Group("Every day", sort_key=0)
_OTHERS = {
    Group("Look back", sort_key=1): (
        "timeline sessions resume entity file why report export sql mcp"
    ),
    Group("Read archives step by step", sort_key=2): (
        "sources plan parse filter ingest retry summarize communities import index"
    ),
    Group("Correct and remove", sort_key=3): "review redo undo forget",
    Group("Inspect and maintain", sort_key=4): ("runs verify evaluate rules formats graph migrate"),
    Group("Use a model", sort_key=5): "model templates journal",
    Group("Set up and script", sort_key=6): "config trust prefect schema completion uninstall",
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
_SECTIONS = {
    name: (group, place)
    for group, names in (*_OTHERS.items(), (_EVERY_DAY, " ".join(EVERY_DAY)))
    for place, name in enumerate(names.split())
}
_COMMANDS = """
backfill:backfill plan:plan backfill:sources backfill:parse filter=backfill:filter_
backfill:ingest backfill:retry summarize:summarize review:review undo:redo undo:undo undo:forget
import=export:import_ inspect:status runs=inspect:runs_app inspect:report verify:verify
graph=verify:graph_app communities=summarize:app migrate=migrate:app search:search
index=index:index_ index:evaluate history:show history:timeline history:sessions history:resume
history:digest entity=entity:app file=history:file_ history:fix history:why serve:serve serve:mcp
export:export install:install install:uninstall install:hook sql:sql formats=inspect:formats_
rules=inspect:rules_ templates=templates:app model=model:model_app journal=model:journal_app
config=config:app config:trust prefect=prefect:app inspect:schema completion=config:completion_app
"""
"""What each command is, by module, and its name if that is another: only the module of the command
that runs is imported."""
for _entry in _COMMANDS.split():
    _name, _, _command = _entry.rpartition("=")
    _name = _name or _command.partition(":")[2]
    _group, _place = _SECTIONS.get(_name, (None, None))
    app.command(
        f"turnetl.cli.{_command}",
        name=_name,
        help="Ingest, and try the quarantined turns again." if _name == "retry" else None,
        group=_group,
        sort_key=_place,
        show=_name != "hook",
    )
_OPTIONS = Group("Options", sort_key=9)
for _place, _name in enumerate(("--help", "--version")):
    app[_name].group, app[_name].sort_key = _OPTIONS, _place

_READING = """
completion config digest entity file fix formats mcp migrate model report resume rules runs schema
search serve sessions show sources sql status timeline why
"""
READING_COMMANDS = frozenset(_READING.split())
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


def main() -> None:
    """Run the command and exit with its exit code, a member of `ExitCode`."""
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
