"""Commands that write nothing: status, formats, rules.

The JSON Schemas of the `--json` output.
"""

from turnetl import console
from turnetl.base.clock import now
from turnetl.base.exit_code import ExitCode
from turnetl.cli.options import (
    NO_COMMON,
    NO_NOISE,
    NO_OUTPUT,
    CloseAfterMinutes,
    CommonOptions,
    GroupNames,
    NoiseOptions,
    OutputOptions,
)


def status(
    *,
    groups: GroupNames = (),
    close_after: CloseAfterMinutes = None,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Print per group what is in the graph, what is pending, and why."""
    from turnetl import pipeline
    from turnetl.views import status as view

    settings = common.settings(close_after_minutes=close_after)
    report = console.run_async(pipeline.status(settings, pipeline.RunOptions(groups), now))
    console.print_messages(view.messages(report))
    console.print_result(view.view(report), report, as_json=common.json)
    return ExitCode.DONE


def formats_(*, output: OutputOptions = NO_OUTPUT) -> int:
    """List the archive formats that turnetl reads."""
    from turnetl import formats
    from turnetl.views import formats as view

    report = formats.FormatsReport(formats.FORMATS)
    console.print_result(view.view(report), report, as_json=output.json)
    return ExitCode.DONE


def rules_(*, noise: NoiseOptions = NO_NOISE, common: CommonOptions = NO_COMMON) -> int:
    """List the noise rules, including your own, and whether they are active."""
    from turnetl import wiring
    from turnetl.noise import ListedRule, RulesReport
    from turnetl.views import noise_rules as view

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
