"""Commands about the language model."""

from cyclopts import App

from turnetl import console
from turnetl.base.clock import now
from turnetl.cli.options import (
    MODEL_COMMANDS,
    NO_COMMON,
    NO_EXTRACTION,
    CommonOptions,
    ExtractionOptions,
)

app = App(name="model", help="The language model.", group=MODEL_COMMANDS)


@app.command
def check(
    *, extraction: ExtractionOptions = NO_EXTRACTION, common: CommonOptions = NO_COMMON
) -> int:
    """Send the model one request per prompt of a run; print which ones it cannot complete."""
    from turnetl import pipeline
    from turnetl.views import model_check as view

    settings, options = common.settings(**extraction.settings), extraction.run_options()
    report = console.run_async(pipeline.check_model(settings, options, now))
    console.print_messages(view.messages(report))
    console.print_result(view.view(report), report, as_json=common.json)
    return view.exit_code(report)
