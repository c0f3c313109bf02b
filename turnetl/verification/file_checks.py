"""The findings about the files of a lake."""

from collections.abc import Sequence

from turnetl.verification.check import Check
from turnetl.verification.file_problem import FileProblem
from turnetl.verification.report import Finding


def file_findings(problems: Sequence[FileProblem], *, examples: int) -> tuple[Finding, ...]:
    """Return the findings about files, in the order of `Check`.

    Args:
        problems: all of them.
        examples: of each finding, at most.
    """
    found: dict[Check, list[str]] = {}
    for problem in problems:
        found.setdefault(problem.check, []).append(problem.sentence)
    return tuple(
        Finding(check, len(found[check]), tuple(sorted(found[check])[:examples]))
        for check in Check
        if check in found
    )
