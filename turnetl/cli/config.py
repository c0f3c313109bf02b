"""`turnetl config`, and `turnetl trust` for the configuration in a folder."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from turnetl import console
from turnetl.base.clock import now
from turnetl.base.errors import BadUsage
from turnetl.base.exit_code import ExitCode
from turnetl.cli.options import (
    NO_COMMON,
    NO_OUTPUT,
    SETUP_COMMANDS,
    CommonOptions,
    Flag,
    NonEmptyPath,
    OutputOptions,
)

app = App(name="config", help="The settings of a run.", group=SETUP_COMMANDS)


@app.command
def show(*, common: CommonOptions = NO_COMMON) -> int:
    """Print every setting, its value without secrets, and the source that it is from."""
    from turnetl.settings import explain
    from turnetl.views import config as view

    report = explain(common.loaded_settings())
    console.print_result(view.view(report), report, as_json=common.json)
    return ExitCode.DONE


def trust(
    folder: NonEmptyPath = Path(),
    /,
    *,
    revoke: Flag = False,
    listed: Annotated[Flag, Parameter(name="--list")] = False,
    common: OutputOptions = NO_OUTPUT,
) -> int:
    """Use the config file, templates and prices in a folder, as they are now.

    Args:
        folder: The folder [default: the working directory].
        revoke: Use them no longer.
        listed: List the folders that are trusted.
    """
    if listed and (revoke or folder != Path()):
        raise BadUsage("`--list` lists all folders: give it alone")
    from turnetl.settings import list_trust, revoke_trust, trust_folder, trust_store
    from turnetl.views import config as view

    store, home = trust_store(), Path.home()
    if listed:
        report = list_trust(store, home=home)
    elif revoke:
        report = revoke_trust(store, folder, home=home)
    else:
        report = trust_folder(store, folder, home=home, now=now())
    console.print_result(view.trust_view(report), report, as_json=common.json)
    return ExitCode.DONE
