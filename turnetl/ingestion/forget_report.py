"""Report of `forget`: what is removed for good, what was removed, and what was found afterwards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from turnetl.base.model import GroupId, SessionId
from turnetl.base.result_fields import GroupField, TurnIdField
from turnetl.base.results import described
from turnetl.ingestion.undo_report import UndoReport
from turnetl.lake.byte_search import FoundText


@dataclass(frozen=True, slots=True)
class ForgetSelection:
    """The turns to forget: those that meet all conditions that are given."""

    session: str | None = None
    """The beginning of the id of their session."""
    groups: tuple[str, ...] = ()
    """Group ids or project names."""
    text: str | None = None
    """A text that they hold, as it is."""

    @property
    def is_empty(self) -> bool:
        return self == ForgetSelection()


@dataclass(frozen=True, slots=True)
class TurnToForget:
    """A turn, with its place in its archive, which still holds it."""

    group: GroupField
    turn_id: TurnIdField
    session_id: Annotated[SessionId, described("Id of the session.")]
    archive: Annotated[str, described("Absolute path of the archive, which is never changed.")]
    first_line: Annotated[int, described("First line of the turn in it, from 1.")]
    last_line: Annotated[int, described("Last line of the turn in it.")]


@dataclass(frozen=True, slots=True)
class ForgetReport:
    """What `forget` removes. Nothing was written unless `is_begun`."""

    selection: ForgetSelection
    turns: Annotated[
        tuple[TurnToForget, ...], described("The turns to forget, by archive and line.")
    ]
    undo: Annotated[UndoReport, described("What leaves the graph.", name="graph")]
    """The turns to forget, and later ones that built on them."""
    samples: Annotated[
        tuple[str, ...],
        described(
            "Texts of the turns that no other turn holds, searched for afterwards.", counted=True
        ),
    ] = field(default=(), repr=False)
    keys_of_runs: frozenset[str] = field(default=frozenset(), repr=False)
    """What says of runs of subagents, when they are read later, that these turns started them."""
    damaged_tables: Annotated[
        tuple[Path, ...],
        described("Damaged turns files that were kept, which may hold the turns: deleted too."),
    ] = ()
    is_resumed: Annotated[
        bool,
        described(
            "Whether turns of a removal that was interrupted are among them.", name="resumed"
        ),
    ] = False
    is_begun: Annotated[bool, described("Whether anything was written.", name="begun")] = False
    responses_erased: Annotated[int, described("Responses removed from the journal.")] = 0
    quarantined: Annotated[int, described("Quarantine entries that were removed.")] = 0
    found: Annotated[tuple[FoundText, ...], described("Places that still hold it.")] = ()
    files_searched: Annotated[int, described("Files that were searched afterwards.")] = 0
    is_proven: Annotated[
        bool,
        described(
            "Whether everything was removed and searched, and nothing was found.", name="proven"
        ),
    ] = False
    summarised: Annotated[
        tuple[GroupId, ...],
        described(
            "Groups whose session-level data, which stays, is of these sessions too: that of "
            "migrations that are not finished.",
            name="summarised_in",
        ),
    ] = ()
    graph_server: Annotated[
        str | None,
        described("Address of a graph on a server, whose files are not searched; else null."),
    ] = None

    @property
    @described("Whether nothing may be removed because later turns built on them.", name="refused")
    def is_refused(self) -> bool:
        return self.undo.is_refused

    @property
    def sessions(self) -> Annotated[int, described("Number of their sessions.")]:
        return len({turn.session_id for turn in self.turns})

    @property
    def lines_by_archive(self) -> Mapping[str, Sequence[TurnToForget]]:
        """Return the turns by the path of their archive, with their lines."""
        archives: dict[str, list[TurnToForget]] = {}
        for turn in self.turns:
            archives.setdefault(turn.archive, []).append(turn)
        return archives

    @property
    def errors(self) -> tuple[str, ...]:
        """Return a sentence for each group that could not be changed."""
        return tuple(
            f"group `{group.group}`: {group.error}" for group in self.undo.groups if group.error
        )
