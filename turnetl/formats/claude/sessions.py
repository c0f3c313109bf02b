"""The session of each row, and the turn that the row continues."""

from dataclasses import dataclass, field

from turnetl.formats.base import RawTurn
from turnetl.formats.claude.rows import ClaudeRow


@dataclass(slots=True)
class ClaudeSessions:
    """The sessions of one archive, as far as it was read."""

    last: str | None = None
    """The session named last. A row that names none belongs to it."""
    _parents: dict[str, str | None] = field(default_factory=dict)
    """The previous session, by session."""
    _turns: dict[str, RawTurn] = field(default_factory=dict)
    """The last turn, by session."""
    _last_turn: RawTurn | None = None

    def enter(self, row: ClaudeRow) -> None:
        """Record the session that a row names."""
        session = row.session_id
        if session is None:
            return
        # The first rows of a fork may not name its origin yet.
        fork = row.forked_from
        origin = row.parent_session_id or (fork.session_id if fork is not None else None)
        if origin is not None and origin != session:
            self._parents[session] = origin
        if session != self.last:
            self._parents.setdefault(session, self.last)
            self.last = session

    def session(self, row: ClaudeRow) -> str:
        """Return the row's session; empty before any is named."""
        return row.session_id or self.last or ""

    def turn(self, row: ClaudeRow) -> RawTurn | None:
        """Return the turn that a row continues, or None before the first prompt."""
        return self._turns.get(row.session_id or self.last or "", self._last_turn)

    def parent(self, session: str) -> str | None:
        return self._parents.get(session)

    def open(self, turn: RawTurn) -> None:
        """Make a turn the last one of its session."""
        self._turns[turn.session_id] = self._last_turn = turn

    def reopen(self, session: str, turn: RawTurn | None) -> None:
        """Make an earlier turn, or none, the last one of a session again."""
        self._last_turn = turn
        if turn is None:
            self._turns.pop(session, None)
        else:
            self._turns[session] = turn
