"""`turnetl model`, and `turnetl journal` with the stored responses of models."""

from datetime import timedelta
from typing import Annotated

from cyclopts import App, Parameter
from cyclopts.validators import Number

from turnetl import console
from turnetl.base.clock import now
from turnetl.base.errors import BadUsage
from turnetl.base.exit_code import ExitCode
from turnetl.cli.options import (
    NO_COMMON,
    NO_EXTRACTION,
    CommonOptions,
    ExtractionOptions,
    Flag,
)

model_app = App(name="model", help="The language model.")


@model_app.command
def check(
    *, extraction: ExtractionOptions = NO_EXTRACTION, common: CommonOptions = NO_COMMON
) -> int:
    """Send the model one request per prompt of a run; print which ones it cannot complete."""
    from turnetl import pipeline
    from turnetl.views import model as view

    settings, options = common.settings(**extraction.settings), extraction.run_options()
    with console.show_progress(as_json=common.json) as progress:
        report = console.run_async(pipeline.check_model(settings, options, now, progress))
    console.print_messages(view.check_messages(report))
    console.print_result(view.check_view(report), report, as_json=common.json)
    return view.check_exit_code(report)


journal_app = App(
    name="journal",
    help="The stored responses of models, so that none is paid for twice.",
)


@journal_app.command
def stats(*, common: CommonOptions = NO_COMMON) -> int:
    """Print the contents of the journal by prompt and model, and the cost that it saved."""
    from turnetl import wiring
    from turnetl.views import model as view

    with wiring.journal(common.settings(), now) as journal:
        contents = journal.stats()
    console.print_result(view.journal_view(contents), contents, as_json=common.json)
    return ExitCode.DONE


@journal_app.command
def prune(
    *,
    older_than: Annotated[float | None, Parameter(validator=Number(gte=0, lte=36_500))] = None,
    model: str | None = None,
    everything: Annotated[Flag, Parameter(name="--all")] = False,
    dry_run: Flag = False,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Remove responses from the journal. The graph stays; the same requests cost again.

    Args:
        older_than: Responses older than this many days.
        model: Responses of this model, with or without its provider; combines with --older-than.
        everything: All responses.
        dry_run: Remove nothing; print what would be removed.
    """
    if older_than is None and model is None and not everything:
        raise BadUsage("select responses with --older-than DAYS, --model NAME, or --all")
    from turnetl import wiring
    from turnetl.views import model as view

    before = now() - timedelta(days=older_than) if older_than is not None else None
    with wiring.journal(common.settings(), now) as journal:
        pruned = journal.prune(
            older_than=before, model=model, everything=everything, dry_run=dry_run
        )
    console.print_result(view.pruned_view(pruned), pruned, as_json=common.json)
    return ExitCode.DONE
