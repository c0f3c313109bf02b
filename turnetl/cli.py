"""The `turnetl` command: what can be said to it. How it answers stands in `turnetl.console`.

Nothing heavy is imported before a command is chosen.
"""

import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Group, Parameter
from cyclopts.validators import Number

from turnetl import console
from turnetl.clock import now, utc

if TYPE_CHECKING:  # importing these costs a second, and `--help` must not pay it
    from turnetl.app import Limits
    from turnetl.settings import Settings

app = App(
    name="turnetl",
    help="Years of coding-agent archives into a temporal knowledge graph.",
    version=console.version,
    result_action="return_value",
    suppress_keyboard_interrupt=False,  # we say what stays
    help_format="plaintext",  # markdown costs a tenth of a second
)
_main = Group("The main job", sort_key=0)
_stages = Group("Stage by stage", sort_key=1)
_look = Group("Looking", sort_key=2)


@Parameter(name="*")
@dataclass(frozen=True)
class Common:
    """What every command takes."""

    lake: Path | None = None
    "Folder of the tables [env: TURNETL_LAKE; default: data/lake]."
    graph: str | None = None
    "ladybug:///path/file.lbug or bolt://user:password@host:7687 [env: TURNETL_GRAPH]."
    config: Path | None = None
    "JSON config [default: ./graphiti.config.json, then ~/.graphiti/]."
    json: Annotated[bool, Parameter(negative="")] = False
    "One JSON object on standard output."

    def settings(self, **given: Any) -> "Settings":
        from turnetl.settings import from_process

        return from_process(self.config, lake=self.lake, graph=self.graph, **given)

    def search(self) -> str:
        """Return the command that searches this very graph, up to the question."""
        from turnetl.report.proposed import search

        options = {"--lake": self.lake, "--graph": self.graph, "--config": self.config}
        return search(Path(sys.argv[0]), Path.cwd(), options)


@Parameter(name="*")
@dataclass(frozen=True)
class Which:
    """Which turns to take."""

    since: datetime | None = None
    "Only turns that started at this time or later (UTC if no zone is given)."
    until: datetime | None = None
    "Only turns that started before this time."
    limit: Annotated[int | None, Parameter(validator=Number(gte=1))] = None
    "At most so many turns of each group."
    dry_run: Annotated[bool, Parameter(negative="")] = False
    "Write nothing to the graph and call no model; say what waits."

    def limits(self, groups: tuple[str, ...] = (), *, retry: bool = False) -> "Limits":
        from turnetl.app import Limits

        return Limits(groups, utc(self.since), utc(self.until), self.limit, retry, self.dry_run)


Extractor = Literal["structural", "llm", "both"]
Groups = Annotated[tuple[str, ...], Parameter(name="--group", negative="")]
_COMMON, _WHICH = Common(), Which()


@app.command(group=_main)
def backfill(
    archives: Annotated[list[str], Parameter(negative="")],
    /,
    *,
    group: str | None = None,
    extractor: Extractor | None = None,
    which: Which = _WHICH,
    common: Common = _COMMON,
) -> int:
    """Parse, filter and ingest archives: the main job. What was done before is not done again.

    Args:
        archives: files, folders or globs.
        group: put all their turns into this group [default: one group a project].
        extractor: what finds entities and facts [default: llm if a model is set].
    """
    from turnetl import app as turnetl
    from turnetl.report import backfill as shown

    settings = common.settings(extractor=extractor)
    with console.progress(as_json=common.json) as progress:
        report = console.finished(
            turnetl.backfill(
                archives, settings, which.limits(), now, group=group, progress=progress
            )
        )
    console.say(shown.sentences(report))
    console.out(shown.table(report, common.search()), shown.as_json(report), as_json=common.json)
    return shown.exit_code(report)


