"""Completion of commands and options in the shell."""

from typing import Annotated, Literal

from cyclopts import App, Parameter

from turnetl import console
from turnetl.base.control_characters import displayed_text
from turnetl.base.errors import BadUsage
from turnetl.base.exit_code import ExitCode
from turnetl.cli.options import NO_DIAGNOSTICS, SETUP_COMMANDS, DiagnosticOptions, PathOption

ShellName = Literal["bash", "zsh", "fish", "powershell"]
Shell = Annotated[ShellName | None, Parameter(help="The shell [default: the current one].")]

app = App(
    name="completion", help="Completion of commands and options in the shell.", group=SETUP_COMMANDS
)


@app.command
def install(
    *,
    shell: Shell = None,
    output: PathOption = None,
    diagnostics: DiagnosticOptions = NO_DIAGNOSTICS,  # noqa: ARG001 - the console reads them
) -> int:
    """Install the completion script, and load it in new shells.

    Args:
        output: Path of the script [default: where the shell looks for it].
    """
    from turnetl.cli import app as root

    path = root.install_completion(shell=_known(shell), output=output)
    console.print_text(
        displayed_text(f"completion installed in {path}; open a new shell to use it")
    )
    return ExitCode.DONE


@app.command
def show(
    *,
    shell: Shell = None,
    diagnostics: DiagnosticOptions = NO_DIAGNOSTICS,  # noqa: ARG001 - the console reads them
) -> int:
    """Print the completion script."""
    from turnetl.cli import app as root

    console.print_text(root.generate_completion(shell=_known(shell)))
    return ExitCode.DONE


def _known(shell: ShellName | None) -> ShellName:
    """Return the shell, or detect the one that runs the command."""
    from cyclopts.completion.detect import ShellDetectionError, detect_shell

    if shell is not None:
        return shell
    try:
        return detect_shell()
    except ShellDetectionError as error:
        raise BadUsage("the shell is not known; name it with --shell") from error
