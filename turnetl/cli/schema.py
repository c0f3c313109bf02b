"""The JSON Schemas of the `--json` output."""

from turnetl import console
from turnetl.base.exit_code import ExitCode
from turnetl.cli.options import NO_OUTPUT, OutputOptions


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
