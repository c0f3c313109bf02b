"""The state of an index, the result of `turnetl index`, and the estimate of a dry run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from turnetl.base.graph_model import GroupVersion
from turnetl.base.ids import is_shadow
from turnetl.base.model import GroupId, Usage
from turnetl.base.result_fields import CaughtUpAtField
from turnetl.base.results import INLINED, described


@dataclass(frozen=True, slots=True)
class CatchUpReport:
    """What a catch-up changed."""

    added: Annotated[int, described("Turns read from the graph.")] = 0
    """With those that were indexed again."""
    removed: Annotated[int, described("Turns removed because they left the graph.")] = 0


@dataclass(frozen=True, slots=True)
class IndexedGroup:
    """A group in the search index."""

    group_id: Annotated[GroupId, described("Id of the group.", name="group")]
    turns: Annotated[int, described("Turns in the index.")]
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
    """The search index of a graph."""

    path: Annotated[Path, described("Path of the index.", name="index")]
    groups: Annotated[tuple[IndexedGroup, ...], described("The groups, sorted by name.")]
    passages: Annotated[int, described("Passages of the turns, each with a vector.")]
    bytes: Annotated[int, described("Size on disk.")]
    turns_with_questions: Annotated[
        int, described("Turns for which a model was asked for questions.")
    ]
    embedder: Annotated[str, described("Embedder of the passages.")]
    caught_up_at: CaughtUpAtField
    search_embedder: Annotated[
        str | None,
        described("Embedder that `turnetl index --embedder` chose; null: `embedder` alone."),
    ] = None
    turns_to_embed: Annotated[
        int, described("Turns that it has not embedded: `embedder` compares these.")
    ] = 0
    turns_behind: Annotated[
        int | None,
        described(
            "Commits in the graph that the index has not read, or turns that were undone since; "
            "null if the graph was not read."
        ),
    ] = None

    @property
    def turns(self) -> Annotated[int, described("Turns in the index.")]:
        return sum(group.turns for group in self.groups)


@dataclass(frozen=True, slots=True)
class QuestionReport:
    """What `--questions` did."""

    turns: Annotated[int, described("Turns that a model was asked about.")]
    """It may have thought of no question."""
    failed: Annotated[int, described("Turns whose response was not valid.")]
    """The next run asks again."""
    usage: Annotated[Usage, described("Usage of the model, without responses from the journal.")]


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What a run of `turnetl index` changed, and the index afterwards."""

    changes: Annotated[CatchUpReport, INLINED]
    status: Annotated[IndexStatus, INLINED]
    questions: Annotated[
        QuestionReport | None, described("What `--questions` did; null without it.")
    ] = None


@dataclass(frozen=True, slots=True)
class QuestionEstimate:
    """What `--questions` would use, rather too much than too little."""

    model: Annotated[str, described("Provider and model.")]
    turns: Annotated[int, described("Turns without questions; one request each.")] = 0
    usage: Annotated[Usage, INLINED] = Usage()  # noqa: RUF009 - a frozen value


def unread_commits(
    groups: Iterable[IndexedGroup], versions: Mapping[GroupId, GroupVersion]
) -> Mapping[GroupId, range]:
    """Return the numbers of the commits of each group of a graph that an index has not read.

    An index does not read the shadow groups of migrations.
    """
    known = {group.group_id: group for group in groups}
    return {
        group: range(
            known[group].sequence + 1 if group in known and known[group].is_of(version) else 1,
            version.sequence + 1,
        )
        for group, version in versions.items()
        if not is_shadow(group)
    }
