"""Names of exported files that every file system can store, unique also without upper case."""

import re
import unicodedata

from turnetl.base import ids
from turnetl.base.model import Entity
from turnetl.transfer.content import ExportedSession

_MAX_CHARS = 60


def session_file(session: ExportedSession) -> str:
    """Return the path of a session below the folder of the export: `sessions/<date>-….md`."""
    start = session.turns[0].turn.started_at
    date = "no-time" if start is None else f"{start:%Y-%m-%d}"
    unique = ids.digest(session.group_id, session.session_id)[:12]
    return f"sessions/{date}-{slug(session.group_id)}-{unique}.md"


def entity_file(entity: Entity) -> str:
    """Return the path of an entity below the folder of the export: `entities/<name>-….md`."""
    unique = ids.digest(entity.group_id, entity.uuid)[:12]
    return f"entities/{slug(entity.name)}-{unique}.md"


def slug(text: str) -> str:
    """Return lower-case letters, digits and single hyphens; never empty, never a reserved name.

    What follows it in a file name keeps it from being one of Windows' names of devices.
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return "-".join(re.findall("[a-z0-9]+", plain))[:_MAX_CHARS].strip("-") or "unnamed"
