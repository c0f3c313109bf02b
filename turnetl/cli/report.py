"""`turnetl report`."""

from turnetl import console
from turnetl.base.clock import now
from turnetl.base.exit_code import ExitCode
from turnetl.cli.options import (
    NO_COMMON,
    CommonOptions,
    Flag,
    GroupNames,
    NonEmptyPath,
    Since,
    Until,
    checked,
)
from turnetl.index.selection import Selection


def report(
    *,
    output: NonEmptyPath,
    groups: GroupNames = (),
    since: Since = None,
    until: Until = None,
    redact_personal: Flag = False,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Write one HTML page about everything: turns, decisions, errors, tokens, cost, gaps.

    Args:
        output: The file; an earlier page is replaced.
        redact_personal: Redact personal data in the page, as --redact-pii does in the lake.
    """
    from turnetl.activity_report.report_file import ReportRequest, write_report
    from turnetl.report_pages import activity_page as view

    checked(Selection(groups=groups, since=since, until=until))
    request = ReportRequest(groups, since, until, redact_personal)
    written = common.executed(
        write_report, output, common.settings(), now, request, view.ActivityPageFile()
    )
    console.print_messages(written.missing)
    console.print_result(view.view(written), written, as_json=common.json)
    return ExitCode.DONE
