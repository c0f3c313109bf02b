"""Name collisions of a run: groups that join several projects although the user did not ask."""

from dataclasses import replace

from turnetl.parsing.grouping import find_name_collisions
from turnetl.parsing.report import Outcome, ParseReport


def with_name_collisions(report: ParseReport) -> ParseReport:
    """Add the name collisions of the groups that received a new archive, or would in a dry run.

    Other groups are omitted, so that a nightly run does not repeat the message.

    Args:
        report: of a whole run, because archives of two batches may belong to one group.
    """
    groups = {
        archive.group
        for archive in report.archives
        if report.dry_run or archive.outcome is Outcome.NEW
    }
    archives = (
        (archive.cwd, archive.group)
        for archive in report.archives
        if archive.group is not None and archive.group in groups and not archive.group_is_intended
    )
    return replace(report, name_collisions=find_name_collisions(archives))
