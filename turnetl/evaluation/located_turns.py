"""Turns as a user names them in a table: by id, or by a file and a line of it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from turnetl.base.errors import BadUsage
from turnetl.base.model import GroupId, TurnId

_POSITION = re.compile(r"(?P<file>.+):(?P<line>\d{1,12})")


@dataclass(frozen=True, slots=True)
class LocatedTurn:
    """Where a turn stands."""

    turn_id: TurnId
    group_id: GroupId
    archive: str
    """Path or URL, as the lake has it."""
    first_line: int
    last_line: int


class LocatedTurns:
    """The turns that a table may name."""

    def __init__(self, turns: Iterable[LocatedTurn]) -> None:
        self._turns = {turn.turn_id: turn for turn in turns}

    def find(self, text: str) -> LocatedTurn:
        """Return the turn with this id, or the beginning of one, or at this `file:line`.

        A file is the path of an archive or the end of one.

        Raises:
            BadUsage: no turn, or several.
        """
        found = self.find_all(text)
        if len(found) > 1:
            raise _ambiguous(text, found)
        return found[0]

    def find_all(self, text: str) -> list[LocatedTurn]:
        """Return the same; of an archive that several groups have, the turns of all of them.

        Raises:
            BadUsage: no turn, or several others.
        """
        name = text.strip()
        if (exact := self._turns.get(TurnId(name.lower()))) is not None:
            return [exact]
        position = _POSITION.fullmatch(name)
        if position is not None:
            found = self._at(position["file"], int(position["line"]))
        else:
            start = name.lower()
            found = [turn for one, turn in self._turns.items() if one.startswith(start)]
        if not found:
            raise BadUsage(f"no turn has the id or the archive line `{name}`")
        if len(found) > 1 and (position is None or len({one.archive for one in found}) > 1):
            raise _ambiguous(text, found)
        return found

    def _at(self, file: str, line: int) -> list[LocatedTurn]:
        end = "/" + file.replace("\\", "/").removeprefix("./").lstrip("/")
        return [
            turn
            for turn in self._turns.values()
            if turn.first_line <= line <= turn.last_line
            and (turn.archive == file or f"/{turn.archive}".replace("\\", "/").endswith(end))
        ]


def _ambiguous(text: str, found: Sequence[LocatedTurn]) -> BadUsage:
    first, second = found[:2]
    return BadUsage(
        f"`{text.strip()}` names {len(found):,} turns, such as `{first.turn_id}` "
        f"({first.archive}:{first.first_line}) and `{second.turn_id}` "
        f"({second.archive}:{second.first_line}): write more of the id or of the path"
    )
