"""Fields that several objects of `--json` have, each with its type and its description."""

from typing import Annotated

from turnetl.base.results import described

GroupField = Annotated[str, described("Id of the group.")]
ShortTurnIdField = Annotated[
    str, described("The beginning of the turn's id, which commands accept.")
]
TurnIdField = Annotated[str, described("Id of the turn.")]
SessionIdField = Annotated[str, described("Id of the session.")]
PromptField = Annotated[str, described("The first line of what the user wrote.")]
