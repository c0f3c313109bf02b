"""Which groups are joined of several projects, though nobody said so."""

from dataclasses import replace
from pathlib import Path

from turnetl.lake import absolute_path_text
from turnetl.parse.grouping import Grouping, find_name_collisions
from turnetl.parse.report import Outcome, ParseReport


def with_name_collisions(report: ParseReport, by: Grouping) -> ParseReport:
    """Add the joined groups among those that got an archive, or would: nobody is told each night.

    Args:
        report: of a whole run; two batches may meet in one group.
        by: how the archives were grouped.
    """
    told = {of.group for of in report.archives if report.dry_run or of.outcome is Outcome.NEW}
    places = (
        (of.cwd, str(of.format), absolute_path_text(Path(of.archive)))
        for of in report.archives
        if of.group is not None and of.group in told
    )
    return replace(report, name_collisions=find_name_collisions(places, by))
