"""Sessions of archives and episodes of other programs, for tests of a migration."""

from datetime import datetime, timedelta
from pathlib import Path

from tests.builders import GROUP, START
from turnetl.base.model import SessionId
from turnetl.graph.session_level import UnrecordedEpisode
from turnetl.migration.sessions import ArchivedSession

TOPICS = {
    "shop-1": "cart.py tax.py rounding of totals in the invoice",
    "shop-2": "search.sql accents in the catalogue are ignored",
    "shop-3": "mail.py sends the receipt twice after a webhook",
    "shop-4": "export.py writes orders as a spreadsheet for accounting",
    "shop-5": "login.py locks an account after five wrong passwords",
}


def archived(
    session_id: str,
    text: str,
    *,
    started_at: datetime | None = START,
    ended_at: datetime | None = START + timedelta(hours=1),
    format_name: str = "claude_code",
) -> ArchivedSession:
    return ArchivedSession(
        format_name,
        SessionId(session_id),
        started_at,
        ended_at,
        turns=3,
        noise=0,
        chars=len(text),
        tokens=len(text) // 4,
        archives=(Path(f"/archives/{session_id}.jsonl"),),
        text=text,
    )


def daily() -> list[ArchivedSession]:
    """Return a session of an hour per topic, one a day."""
    return [
        archived(
            session_id,
            text,
            started_at=START + timedelta(days=day),
            ended_at=START + timedelta(days=day, hours=1),
        )
        for day, (session_id, text) in enumerate(TOPICS.items())
    ]


def episode(
    text: str = "",
    *,
    name: str = "notes",
    description: str = "",
    uuid: str = "e",
    at: datetime | None = START + timedelta(days=30),
) -> UnrecordedEpisode:
    return UnrecordedEpisode(uuid, GROUP, name, text, "text", description, at, at, 0, 0)
