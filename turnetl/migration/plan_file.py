"""The file in which a person settles ambiguous matches: tab-separated, a row per episode."""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from turnetl.base.errors import BadUsage
from turnetl.base.user_files import open_tsv

COLUMNS = (
    *("episode", "session", "format", "first", "second"),
    *("similarity", "confidence", "group", "name", "reason"),
)
"""A person fills in `session`, and `format` if several formats have a session of that id. The other
columns help to decide: `first` and `second` are the sessions that fit best."""


_FORMULA = ("=", "+", "-", "@", "'")


class Verdict(StrEnum):
    """What a person says an episode is: the value of `session`, if it is no session."""

    SESSION = "session"
    ARCHIVE_GONE = "archive_gone"
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True)
class Settlement:
    """The decision about one episode."""

    verdict: Verdict
    session_id: str
    format: str
    """Empty: any."""
    place: str
    """File and line, for messages."""

    def names(self, format_name: str, session_id: str) -> bool:
        return session_id == self.session_id and self.format in ("", format_name)

    def unknown_session(self) -> BadUsage:
        return BadUsage(
            f"{self.place}: no archive holds session `{self.session_id}`; write the id of a "
            f"session, `{Verdict.ARCHIVE_GONE}` or `{Verdict.FOREIGN}`"
        )


def check_new(path: Path) -> None:
    """Check that a file of this name can be created, before the work."""
    if path.exists():
        raise _exists(path)
    if not path.parent.is_dir():
        raise BadUsage(f"`{path}` is in a folder that does not exist; name another file")


def write_plan(path: Path, rows: Iterable[Mapping[str, str]]) -> None:
    """Write the rows, with the columns of `COLUMNS`; a file that exists is not replaced."""
    try:
        with path.open("x", encoding="utf-8", newline="") as file:
            # The module quotes a `\r` or `\n` in a cell only if it is part of the line end.
            writer = csv.DictWriter(file, COLUMNS, delimiter="\t", lineterminator="\r\n")
            writer.writeheader()
            writer.writerows({name: _quoted(text) for name, text in row.items()} for row in rows)
    except FileExistsError as error:
        raise _exists(path) from error
    except OSError as error:
        raise BadUsage(f"`{path}` cannot be written: {error.strerror}; name another") from error


def _exists(path: Path) -> BadUsage:
    return BadUsage(f"`{path}` exists: it may hold decisions; name another file, or remove it")


def _quoted(cell: str) -> str:
    """Return the cell with an apostrophe before what a spreadsheet would take for a formula."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def _unquoted(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell


def read_plan(path: Path) -> dict[str, Settlement]:
    """Return the decisions of a file by the uuid of the episode; none of rows without a session."""
    with open_tsv(path, is_quoted=True) as reader:
        missing = {"episode", "session"} - set(reader.fieldnames or ())
        if missing:
            raise BadUsage(
                f"`{path}` has no column `{min(missing)}`; `turnetl migrate plan --write FILE` "
                "writes a file with all columns, separated by tabs"
            )
        return _settlements(path, reader)


def _settlements(path: Path, reader: "csv.DictReader[str]") -> dict[str, Settlement]:
    settled: dict[str, Settlement] = {}
    for row in reader:
        episode, session = (_unquoted(row[name].strip()) for name in ("episode", "session"))
        place = f"`{path}`, line {reader.line_num}"
        if not session:
            continue
        if episode in settled:
            raise BadUsage(f"{place}: episode `{episode}` is settled twice; keep one row")
        is_word = session in (Verdict.ARCHIVE_GONE, Verdict.FOREIGN)
        verdict = Verdict(session) if is_word else Verdict.SESSION
        settled[episode] = Settlement(verdict, session, (row.get("format") or "").strip(), place)
    return settled
