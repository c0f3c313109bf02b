"""The state of an index, the result of `turnetl index`, and the estimate of a dry run."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from turnetl.base.graph_model import GroupVersion
from turnetl.base.model import GroupId, Usage


@dataclass(frozen=True, slots=True)
class CatchUpReport:
    """What a catch-up changed."""

    added: int = 0
    """Turns, including those that were indexed again."""
    removed: int = 0
    """Turns that are no longer in the graph."""


@dataclass(frozen=True, slots=True)
class IndexedGroup:
    """The state of a group in the index."""

    group_id: GroupId
    turns: int
    sequence: int
    """The group's sequence number in the graph up to which the index holds its turns."""
    creation_id: str = ""
    """Of the group in the graph; see `GroupVersion`."""

    def is_of(self, version: GroupVersion) -> bool:
        """Return whether this was read of the group that is in the graph.

        It was not if the group was deleted and filled again, or the graph replaced by an older one.
        """
        return self.creation_id == version.creation_id and self.sequence <= version.sequence


@dataclass(frozen=True, slots=True)
class IndexStatus:
    path: Path
    """The folder of the index."""
    groups: tuple[IndexedGroup, ...]
    """Sorted by group."""
    passages: int
    bytes: int
    """On disk."""
    turns_with_questions: int
    """Turns for which a model was asked for questions."""
    embedder: str
    caught_up_at: datetime | None
    """When the index last held everything in the graph; None if it never did."""
    turns_behind: int | None = None
    """Commits in the graph that the index has not read, or turns undone since; None if the graph
    was not read."""

    @property
    def turns(self) -> int:
        return sum(group.turns for group in self.groups)


@dataclass(frozen=True, slots=True)
class QuestionReport:
    """What a run did about the questions of turns."""

    turns: int
    """That a model was asked about; it may have thought of none."""
    failed: int
    """Turns for which the response was not valid; the next run asks again."""
    usage: Usage
    """Without responses from the journal."""


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What a catch-up changed, and the index afterwards."""

    changes: CatchUpReport
    status: IndexStatus
    questions: QuestionReport | None = None
    """None if none were asked for."""


@dataclass(frozen=True, slots=True)
class QuestionEstimate:
    """What the questions of some turns will use, rather too much than too little."""

    model: str
    """Provider and name."""
    turns: int = 0
    usage: Usage = Usage()  # noqa: RUF009 - a frozen value
    """Its cost is None if the price of the model is unknown."""
