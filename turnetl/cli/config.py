"""`turnetl config`, `trust` for the configuration in a folder, and `completion` in a shell."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from turnetl import console
from turnetl.base.clock import now
from turnetl.base.control_characters import displayed_text
from turnetl.base.errors import BadUsage
from turnetl.base.exit_code import ExitCode
from turnetl.cli.options import (
    NO_COMMON,
    NO_DIAGNOSTICS,
    NO_OUTPUT,
    CommonOptions,
    DiagnosticOptions,
    Flag,
    NonEmptyPath,
    OutputOptions,
    PathOption,
)

app = App(name="config", help="The settings of a run.")


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


ShellName = Literal["zsh", "bash", "fish", "powershell"]
Shell = Annotated[ShellName | None, Parameter(help="The shell [default: the current one].")]

completion_app = App(name="completion", help="Completion of commands and options in the shell.")


@completion_app.command(name="install")
def install_completion(
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


@completion_app.command(name="show")
def show_completion(
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
