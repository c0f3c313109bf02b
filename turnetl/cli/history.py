"""`turnetl show`, `digest`, `timeline`, `sessions`, `resume`, `entity`, `file`, `fix` and `why`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from turnetl import console
from turnetl.base.clock import now
from turnetl.base.errors import BadUsage, Fatal
from turnetl.base.exit_code import ExitCode
from turnetl.cli.confirmation import Yes
from turnetl.cli.options import (
    NO_COMMON,
    AsOf,
    CommonOptions,
    Flag,
    GroupNames,
    Since,
    Until,
    checked,
    condition,
    joined_words,
)
from turnetl.index.conditions import Selection

if TYPE_CHECKING:  # importing these takes a moment, which `--help` must not spend
    from turnetl.pipeline.opened_items import IndexAnswer
    from turnetl.views.nodes import View


def digest(
    *,
    groups: GroupNames = (),
    since: Since = None,
    until: Until = None,
    by: Literal["day", "project"] = "day",
    markdown: Flag = False,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Print what was decided, built and fixed, and what is open.

    Args:
        since: Only turns that started at this time or later [default: yesterday, or the last week
            with a turn].
        by: A section per day (UTC), or per project, if it fits on a screen or with --verbose.
        markdown: Print Markdown.
    """
    from turnetl import pipeline
    from turnetl.retrieval.digest import DigestSections
    from turnetl.views import digest as view
    from turnetl.views.markdown import markdown as render

    settings, sections = common.settings(), DigestSections(by)
    if since is None and until is None:
        found = common.executed(pipeline.latest_digest, settings, now, groups=groups, by=sections)
    else:
        selection = checked(Selection(groups=groups, since=since, until=until))
        found = common.executed(pipeline.digest, settings, now, selection=selection, by=sections)
    shown = view.view(found.value, is_whole=common.verbose or markdown)
    text = render(shown, Path.cwd(), title="Digest") if markdown else shown
    return _print_answer(found, text, common, paged=not markdown)


_Limit = Annotated[int, Parameter(name=("--limit", "-n"), validator=Number(gte=1))]
_MAX_TURNS = 30
"""Turns of a timeline by default."""
_MAX_SESSIONS = 20
_MAX_ENTITY_TURNS = 20
_MAX_ERRORS = 3
_MAX_COMMITS = 10
_FILE_LABEL = "File"
_LINE = re.compile(r"(?P<path>.+):(?P<line>-?[0-9]{1,9})", re.DOTALL)


