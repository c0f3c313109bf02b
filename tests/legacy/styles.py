"""How programs that index by session write down which session a summary is of."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import NAMESPACE_URL, uuid5

from tests.legacy.sessions import LegacySession


class LegacyStyle(StrEnum):
    """Where the id of the session is."""

    NAME = "name"
    DESCRIPTION = "description"
    JSON_BODY = "json_body"
    NOWHERE = "nowhere"


@dataclass(frozen=True)
class LegacyEpisode:
    """An episode as `add_episode` takes it."""

    uuid: str
    name: str
    body: str
    source: str
    source_description: str
    reference_time: datetime
    files: tuple[str, ...] = ()


def legacy_episode(
    session: LegacySession, style: LegacyStyle, *, run_at: datetime | None = None
) -> LegacyEpisode:
    """Return the episode of a session.

    Args:
        session: that is summarised.
        style: of the writer.
        run_at: when a batch wrote all sessions; None: each is written when it ends.
    """
    name, body, source, description = _STYLES[style](session)
    uuid = str(uuid5(NAMESPACE_URL, f"{style}/{session.format}/{session.session_id}"))
    time = run_at or session.ended_at + timedelta(minutes=5)
    return LegacyEpisode(uuid, name, body, source, description, time, session.files)


def _in_name(session: LegacySession) -> tuple[str, str, str, str]:
    return f"session-{session.session_id}", session.summary, "text", "session summary"


def _in_description(session: LegacySession) -> tuple[str, str, str, str]:
    description = f"{session.format} session {session.session_id}, summarised"
    return f"Session of {session.ended_at:%Y-%m-%d}", session.summary, "message", description


def _in_json_body(session: LegacySession) -> tuple[str, str, str, str]:
    body = {
        "summary": session.summary,
        "meta": {"session_id": session.session_id, "files": list(session.files)},
    }
    return "agent summary", json.dumps(body), "json", "close hook"


def _nowhere(session: LegacySession) -> tuple[str, str, str, str]:
    return "Coding session", session.summary, "text", "summary by the agent"


_STYLES: Mapping[LegacyStyle, Callable[[LegacySession], tuple[str, str, str, str]]] = {
    LegacyStyle.NAME: _in_name,
    LegacyStyle.DESCRIPTION: _in_description,
    LegacyStyle.JSON_BODY: _in_json_body,
    LegacyStyle.NOWHERE: _nowhere,
}
