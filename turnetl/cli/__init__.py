"""The `turnetl` command: what can be said to it. How it answers stands in `turnetl.console`.

Nothing heavy is imported before a command is chosen.
"""

import sys
from functools import partial

from cyclopts import App, Group

from turnetl import console
from turnetl.cli import inspect, journal, model, stages, templates

app = App(
    name="turnetl",
    help="Years of coding-agent archives into a temporal knowledge graph.",
    version=console.version,
    result_action="return_value",
    suppress_keyboard_interrupt=False,  # we say what stays
    help_format="plaintext",  # markdown costs a tenth of a second
)
_main = Group("The main job", sort_key=0)
_stages = Group("Stage by stage", sort_key=1)
_look = Group("Looking", sort_key=2)

app.command(stages.backfill, group=_main)
app.command(stages.parse, group=_stages)
app.command(stages.filter_, name="filter", group=_stages)
app.command(
    stages.ingest,
    name="ingest",
    group=_stages,
    help="Bring episodes into the graph, oldest first, one transaction a turn.",
)
app.command(
    partial(stages.ingest, retry=True),
    name="retry",
    group=_stages,
    help="Ingest, and try the quarantined turns again.",
)
app.command(inspect.status, group=_look)
app.command(inspect.formats_, name="formats", group=_look)
app.command(inspect.rules_, name="rules", group=_look)
app.command(inspect.search, group=_look)
app.command(templates.app)
app.command(model.app)
app.command(journal.app)


def main() -> None:
    """Run the command line, with the exit codes of the README."""
    sys.exit(console.run(app, sys.argv[1:]))
