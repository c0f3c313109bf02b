"""The journal: what models answered, kept in the lake so that nothing is paid for twice."""

from datetime import timedelta
from typing import Annotated

from cyclopts import App, Parameter
from cyclopts.validators import Number

from turnetl import console
from turnetl.cli.options import MODEL_COMMANDS, NO_COMMON, CommonOptions
from turnetl.clock import now
from turnetl.errors import BadUsage

app = App(
    name="journal",
    help="What models answered, kept so that nothing is paid for twice.",
    group=MODEL_COMMANDS,
)


@app.command
def stats(*, common: CommonOptions = NO_COMMON) -> int:
    """Say what the journal holds, by prompt and model, and what it saved."""
    from turnetl import pipeline as turnetl
    from turnetl.report import journal as shown

    held = turnetl.journal_stats(common.settings(), now)
    console.print_result(shown.table(held), shown.as_json(held), as_json=common.json)
    return console.DONE


@app.command
def prune(
    *,
    older_than: Annotated[float | None, Parameter(validator=Number(gte=0, lte=36_500))] = None,
    model: str | None = None,
    everything: Annotated[bool, Parameter(name="--all", negative="")] = False,
    dry_run: Annotated[bool, Parameter(negative="")] = False,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Take answers out of the journal. What is in a graph stays; asking again costs again.

    Args:
        older_than: Those kept more than so many days ago.
        model: Those of this model, with or without its provider; with --older-than, both must hold.
        everything: All of them.
        dry_run: Take nothing out; say what would go.
    """
    if older_than is None and model is None and not everything:
        raise BadUsage("say which answers: --older-than DAYS, --model NAME, or --all")
    from turnetl import pipeline as turnetl
    from turnetl.report import journal as shown

    gone = turnetl.journal_prune(
        common.settings(),
        now,
        older_than=now() - timedelta(days=older_than) if older_than is not None else None,
        model=model,
        everything=everything,
        dry_run=dry_run,
    )
    console.print_result(shown.pruned(gone), shown.pruned_json(gone), as_json=common.json)
    return console.DONE
