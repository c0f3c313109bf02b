"""Commands about the settings."""

from cyclopts import App

from turnetl import console
from turnetl.base.exit_code import ExitCode
from turnetl.cli.options import NO_COMMON, SETUP_COMMANDS, CommonOptions

app = App(name="config", help="The settings of a run.", group=SETUP_COMMANDS)


@app.command
def show(*, common: CommonOptions = NO_COMMON) -> int:
    """Print every setting, its value without secrets, and the source that it is from."""
    from turnetl.settings import explain
    from turnetl.views import config as view

    report = explain(common.loaded_settings())
    console.print_result(view.view(report), report, as_json=common.json)
    return ExitCode.DONE
