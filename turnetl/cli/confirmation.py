"""Commands that show what they would write, and ask before they do."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar

from cyclopts import Parameter

from turnetl import console
from turnetl.base.errors import BadUsage
from turnetl.base.exit_code import ExitCode
from turnetl.cli.options import CommonOptions, Flag

if TYPE_CHECKING:  # importing these takes a moment, which `--help` must not spend
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


@dataclass(frozen=True)
class Confirmation:
    """The options of a command that shows what it would write, and asks before it does.

    Raises:
        BadUsage: a dry run is confirmed.
    """

    dry_run: bool
    """Only print the preview."""
    yes: bool
    """Do not print the preview and do not ask, unless it is refused."""
    common: CommonOptions

    def __post_init__(self) -> None:
        if self.dry_run and self.yes:
            raise BadUsage("`--dry-run` writes nothing, so that --yes has nothing to confirm")

    def execute(
        self, preview: R, work: Callable[..., Coroutine[Any, Any, R]], view: _View[R]
    ) -> int:
        """Print the preview, do the work if it is confirmed, and print the report.

        `work` takes `progress`, and `view` renders both reports.

        Returns:
            The exit code.
        """
        as_json = self.common.json
        if not self.yes or preview.is_refused:
            console.print_result(view.preview(preview), preview, as_json=as_json)
        if self.dry_run or preview.is_refused:
            console.print_messages(view.messages(preview))
            return view.exit_code(preview)
        # Nobody reads a question between two lines of JSON.
        if not self.yes and (as_json or not console.confirm(view.question(preview))):
            console.print_messages([view.NOT_CONFIRMED])
            return ExitCode.FAILED
        report = self.common.executed(work)
        console.print_messages(view.messages(report))
        console.print_result(view.result(report), report, as_json=as_json)
        return view.exit_code(report)
