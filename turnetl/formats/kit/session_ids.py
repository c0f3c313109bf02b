"""Ids for sessions and prompts that have none in the archive."""

from collections import Counter
from collections.abc import Sequence

from turnetl.base import ids
from turnetl.base.model import SessionId
from turnetl.formats.base import RawTurn


def assign_session_ids(turns: Sequence[RawTurn], session: str | None) -> None:
    """Complete the ids of an archive's turns, given in order.

    A turn without a session gets `session`. If that is None, the id is derived from the first such
    turn's prompt and start, so that it stays the same while the archive grows. Ordinals are set for
    each session. A turn without a native id gets one of session and ordinal.
    """
    lengths: Counter[str] = Counter()
    for turn in turns:
        if not turn.session_id:
            session = session or derived_session_id(turn.user_text, str(turn.started_at or ""))
            turn.session_id = SessionId(session)
        turn.ordinal = lengths[turn.session_id]
        lengths[turn.session_id] += 1
        turn.native_id = turn.native_id or f"{turn.session_id}:{turn.ordinal}"


def derived_session_id(*texts: str | bytes) -> str:
    """Return a session id that is a digest of texts of the session, or of their UTF-8."""
    return f"derived-{ids.digest(*texts)}"
