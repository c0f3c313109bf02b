"""Name collisions of a run: groups that join several projects although the user did not ask."""

from dataclasses import replace
from pathlib import Path

from turnetl.lake import absolute_path_text
from turnetl.parsing.grouping import Grouping, find_name_collisions
from turnetl.parsing.report import Outcome, ParseReport


def with_name_collisions(report: ParseReport, grouping: Grouping) -> ParseReport:
    """Add the name collisions of the groups that received a new archive, or would in a dry run.

    Other groups are omitted, so that a nightly run does not repeat the message.

    Args:
        report: of a whole run, because archives of two batches may belong to one group.
        grouping: how the archives were grouped.
    """
    groups = {
        archive.group
        for archive in report.archives
        if report.dry_run or archive.outcome is Outcome.NEW
    }
    archives = (
        (archive.cwd, str(archive.format), absolute_path_text(Path(archive.archive)))
        for archive in report.archives
        if archive.group is not None and archive.group in groups
    )
    return replace(report, name_collisions=find_name_collisions(archives, grouping))
