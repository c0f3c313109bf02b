"""Commands that write nothing to lake and graph: status, runs, report, formats, rules, schema."""

from typing import Annotated

from cyclopts import App, Parameter
from cyclopts.validators import Number

from turnetl import console
from turnetl.base.clock import now
from turnetl.base.exit_code import ExitCode
from turnetl.cli.options import (
    NO_COMMON,
    NO_NOISE,
    NO_OUTPUT,
    CloseAfterMinutes,
    CommonOptions,
    Flag,
    GroupNames,
    NoiseOptions,
    NonEmptyPath,
    OutputOptions,
    Since,
    Until,
    checked,
)
from turnetl.index.conditions import Selection


def next_step() -> int:
    """Print what the graph holds, and the commands that a user needs next."""
    from turnetl import pipeline
    from turnetl.views import status as view

    settings = NO_COMMON.settings()
    read = pipeline.index_status(settings)
    if read is None and pipeline.lacks_index(settings):
        console.print_result(view.rebuild_step(NO_COMMON.next_command), read, as_json=False)
        return ExitCode.DONE
    shown = view.next_step(read, NO_COMMON.next_command)
    console.print_result(shown, read, as_json=False)
    return ExitCode.DONE


def status(
    *,
    groups: GroupNames = (),
    close_after: CloseAfterMinutes = None,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Print what is in the graph, what is pending, and what to do next.

    With --verbose, each group has its own lines: why turns are not in the graph, and its cost.
    """
    from turnetl import pipeline
    from turnetl.views import status as view

    settings = common.settings(close_after_minutes=close_after)
    report = console.run_async(pipeline.status(settings, pipeline.RunOptions(groups), now))
    console.print_messages(view.messages(report, is_verbose=common.verbose))
    shown = view.view(report, is_verbose=common.verbose)
    console.print_result(shown, report, as_json=common.json)
    return ExitCode.DONE


def formats_(*, output: OutputOptions = NO_OUTPUT) -> int:
    """List the archive formats that turnetl reads."""
    from turnetl import formats
    from turnetl.views import sources as view

    report = formats.FormatsReport(formats.FORMATS)
    console.print_result(view.formats_view(report), report, as_json=output.json)
    return ExitCode.DONE


def rules_(*, noise: NoiseOptions = NO_NOISE, common: CommonOptions = NO_COMMON) -> int:
    """List the noise rules, including your own, and whether they are active."""
    from turnetl import wiring
    from turnetl.noise import ListedRule, RulesReport
    from turnetl.views import filter as view

    settings = noise.applied_to(common.settings())
    rules, active = wiring.noise_rules(settings), wiring.filters(settings).active_rules
    report = RulesReport(tuple(ListedRule(rule, rule.name in active) for rule in rules))
    console.print_result(view.rules_view(report), report, as_json=common.json)
    return ExitCode.DONE


def schema(*command: str, output: OutputOptions = NO_OUTPUT) -> int:
    """Print the JSON Schema of a command's --json output; without a command, list the commands.

    Args:
        command: The command, for example `status` or `journal stats`.
    """
    import json

    from turnetl.json_output import schemas

    if command:
        name = " ".join(command)
        text = json.dumps(schemas.json_schema(name), indent=2)
        console.print_result(text, schemas.json_schema_output(name), as_json=output.json)
        return ExitCode.DONE
    commands = schemas.commands_output()
    console.print_result("\n".join(commands.commands), commands, as_json=output.json)
    return ExitCode.DONE


_LIMIT = 20

runs_app = App(
    name="runs",
    help="List the runs that wrote to the graph; `runs show` prints one.",
)


@runs_app.default
def runs(
    *,
    groups: GroupNames = (),
    limit: Annotated[int, Parameter(name=("--limit", "-n"), validator=Number(gte=1))] = _LIMIT,
    common: CommonOptions = NO_COMMON,
) -> int:
    """List the runs that wrote to the graph, newest first; `runs show` prints one.

    Args:
        limit: Print at most this many runs.
    """
    from turnetl import pipeline
    from turnetl.views import runs as view

    report = console.run_async(pipeline.runs(common.settings(), groups, limit=limit))
    console.print_result(view.view(report), report, as_json=common.json)
    return ExitCode.DONE


@runs_app.command(name="show")
def show_run(run: str, /, *, common: CommonOptions = NO_COMMON) -> int:
    """Print who started a run, what it did, what it cost, and how it ended.

    Args:
        run: Id of the run, or the beginning of it.
    """
    from turnetl import pipeline
    from turnetl.views import runs as view

    recorded = console.run_async(pipeline.show_run(common.settings(), run))
    console.print_result(view.details(recorded), recorded, as_json=common.json)
    return ExitCode.DONE


def report(
    *,
    output: NonEmptyPath,
    groups: GroupNames = (),
    since: Since = None,
    until: Until = None,
    redact_personal: Flag = False,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Write one HTML page about everything: turns, decisions, errors, tokens, cost, gaps.

    Args:
        output: The file; an earlier page is replaced.
        redact_personal: Redact personal data in the page, as --redact-pii does in the lake.
    """
    from turnetl.activity_report.report_file import ReportRequest, write_report
    from turnetl.report_pages import activity_page as view

    checked(Selection(groups=groups, since=since, until=until))
    request = ReportRequest(groups, since, until, redact_personal)
    written = common.executed(
        write_report, output, common.settings(), now, request, view.ActivityPageFile()
    )
    console.print_messages(written.missing)
    console.print_result(view.view(written), written, as_json=common.json)
    return ExitCode.DONE
