"""Names for what an archive leaves without: sessions, and prompts without an id of their own."""

from collections import Counter
from collections.abc import Sequence

from turnetl import ids
from turnetl.formats.base import RawTurn
from turnetl.model import SessionId


def name_sessions(turns: Sequence[RawTurn], session: str | None) -> None:
    """Complete the turns of one archive, given in order.

    A turn without a session gets `session`; where that is None, a name made of how the first such
    turn began, so that it stays the same while the archive grows. Ordinals are counted anew; a turn
    without a native id gets one of session and ordinal.
    """
    lengths: Counter[str] = Counter()
    for turn in turns:
        if not turn.session_id:
            session = session or derived(turn.user_text, str(turn.started_at or ""))
            turn.session_id = SessionId(session)
        turn.ordinal = lengths[turn.session_id]
        lengths[turn.session_id] += 1
        turn.native_id = turn.native_id or f"{turn.session_id}:{turn.ordinal}"


def derived(*texts: str) -> str:
    """Return a session's name made of what was said in it."""
    return f"derived-{ids.digest(*texts)}"
