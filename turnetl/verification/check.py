"""The checks, each with what a finding means and what to do about it."""

from enum import StrEnum
from typing import Self

_REDO = "`turnetl undo --turn ID`, then `turnetl ingest`"
_REPAIR = "`turnetl verify --fix` repairs it"


class Check(StrEnum):
    """What is checked. `turnetl verify` fails if a check finds something wrong."""

    meaning: str
    """What every example of a finding is."""
    remedy: str
    """What to do about it."""
    is_wrong: bool
    """False: what it finds is only worth knowing."""

    def __new__(cls, value: str, meaning: str, remedy: str, is_wrong: bool = True) -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        member.remedy = remedy
        member.is_wrong = is_wrong
        return member

    MISSING_EPISODES = ("missing_episodes", "turn with a receipt, but without any episode", _REDO)
    HALF_WRITTEN = (
        "half_written",
        "turn of which the graph lacks some episodes, or holds more than it wrote",
        _REDO,
    )
    NO_RECEIPT = (
        "no_receipt",
        "episode of turnetl without the receipt of its turn",
        (
            "no command removes it: its turn is ingested again, with the same episode, when it is "
            "pending; if `turnetl status` does not list it, copy the graph, "
            "then remove the episode with a Cypher statement"
        ),
    )
    DUPLICATE_EPISODES = (
        "duplicate_episodes",
        (
            "turn that is in the graph twice, as two episodes with one id or as two turns with the "
            "same session, time and text"
        ),
        (
            "`turnetl undo --turn ID` of the later one; of two nodes with one id, remove one with "
            "a Cypher statement, after a copy of the graph was made"
        ),
    )
    DOUBLE_MENTIONS = ("double_mentions", "episode that mentions an entity twice", _REPAIR)
    SAGA_LINKS = (
        "saga_links",
        (
            "session whose saga is missing, does not have each of its episodes once, or names "
            "another first or last episode"
        ),
        _REPAIR,
    )
    NEXT_LINKS = (
        "next_links",
        "session whose episodes are not one chain in the order of time",
        _REPAIR,
    )
    ACROSS_GROUPS = (
        "across_groups",
        "fact or mention that leads to an entity of another group",
        "undo the turn that wrote it; what another program wrote is for that program to undo",
    )
    DANGLING_FACTS = (
        "dangling_facts",
        "fact that does not connect two entities",
        "`turnetl verify --fix` removes those without any entity; undo the turns of the others",
    )
    MISSING_ENTITIES = ("missing_entities", "entity that a turn created and the graph lacks", _REDO)
    SUMMARISED_ENTITIES = (
        "summarised_entities",
        "entity that the graph lacks and no turn created, but whose summary a turn records",
        _REDO,
    )
    MISSING_FACTS = ("missing_facts", "fact that a turn created and the graph lacks", _REDO)
    FACTS_WITHOUT_TURN = (
        "facts_without_turn",
        "fact that names a turn that is not in the graph, or none",
        (
            "ingest the turn again; a fact of a turn that is gone for good is removed with a "
            "Cypher statement, after a copy of the graph was made"
        ),
    )
    FACTS_IN_FUTURE = (
        "facts_in_future",
        "fact that holds only from more than a day after its turn ended",
        "if the turn does not say so, `turnetl undo --turn ID`, then `turnetl ingest`",
    )
    UNUSED_ENTITIES = (
        "unused_entities",
        "entity that a turn created, that no episode mentions and no fact connects",
        _REPAIR,
    )
    DUPLICATE_NAMES = (
        "duplicate_names",
        "entity with the same name and labels as another one",
        "undo the turns from the one that created the second entity on, and ingest them again",
    )
    WRONG_DIMENSIONS = (
        "wrong_dimensions",
        "entity or fact whose embedding has other dimensions than those of the group",
        _REDO,
    )
    MISSING_VECTORS = ("missing_vectors", "entity or fact without an embedding", _REDO)
    WRONG_VECTORS = (
        "wrong_vectors",
        "entity or fact whose embedding is not that of its name or text, or has no direction",
        _REDO,
    )
    INDEX_MISSING = (
        "index_missing",
        "turn of the graph that the search index lacks, although it has read its commit",
        "`turnetl verify --fix` brings the index up to date, as `turnetl index` does",
    )
    INDEX_SURPLUS = (
        "index_surplus",
        "turn of the search index that is not in the graph",
        (
            "`turnetl verify --fix` brings the index up to date; if that does not help, run "
            "`turnetl index --rebuild`"
        ),
    )
    INDEX_SEQUENCE = (
        "index_sequence",
        "group of which the search index has read more commits than there are",
        "`turnetl verify --fix` brings the index up to date",
    )
    INDEX_BEHIND = (
        "index_behind",
        "turn that the search index has not read yet",
        "nothing: the next search reads it, or `turnetl index`",
        False,
    )
    PENDING = (
        "pending",
        "turn of the lake that is not noise and not in the graph",
        "run `turnetl status` for the reason, and `turnetl ingest`",
        False,
    )
    NOT_IN_LAKE = (
        "not_in_lake",
        "turn of the graph that the lake does not hold: its archive, or the lake, is another one",
        "nothing, or parse its archive again",
        False,
    )
    STALE = (
        "stale",
        "turn whose content in the lake differs from what was committed",
        "nothing, or `turnetl undo --turn ID` and `turnetl ingest`",
        False,
    )
    FOREIGN = (
        "foreign",
        "episode, entity or fact of another program in the group",
        "nothing: it is not touched",
        False,
    )
    DAMAGED_TURNS = (
        "damaged_turns",
        "turns file that is not as it was written, or is not in its place",
        (
            "`turnetl backfill` of its archive makes it again, if the archive exists; "
            "`turnetl verify --fix` does so now, and keeps what is damaged under another name"
        ),
    )
    DAMAGED_EPISODES = (
        "damaged_episodes",
        "episodes table that is not as it was written, or is that of another group",
        "`turnetl filter` makes it again from the turns; `turnetl verify --fix` does so now",
    )
    DAMAGED_FILES = (
        "damaged_files",
        "file of the lake that cannot be used as it is",
        "each says what to do",
    )
    NEWER_FILES = (
        "newer_files",
        "file that a newer turnetl wrote",
        "update turnetl, for example with `pip install -U turnetl`; keep the file",
    )
    DAMAGED_INDEX = (
        "damaged_index",
        "search index whose files are damaged or contradict each other",
        "`turnetl verify --fix` rebuilds it from the graph, as `turnetl index --rebuild` does",
    )
    DAMAGED_JOURNAL = (
        "damaged_journal",
        "journal of model responses that cannot be read, or holds responses that cannot",
        (
            "restore it from a backup if there is one; a request without its response is paid for "
            "again, but turns in the graph are not requested again"
        ),
    )
    UNREADABLE_GRAPH = (
        "unreadable_graph",
        "graph that cannot be used",
        "each says what to do",
    )
    DAMAGED_GRAPH = (
        "damaged_graph",
        "embedded graph that is damaged, so that names, texts or vectors may be wrong",
        "restore it from a backup; keep the damaged file until that is done",
    )
    CHANGED_GRAPH = (
        "changed_graph",
        "embedded graph that another program wrote since turnetl closed it, or that is a copy",
        "nothing; `turnetl verify --fix` records its checksum, as the next run that writes it does",
        False,
    )
    UNRECORDED_GRAPH = (
        "unrecorded_graph",
        (
            "embedded graph without a checksum, after a kill or of an earlier version, so that "
            "flipped bits cannot all be found"
        ),
        "nothing: the next run that writes it records one, or `turnetl verify --fix`",
        False,
    )
    KEPT_COPIES = (
        "kept_copies",
        "damaged file that is kept under another name",
        "nothing, or move it away when what it held is there again",
        False,
    )
    LOOSE_PERMISSIONS = (
        "loose_permissions",
        "file or folder of the lake, graph or settings that more users may use than should",
        "`turnetl verify --fix` takes the rights away",
    )
