"""The language model, before a run."""

from cyclopts import App

from turnetl import console
from turnetl.cli.options import ASKED, COMMON, WITH_A_MODEL, Asked, Common
from turnetl.clock import now

app = App(name="model", help="The language model, before a run.", group=WITH_A_MODEL)


@app.command
def check(*, asked: Asked = ASKED, common: Common = COMMON) -> int:
    """Ask the model one question of each kind that a run asks: what can it not do?"""
    from turnetl import pipeline as turnetl
    from turnetl.report import check as shown

    settings, limits = common.settings(**asked.settings), asked.limits()
    found = console.finished(turnetl.check_model(settings, limits, now))
    console.say(shown.sentences(found))
    console.out(shown.table(found), shown.as_json(found), as_json=common.json)
    return shown.exit_code(found)