def timeline(
    *,
    session: Annotated[str | None, condition("session")] = None,
    entity: Annotated[str | None, condition("entity")] = None,
    file: Annotated[str | None, condition("file")] = None,
    groups: GroupNames = (),
    since: Since = None,
    until: Until = None,
    limit: _Limit = _MAX_TURNS,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Print turns in the order of time, with their prompts and the files that they changed.

    Args:
        limit: Print at most this many turns, the last ones.
    """
    from turnetl import pipeline
    from turnetl.views.turns import timeline_view

    selection = checked(
        Selection(
            groups=groups, since=since, until=until, session=session, entity=entity, file=file
        )
    )
    found = common.executed(
        pipeline.timeline, common.settings(), now, selection=selection, limit=limit
    )
    return _print_answer(found, timeline_view(found.value), common)


@Parameter(name="*")
@dataclass(frozen=True)
class SessionConditions(Selection):
    """All conditions on turns; help and types of the others are as declared."""

    groups: GroupNames = ()
    since: Since = None
    until: Until = None
    as_of: AsOf = None


_NO_CONDITIONS = SessionConditions()


def sessions(
    *,
    conditions: SessionConditions = _NO_CONDITIONS,
    limit: _Limit = _MAX_SESSIONS,
    common: CommonOptions = NO_COMMON,
) -> int:
    """List sessions, newest first: when, the project, the agent, the first intent.

    Args:
        limit: Print at most this many sessions, the last ones.
    """
    from turnetl import pipeline
    from turnetl.views.turns import sessions_view

    selection = checked(conditions)
    found = common.executed(
        pipeline.sessions, common.settings(), now, selection=selection, limit=limit
    )
    return _print_answer(found, sessions_view(found.value), common)


def resume(
    *session: str,
    groups: GroupNames = (),
    print_: Annotated[Flag, Parameter(name="--print")] = False,
    yes: Yes = False,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Continue a session in its agent, in its folder, after asking.

    Args:
        session: Its id, the beginning of it, the id of a turn, or words: then it is the session of
            the best hit of a search.
        print_: Print the command, and start nothing.
        yes: Do not ask.
    """
    if not (text := " ".join(session).strip()):
        raise BadUsage(
            "`turnetl resume` needs the id of a session, or words: `turnetl sessions` lists the "
            "last sessions"
        )
    from turnetl import pipeline
    from turnetl.views import turns as view

    found = common.executed(
        pipeline.resume,
        text,
        common.settings(),
        now,
        directory=Path.cwd(),
        groups=groups,
    )
    one = found.value
    if print_ and not common.json and one.command:
        # It may be for another machine: what is missing here is only said.
        console.print_messages([one.problem] if one.problem else [])
        console.print_text(one.session.resume or "")
        return ExitCode.DONE
    if common.json:
        return _print_answer(found, "", common)
    if one.problem is not None:
        raise Fatal(f"{one.problem}; `turnetl show {one.session.session_id}` prints the session")
    console.print_view(view.resumed_view(one))
    if not yes and not console.confirm(view.RESUME_QUESTION):
        console.print_messages([view.NOT_RESUMED])
        return ExitCode.FAILED
    return console.run_program(one.command, one.folder)


def entity(
    *name: Annotated[str, Parameter(required=True)],
    groups: GroupNames = (),
    limit: _Limit = _MAX_ENTITY_TURNS,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Print what the last turns state about an entity: a decision, a command, an error, a concept.

    Args:
        name: Its name, in any case, or the beginning of its id; quotes are optional.
        limit: Print at most this many turns, the last ones.
    """
    return _print_entity(" ".join(name), None, groups, limit, common)


def file_(
    path: str,
    /,
    *,
    groups: GroupNames = (),
    limit: _Limit = _MAX_ENTITY_TURNS,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Print what the last turns did to a file and said about it.

    Args:
        path: Its path in its project, the end of it, or a path from here.
        limit: Print at most this many turns, the last ones.
    """
    from turnetl.retrieval.items import file_path

    return _print_entity(file_path(path, Path.cwd()), _FILE_LABEL, groups, limit, common)


def fix(
    *error: Annotated[str, Parameter(required=True, allow_leading_hyphen=True)],
    groups: GroupNames = (),
    limit: _Limit = _MAX_ERRORS,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Find where an error occurred before, and what resolved it.

    If no error matches, the turns that `turnetl search` finds are printed.

    Args:
        error: The message, a part of it, or a log that contains it; quotes are optional.
        limit: Print at most this many errors, or turns.
    """
    text = joined_words("fix", error)
    if not text.strip():
        raise BadUsage("`turnetl fix` needs the message of an error, or a part of it")

    from turnetl import pipeline
    from turnetl.views import history as view

    found = common.executed(pipeline.fix, text, common.settings(), now, groups=groups, limit=limit)
    return _print_answer(found, view.fixes_view(found.value), common)


def why(
    place: Annotated[str, Parameter(name="PATH")],
    /,
    *,
    limit: _Limit = _MAX_COMMITS,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Find the turns that wrote a file or a line, by the commits of git; `unknown` if in doubt.

    Args:
        place: A file in a git repository, or a line of it: src/cart.py:12.
        limit: Print at most this many commits, the newest.
    """
    from turnetl import pipeline
    from turnetl.views import history as view

    path, line = split_line(place)
    found = common.executed(pipeline.why, path, line, common.settings(), now, limit=limit)
    return _print_answer(found, view.authorship_view(found.value), common)


def split_line(place: str) -> tuple[Path, int | None]:
    """Return the path and the line of `path:line`; a file whose name ends so has no line."""
    match = _LINE.fullmatch(place)
    if match and not Path(place).exists():
        return Path(match["path"]), int(match["line"])
    return Path(place), None


def _print_answer(
    found: "IndexAnswer[Any]", shown: "View | str", common: CommonOptions, *, paged: bool = True
) -> int:
    """Print an answer, and how old the index is if the graph could not be read."""
    from turnetl.views.index import unread_messages

    console.print_messages(unread_messages(found.unread, found.caught_up_at))
    console.print_result(shown, found, as_json=common.json, paged=paged)
    return ExitCode.DONE


def _print_entity(
    name: str, label: str | None, groups: tuple[str, ...], limit: int, common: CommonOptions
) -> int:
    from turnetl import pipeline
    from turnetl.views.details import entity_view

    found = common.executed(
        pipeline.entity,
        name,
        common.settings(),
        now,
        directory=Path.cwd(),
        label=label,
        groups=groups,
        limit=limit,
    )
    return _print_answer(found, entity_view(found.value), common)


_KINDS = {"--full": "turn", "--neighbours": "turn", "--limit": "entity"}
"""What the options are for."""


def show(
    id_: Annotated[str, Parameter(name="ID")],
    /,
    *,
    full: Flag = False,
    neighbours: Flag = False,
    raw: Flag = False,
    unredacted: Flag = False,
    limit: Annotated[int | None, Parameter(name=("--limit", "-n"), validator=Number(gte=1))] = None,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Show a turn, session, entity, file, error or fact.

    Args:
        id_: An id, the beginning of one, a name, the path of a file, or ARCHIVE:LINE.
        full: Print the outcomes of all steps in full.
        neighbours: Also print the turns before and after a turn.
        raw: Print the archived lines of a turn, or the line of a subagent, without secrets.
        unredacted: Print them as they are, with any secrets.
        limit: Print at most this many turns of an entity, the last ones [default: 20].
    """
    values = {"--full": full, "--neighbours": neighbours, "--limit": limit}
    given = [option for option, value in values.items() if value]
    if raw:
        _check_raw(given)
        return _show_raw(id_, common, redacted=not unredacted)
    if unredacted:
        raise BadUsage("`--unredacted` is an option of `--raw`: everything else has no secrets")

    from turnetl import pipeline
    from turnetl.views import details

    found = common.executed(
        pipeline.show,
        id_,
        common.settings(),
        now,
        directory=Path.cwd(),
        limit=limit or _MAX_ENTITY_TURNS,
    )
    _check_kind(id_, found.value.kind, given)
    view = details.view(found.value, full=full, neighbours=neighbours)
    return _print_answer(found, view, common)


def _check_raw(given: Sequence[str]) -> None:
    """Check that no option is given that has no effect on the lines of an archive."""
    if given:
        raise BadUsage(
            f"`{given[0]}` has no effect with `--raw`, which prints the lines of one turn: leave "
            "one of the two out"
        )


def _check_kind(id_: str, kind: str, given: Sequence[str]) -> None:
    """Check that no option is given that has no effect on what was found."""
    for option in given:
        if _KINDS[option] != kind:
            raise BadUsage(
                f"`{option}` is an option for {_with_article(_KINDS[option])}, and `{id_}` is "
                f"{_with_article(kind)}: leave it out"
            )


def _with_article(kind: str) -> str:
    return f"an {kind}" if kind == "entity" else f"a {kind}"


def _show_raw(id_: str, common: CommonOptions, *, redacted: bool) -> int:
    from turnetl import pipeline

    found = console.run_async(
        pipeline.show_archive_lines(
            id_, common.settings(), now, directory=Path.cwd(), redacted=redacted
        )
    )
    console.print_result("\n".join(found.lines), found, as_json=common.json, paged=True)
    return ExitCode.DONE
