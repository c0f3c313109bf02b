"""Fields that several objects of `--json` have, each with its type and its description."""

from typing import Annotated

from turnetl.json_output.base import Timestamp, described

Group = Annotated[str, described("Id of the group.")]
ShortTurnId = Annotated[str, described("The beginning of the turn's id, which commands accept.")]
TurnId = Annotated[str, described("Id of the turn.")]
SessionId = Annotated[str, described("Id of the session.")]
Archive = Annotated[str, described("Path of the archive that holds the turn.")]
FirstLine = Annotated[int, described("First line of the turn in the archive, from 1.")]
LastLine = Annotated[int, described("Last line of the turn in the archive.")]
Prompt = Annotated[str, described("The first line of what the user wrote.")]
ChangedFiles = Annotated[list[str], described("Files that the turn changed.")]
ValidAt = Annotated[Timestamp | None, described("Time from which the fact holds; null if unknown.")]
InvalidAt = Annotated[
    Timestamp | None,
    described("Time at which the fact was invalidated; null if it still holds."),
]
CaughtUpAt = Annotated[
    Timestamp | None,
    described("When the search index last held the whole graph; null if it never did."),
]
Unread = Annotated[
    str | None,
    described("Why the graph was not read, so that its newest turns may be missing, or null."),
]
