"""Commands that show what they would write, and ask before they do."""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar

from cyclopts import Parameter

from turnetl import console
from turnetl.base.errors import BadUsage
from turnetl.base.exit_code import ExitCode
from turnetl.cli.options import CommonOptions, Flag

if TYPE_CHECKING:  # importing these takes a moment, which `--help` must not spend
    from turnetl.base.progress import Progress
    from turnetl.views.nodes import View

Yes = Annotated[Flag, Parameter(name=("--yes", "-y"))]


class _Report(Protocol):
    """What a command would do, or did."""

    @property
    def is_refused(self) -> bool: ...


R = TypeVar("R", bound=_Report)
R_contra = TypeVar("R_contra", contravariant=True)


class _View(Protocol[R_contra]):
    """A module that renders such reports."""

    NOT_CONFIRMED: str

    def preview(self, report: R_contra, /) -> "View": ...

    def question(self, report: R_contra, /) -> str: ...

    def result(self, report: R_contra, /) -> "View": ...

    def messages(self, report: R_contra, /) -> list[str]: ...

    def exit_code(self, report: R_contra, /) -> int: ...


def check_options(*, dry_run: bool, yes: bool) -> None:
    """Raise BadUsage if a dry run is confirmed."""
    if dry_run and yes:
        raise BadUsage("`--dry-run` writes nothing, so that --yes has nothing to confirm")


def is_confirmed(question: str, not_confirmed: str, *, yes: bool, as_json: bool) -> bool:
    """Return whether to write, and print the message if not."""
    # Nobody reads a question between two lines of JSON.
    if yes or (not as_json and console.confirm(question)):
        return True
    console.print_messages([not_confirmed])
    return False


def execute_previewed(
    preview: R,
    execute: "Callable[[Progress], Coroutine[Any, Any, R]]",
    *,
    view: _View[R],
    dry_run: bool,
    yes: bool,
    common: CommonOptions,
) -> int:
    """Print the preview, execute it if it is confirmed, and print the report.

    Args:
        preview: what the command would do.
        execute: does it.
        view: renders both reports.
        dry_run: only print the preview.
        yes: do not print the preview and do not ask, unless it is refused.
        common: the options of the command.

    Returns:
        The exit code.
    """
    if not yes or preview.is_refused:
        console.print_result(view.preview(preview), preview, as_json=common.json)
    if dry_run or preview.is_refused:
        console.print_messages(view.messages(preview))
        return view.exit_code(preview)
    if not is_confirmed(view.question(preview), view.NOT_CONFIRMED, yes=yes, as_json=common.json):
        return ExitCode.FAILED
    with console.show_progress(as_json=common.json) as progress:
        report = console.run_async(execute(progress))
    console.print_messages(view.messages(report))
    console.print_result(view.result(report), report, as_json=common.json)
    return view.exit_code(report)
