"""`turnetl digest`."""

from datetime import timedelta
from pathlib import Path
from typing import Literal

from turnetl import console
from turnetl.base.clock import now
from turnetl.base.exit_code import ExitCode
from turnetl.cli.filters import check_times
from turnetl.cli.history import print_age
from turnetl.cli.options import NO_COMMON, CommonOptions, Flag, GroupNames
from turnetl.cli.times import Since, Until

_DEFAULT = timedelta(days=1)
"""Before the beginning of today, in UTC."""


def digest(
    *,
    groups: GroupNames = (),
    since: Since = None,
    until: Until = None,
    by: Literal["day", "project"] = "day",
    markdown: Flag = False,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Print what happened: per session the intent, decisions, problems, changes and the outcome.

    Args:
        since: Only turns that started at this time or later [default: yesterday].
        by: A section per day (UTC), or per project.
        markdown: Print Markdown.
    """
    from turnetl import pipeline
    from turnetl.base.model import GroupId
    from turnetl.index.selection import Selection
    from turnetl.report import digest as view
    from turnetl.retrieval.digest import DigestSections

    check_times(since, until=until)
    at = now()
    today = at.replace(hour=0, minute=0, second=0, microsecond=0)
    begin = since if since is not None or until is not None else today - _DEFAULT
    selection = Selection(
        groups=tuple(GroupId(group) for group in groups), since=begin, until=until
    )
    with console.show_progress(as_json=common.json) as progress:
        found = console.run_async(
            pipeline.digest(
                common.settings(),
                now,
                selection=selection,
                by=DigestSections(by),
                progress=progress,
            )
        )
    print_age(found)
    render = view.markdown if markdown else view.view
    shown = render(found.value, Path.cwd())
    console.print_result(shown, found, as_json=common.json, paged=not markdown)
    return ExitCode.DONE
