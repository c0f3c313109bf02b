"""Commands that open what a search or a timeline prints."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from turnetl import console
from turnetl.base.clock import now
from turnetl.base.errors import BadUsage
from turnetl.base.exit_code import ExitCode
from turnetl.cli.history import print_answer
from turnetl.cli.options import NO_COMMON, CommonOptions, Flag

_MAX_TURNS = 20
"""Turns that an entity is printed with by default."""
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
        raw: Print the lines of a turn in its archive, without secrets.
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
        pipeline.show, id_, common.settings(), now, directory=Path.cwd(), limit=limit or _MAX_TURNS
    )
    _check_kind(id_, found.value.kind, given)
    view = details.view(found.value, full=full, neighbours=neighbours)
    return print_answer(found, view, common)


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
