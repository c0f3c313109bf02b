"""The `turnetl` command: the only place that prints.

Results go to standard output, as tables or with `--json` as one object; progress, warnings and
errors go to standard error. Nothing heavy is imported before a command is chosen.
"""

import asyncio
import json
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, CycloptsError, Group, Parameter

if TYPE_CHECKING:  # importing these costs a second, and `--help` must not pay it
    from turnetl.app import Limits, Progress
    from turnetl.settings import Settings

DONE, FAILED, USAGE, QUARANTINED, STOPPED, INTERRUPTED = 0, 1, 2, 3, 4, 130

app = App(
    name="turnetl",
    help="Years of coding-agent archives into a temporal knowledge graph.",
    version=lambda: version("turnetl"),
    result_action="return_value",
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


@Parameter(name="*")
@dataclass(frozen=True)
class Which:
    """Which turns to take."""

    since: datetime | None = None
    "Only turns that started at this time or later (UTC if no zone is given)."
    until: datetime | None = None
    "Only turns that started before this time."
    limit: int | None = None
    "At most so many turns of each group."
    dry_run: Annotated[bool, Parameter(negative="")] = False
    "Write nothing to the graph and call no model; say what waits."

    def limits(self, groups: tuple[str, ...] = ()) -> "Limits":
        from turnetl.app import Limits

        return Limits(groups, _utc(self.since), _utc(self.until), self.limit, self.dry_run)


Extractor = Literal["structural", "llm", "both"]
Groups = Annotated[tuple[str, ...], Parameter(name="--group", negative="")]
_COMMON, _WHICH = Common(), Which()
_USUAL_LAKE = Path("data/lake")
_PASSWORD = re.compile(r":[^:@/]*@")


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
    with _progress(common) as progress:
        report = asyncio.run(
            turnetl.backfill(
                archives, settings, which.limits(), _now, group=group, progress=progress
            )
        )
    _say(shown.sentences(report))
    _out(common, shown.table(report, _search(common)), shown.as_json(report))
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

    with _progress(common) as progress:
        report = turnetl.parse_archives(archives, common.settings(), group=group, progress=progress)
    _say(shown.sentences(report))
    _out(common, shown.table(report), shown.as_json(report))
    return shown.exit_code(report)


@app.command(name="filter", group=_stages)
def filter_(*, groups: Groups = (), common: Common = _COMMON) -> int:
    """Mark the noise in the turn tables and render the rest as episodes.

    Args:
        groups: only this group; may be repeated.
    """
    from turnetl import app as turnetl
    from turnetl.report import filtered as shown

    with _progress(common) as progress:
        report = turnetl.filter_turns(common.settings(), groups, progress=progress)
    _out(common, shown.table(report), shown.as_json(report))
    return DONE


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
    from turnetl import app as turnetl

    return _ingested(turnetl.ingest, common.settings(extractor=extractor), groups, which, common)


@app.command(group=_stages)
def retry(
    *,
    groups: Groups = (),
    extractor: Extractor | None = None,
    which: Which = _WHICH,
    common: Common = _COMMON,
) -> int:
    """Try the quarantined turns again.

    Args:
        groups: only this group; may be repeated.
        extractor: what finds entities and facts [default: llm if a model is set].
    """
    from turnetl import app as turnetl

    return _ingested(turnetl.retry, common.settings(extractor=extractor), groups, which, common)


@app.command(group=_look)
def status(*, groups: Groups = (), common: Common = _COMMON) -> int:
    """Say per group what is in the graph, what waits, and why.

    Args:
        groups: only this group; may be repeated.
    """
    from turnetl import app as turnetl
    from turnetl.report import ingested as shown

    report = asyncio.run(turnetl.status(common.settings(), turnetl.Limits(groups), _now))
    _out(common, shown.table(report), shown.as_json(report))
    return DONE


@app.command(group=_look)
def search(
    query: str,
    /,
    *,
    groups: Groups = (),
    limit: Annotated[int, Parameter(name=("--limit", "-n"))] = 10,
    common: Common = _COMMON,
) -> int:
    """Find the turns that answer a question, with their facts, files and lines.

    Args:
        query: words or a whole question.
        groups: only this group; may be repeated.
        limit: at most so many turns.
    """
    from turnetl import app as turnetl
    from turnetl.report import hits as shown

    found = asyncio.run(turnetl.find(query, common.settings(), groups=groups, limit=limit))
    _out(common, shown.table(found), shown.as_json(found))
    return DONE


def main() -> None:
    """Run the command line, with the exit codes of the README."""
    sys.exit(_run(sys.argv[1:]))


def _run(arguments: list[str]) -> int:
    from turnetl.errors import TurnetlError

    as_json = "--json" in arguments
    try:
        code = app(arguments, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        return _fail(f"{error}; see `turnetl --help`", USAGE, as_json=as_json)
    except TurnetlError as error:
        return _fail(str(error), error.exit_code, as_json=as_json)
    except KeyboardInterrupt:
        return _fail(
            "stopped; what is committed stays, the same command goes on from there",
            INTERRUPTED,
            as_json=as_json,
        )
    except OSError as error:
        return _fail(f"{error.filename or 'file'}: {error.strerror}", FAILED, as_json=as_json)
    return code if isinstance(code, int) else DONE


def _fail(message: str, code: int, *, as_json: bool) -> int:
    _say([message])
    if as_json:
        print(json.dumps({"error": message, "exit_code": code}))
    return code


def _ingested(
    job: Callable[..., Any],
    settings: "Settings",
    groups: tuple[str, ...],
    which: Which,
    common: Common,
) -> int:
    from turnetl.report import ingested as shown

    with _progress(common) as progress:
        report = asyncio.run(job(settings, which.limits(groups), _now, progress=progress))
    _say(shown.sentences(report))
    _out(common, shown.table(report), shown.as_json(report))
    return shown.exit_code(report)


def _now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - the clock that everything else is handed


def _utc(time: datetime | None) -> datetime | None:
    return time.replace(tzinfo=UTC) if time is not None and time.tzinfo is None else time


@contextmanager
def _progress(common: Common) -> Iterator["Progress"]:
    """Show bars on standard error, on a terminal; say nothing elsewhere or with --json."""
    from turnetl.app import silent
    from turnetl.report.bars import Bars

    if common.json or not sys.stderr.isatty():
        yield silent
        return
    with Bars() as bars:
        yield bars.step


def _search(common: Common) -> str:
    """Return the command that searches where `common` points, as it can be typed here."""
    ours = Path(sys.argv[0])
    found = shutil.which("turnetl")
    there = found is not None and Path(found).resolve() == ours.resolve()
    near = ours.absolute().is_relative_to(Path.cwd())
    path = ours.absolute().relative_to(Path.cwd()) if near else ours
    words = ["turnetl" if there else str(path), "search"]
    if common.lake is not None and common.lake != _USUAL_LAKE:
        words += ["--lake", str(common.lake)]
    if common.graph is not None:
        words += ["--graph", _PASSWORD.sub(":***@", common.graph)]
    return " ".join(words)


def _say(sentences: Iterable[str]) -> None:
    for sentence in sentences:
        print(f"turnetl: {sentence}", file=sys.stderr)


def _out(common: Common, table: Any, values: dict[str, Any]) -> None:
    if common.json:
        print(json.dumps(values, ensure_ascii=False))
        return
    from rich.console import Console

    Console().print(table, crop=False)


if __name__ == "__main__":
    main()
