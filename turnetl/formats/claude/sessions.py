"""Which session a row is of, and the turn that it goes on with."""

from dataclasses import dataclass, field

from turnetl.formats.base import RawTurn
from turnetl.formats.claude.rows import Row


@dataclass(slots=True)
class Sessions:
    """The sessions of one archive, as far as it was read."""

    last: str | None = None
    """The last one named: a row that names none is of it."""
    _parents: dict[str, str | None] = field(default_factory=dict)
    """The session before, by session."""
    _lengths: dict[str, int] = field(default_factory=dict)
    """Turns, by session."""
    _turns: dict[str, RawTurn] = field(default_factory=dict)
    """The last turn, by session."""
    _last_turn: RawTurn | None = None

    def enter(self, row: Row) -> None:
        """Note the session that a row names."""
        session = row.session_id
        if session is None:
            return
        # The rows that a fork begins with may not say yet what it is a fork of.
        fork = row.forked_from
        origin = row.parent_session_id or (fork.session_id if fork is not None else None)
        if origin is not None and origin != session:
            self._parents[session] = origin
        if session != self.last:
            self._parents.setdefault(session, self.last)
            self.last = session

    def of(self, row: Row) -> str:
        """Return the row's session; empty before any is named."""
        return row.session_id or self.last or ""

    def turn(self, row: Row) -> RawTurn | None:
        """Return the turn that a row goes on with, or None before the first prompt."""
        return self._turns.get(row.session_id or self.last or "", self._last_turn)

    def parent(self, session: str) -> str | None:
        return self._parents.get(session)

    def length(self, session: str) -> int:
        """Return how many turns the session has so far."""
        return self._lengths.get(session, 0)

    def begin(self, turn: RawTurn) -> None:
        """Add a turn to its session."""
        self._lengths[turn.session_id] = self.length(turn.session_id) + 1
        self._turns[turn.session_id] = self._last_turn = turn
