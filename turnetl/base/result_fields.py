"""Fields that several results have, each with its type and its description."""

from datetime import datetime
from typing import Annotated

from turnetl.base.model import GroupId, TurnId
from turnetl.base.results import described

GroupField = Annotated[GroupId, described("Id of the group.")]
ShortTurnIdField = Annotated[
    str, described("The beginning of the turn's id, which commands accept.")
]
TurnIdField = Annotated[TurnId, described("Id of the turn.")]
SessionIdField = Annotated[str, described("Id of the session.")]
ArchiveField = Annotated[str, described("Path of the archive that holds the turn.")]
FirstLineField = Annotated[int, described("First line of the turn in the archive, from 1.")]
LastLineField = Annotated[int, described("Last line of the turn in the archive.")]
PromptField = Annotated[str, described("The first line of what the user wrote.")]
IntentField = Annotated[
    str,
    described("What the user wanted, in a line; a short prompt with what it answers or refers to."),
]
OutcomeField = Annotated[
    str, described("What came of it, in a line: what the agent states, and what its steps show.")
]
ChangedFilesField = Annotated[tuple[str, ...], described("Files that the turn changed.")]
ValidAtField = Annotated[
    datetime | None, described("Time from which the fact holds; null if unknown.")
]
InvalidAtField = Annotated[
    datetime | None, described("Time at which the fact was invalidated; null if it still holds.")
]
EndedByField = Annotated[
    str, described("Turn and text of what ended the fact; empty: it holds, or nothing is known.")
]
LaterTurnField = Annotated[
    str, described("Turn and text of a later decision about the same thing; empty: none is known.")
]
CaughtUpAtField = Annotated[
    datetime | None,
    described("When the search index last held the whole graph; null if it never did."),
]
UnreadField = Annotated[
    str | None,
    described("Why the graph was not read, so that its newest turns may be missing, or null."),
]
