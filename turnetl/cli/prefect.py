"""`turnetl prefect`: what the deployments need on Prefect's server, and what is wrong there."""

from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter
from cyclopts.validators import Number

from turnetl import console
from turnetl.base.clock import now
from turnetl.base.errors import BadUsage
from turnetl.base.exit_code import ExitCode
from turnetl.cli.options import NO_COMMON, CommonOptions, Flag

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flows.server_setup import ServerSetup

_POOL = "etl"
_SILENT_MINUTES = 15.0

app = App(
    name="prefect",
    help="Set up Prefect's server for the deployments, and find what is wrong there.",
)


@app.command
def setup(
    *,
    pool: str = _POOL,
    slots: Annotated[int | None, Parameter(validator=Number(gte=1))] = None,
    notify: str | None = None,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Create what the deployments need, and leave what exists as it is.

    A work pool, its queues by priority, a limit for the model, a variable, an automation.

    Args:
        pool: The work pool, of the type `process` if it is created.
        slots: Slots of the limit `turnetl-model` [default: the setting llm.concurrency].
        notify: A notification block, as TYPE/NAME: the automation sends to it.
    """
    from turnetl.views import prefect as view

    made = _setup(pool, slots, notify, common)
    report = console.run_async(made.execute())
    console.print_result(view.setup_view(report), report, as_json=common.json)
    return ExitCode.DONE


@app.command
def doctor(
    *,
    fix: Flag = False,
    silent_minutes: Annotated[
        float, Parameter(validator=Number(gte=1), show_default=False)
    ] = _SILENT_MINUTES,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Find what is wrong on Prefect's server, and what the next runs will lack there.

    Dead runs, slots that no run holds, versions that differ; queues, limits, blocks and variables
    that deployments name.

    Args:
        fix: Fix the runs and slots, and create what `turnetl prefect setup` makes.
        silent_minutes: A running run without a sign of life for so long is dead [default: 15].
    """
    with _prefect():
        from flows.server_doctor import check_server
    from turnetl.views import prefect as view

    made = _setup(_POOL, None, None, common) if fix else None
    report = console.run_async(check_server(now, silent_minutes=silent_minutes, fix=made))
    console.print_messages(view.doctor_messages(report))
    console.print_result(view.doctor_view(report), report, as_json=common.json)
    return view.doctor_exit_code(report)


def _setup(
    pool: str, slots: int | None, notify: str | None, common: CommonOptions
) -> "ServerSetup":
    """Return what is created, with the values of the settings.

    Raises:
        BadUsage: Prefect is not installed, or a setting is not valid.
    """
    with _prefect():
        from flows.server_setup import ServerSetup
    settings = common.settings()
    lake = str(settings.lake_url or settings.lake.absolute())
    return ServerSetup(pool, slots or settings.llm.concurrency, lake, notify)


@contextmanager
def _prefect() -> "Iterator[None]":
    """Raise BadUsage if Prefect is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "prefect":
            raise
        raise BadUsage(str(error)) from error