@app.command(group=_stages)
def parse(
    archives: Annotated[list[str], Parameter(negative="")],
    /,
    *,
    group: str | None = None,
    common: Common = _COMMON,
) -> int:
    """Read archives into turn tables. Those that did not change are not opened.

    Args:
        archives: files, folders or globs.
        group: put all their turns into this group [default: one group a project].
    """
    from turnetl import app as turnetl
    from turnetl.report import parsed as shown

    with console.progress(as_json=common.json) as progress:
        report = turnetl.parse_archives(archives, common.settings(), group=group, progress=progress)
    console.say(shown.sentences(report))
    console.out(shown.table(report), shown.as_json(report), as_json=common.json)
    return shown.exit_code(report)


@app.command(name="filter", group=_stages)
def filter_(*, groups: Groups = (), common: Common = _COMMON) -> int:
    """Mark the noise in the turn tables and render the rest as episodes.

    Args:
        groups: only this group; may be repeated.
    """
    from turnetl import app as turnetl
    from turnetl.report import filtered as shown

    with console.progress(as_json=common.json) as progress:
        report = turnetl.filter_turns(common.settings(), groups, progress=progress)
    console.out(shown.table(report), shown.as_json(report), as_json=common.json)
    return console.DONE


@app.command(group=_stages)
def ingest(
    *,
    groups: Groups = (),
    extractor: Extractor | None = None,
    which: Which = _WHICH,
    common: Common = _COMMON,
) -> int:
    """Bring episodes into the graph, oldest first, one transaction a turn.

    Args:
        groups: only this group; may be repeated.
        extractor: what finds entities and facts [default: llm if a model is set].
    """
    return _ingested(common.settings(extractor=extractor), which.limits(groups), common)


@app.command(group=_stages)
def retry(
    *,
    groups: Groups = (),
    extractor: Extractor | None = None,
    which: Which = _WHICH,
    common: Common = _COMMON,
) -> int:
    """Ingest, and try the quarantined turns again.

    Args:
        groups: only this group; may be repeated.
        extractor: what finds entities and facts [default: llm if a model is set].
    """
    limits = which.limits(groups, retry=True)
    return _ingested(common.settings(extractor=extractor), limits, common)


@app.command(group=_look)
def status(*, groups: Groups = (), common: Common = _COMMON) -> int:
    """Say per group what is in the graph, what waits, and why.

    Args:
        groups: only this group; may be repeated.
    """
    from turnetl import app as turnetl
    from turnetl.report import standing as shown

    report = console.finished(turnetl.status(common.settings(), turnetl.Limits(groups), now))
    console.say(sentence for of in report.groups for sentence in shown.sentences(of))
    console.out(shown.table(report), shown.all_json(report), as_json=common.json)
    return console.DONE


@app.command(group=_look)
def search(
    query: str,
    /,
    *,
    groups: Groups = (),
    since: datetime | None = None,
    until: datetime | None = None,
    limit: Annotated[int, Parameter(name=("--limit", "-n"), validator=Number(gte=1))] = 10,
    common: Common = _COMMON,
) -> int:
    """Find the turns that answer a question, with their facts, files and lines.

    Args:
        query: words or a whole question.
        groups: only this group; may be repeated.
        since: only turns that started at this time or later.
        until: only turns that started before this time.
        limit: at most so many turns.
    """
    from turnetl import app as turnetl
    from turnetl.report import hits as shown

    found = console.finished(
        turnetl.find(
            query,
            common.settings(),
            groups=groups,
            since=utc(since),
            until=utc(until),
            limit=limit,
        )
    )
    console.out(shown.table(found, Path.cwd()), shown.as_json(found), as_json=common.json)
    return console.DONE


def main() -> None:
    """Run the command line, with the exit codes of the README."""
    sys.exit(console.run(app, sys.argv[1:]))


def _ingested(settings: "Settings", limits: "Limits", common: Common) -> int:
    from turnetl import app as turnetl
    from turnetl.report import ingested as shown

    with console.progress(as_json=common.json) as progress:
        report = console.finished(turnetl.ingest(settings, limits, now, progress=progress))
    console.say(shown.sentences(report))
    console.out(shown.table(report), shown.as_json(report), as_json=common.json)
    return shown.exit_code(report)


if __name__ == "__main__":
    main()
