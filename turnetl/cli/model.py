"""The language model, before a run."""

from cyclopts import App

from turnetl import console
from turnetl.cli.options import (
    MODEL_COMMANDS,
    NO_COMMON,
    NO_EXTRACTION,
    CommonOptions,
    ExtractionOptions,
)
from turnetl.clock import now

app = App(name="model", help="The language model, before a run.", group=MODEL_COMMANDS)


@app.command
def check(*, asked: ExtractionOptions = NO_EXTRACTION, common: CommonOptions = NO_COMMON) -> int:
    """Ask the model one question of each kind that a run asks: what can it not do?"""
    from turnetl import pipeline as turnetl
    from turnetl.report import model_check as shown

    settings, limits = common.settings(**asked.settings), asked.limits()
    found = console.run_async(turnetl.check_model(settings, limits, now))
    console.print_messages(shown.sentences(found))
    console.print_result(shown.table(found), shown.as_json(found), as_json=common.json)
    return shown.exit_code(found)
