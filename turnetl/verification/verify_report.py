"""What a verification found, and what to do about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from turnetl.base.model import GroupId
from turnetl.base.private_files import LooseFile
from turnetl.base.result_fields import GroupField
from turnetl.base.results import described
from turnetl.graph.group_repair import GroupRepair, repair_sentence
from turnetl.verification.check import Check


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A file that is not as it was written."""

    check: Check
    path: Path
    name: str
    """Its path or URL, for a message."""
    problem: str
    """What is wrong, as the end of a sentence that begins with the name."""
    remedy: str = ""
    """What to do, if it is not that of the check."""
    is_kept: bool = False
    """Whether `--fix` gives it another name, so that nothing uses it."""
    archive: str | None = None
    """The archive that it is made from and that still exists: `--fix` parses it again."""

    @property
    def sentence(self) -> str:
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"`{self.name}` {self.problem}{remedy}"


@dataclass(frozen=True, slots=True)
class Finding:
    """All that one check found in a group."""

    check: Annotated[Check, described("The check.")]
    count: Annotated[int, described("How often it was found.")]
    examples: Annotated[tuple[str, ...], described("The first ones, sorted.")]
    """Ids with what is needed to find them."""

    @property
    def is_wrong(self) -> Annotated[bool, described("False: it is only worth knowing.")]:
        return self.check.is_wrong

    @property
    def meaning(self) -> Annotated[str, described("What each of them is.")]:
        return self.check.meaning

    @property
    def remedy(self) -> Annotated[str, described("What to do about it.")]:
        return self.check.remedy


@dataclass(frozen=True, slots=True)
class GroupVerification:
    """The state of a group."""

    group: GroupField
    turns: Annotated[int, described("Turns in the graph.")]
    findings: Annotated[tuple[Finding, ...], described("The checks that found something.")]
    """In the order of `Check`."""
    repairs: tuple[GroupRepair, ...] = ()
    """What can be repaired without a loss."""
    committed_meanwhile: Annotated[
        int, described("Turns that another process committed meanwhile; not verified.")
    ] = 0
    lake_problem: Annotated[
        str | None, described("Why the group was not compared with the lake; null if it was.")
    ] = None
    migration: Annotated[
        str | None,
        described(
            "The interrupted migration that explains what is found, and what to do; or null."
        ),
    ] = None

    @property
    @described("What `--fix` can repair in the graph, a sentence each.", name="repairs")
    def repair_sentences(self) -> list[str]:
        return [repair_sentence(repair) for repair in self.repairs]

    @property
    @described("Errors: the sum of the findings that are wrong.")
    def wrong(self) -> int:
        return sum(finding.count for finding in self.findings if finding.check.is_wrong)

    @property
    def index_is_wrong(self) -> bool:
        """Whether a catch-up of the search index may repair something."""
        repairable = (Check.INDEX_MISSING, Check.INDEX_SURPLUS, Check.INDEX_SEQUENCE)
        return any(finding.check in repairable for finding in self.findings)


_MENDED = (Check.DAMAGED_INDEX, Check.CHANGED_GRAPH, Check.UNRECORDED_GRAPH)


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """The result of `turnetl verify`."""

    groups: Annotated[tuple[GroupVerification, ...], described("The groups, sorted by name.")]
    index: Annotated[
        Path | None,
        described("Folder of the search index; null if there is none to compare with."),
    ]
    index_problem: Annotated[
        str | None,
        described("Why the index was not verified; null if it was, or there is none."),
    ] = None
    repaired: Annotated[int, described("Repairs that `--fix` made.")] = 0
    loose_files: tuple[LooseFile, ...] = ()
    """Files and folders with too many rights, sorted by path."""
    permissions: Annotated[
        Finding | None,
        described("Files and folders that too many users may use; null if there are none."),
    ] = None
    file_problems: tuple[FileProblem, ...] = ()
    """Files of the lake and the graph that are not as they were written."""
    files: Annotated[
        tuple[Finding, ...],
        described("Files of lake and graph that are not as they were written, by check."),
    ] = ()
    tables: Annotated[
        int,
        described("Tables of the lake that were read completely and are as they were written."),
    ] = 0
    table_bytes: Annotated[int, described("Bytes of these tables.")] = 0
    graph_problem: Annotated[
        str | None, described("Why the graph was not verified; null if it was.")
    ] = None

    @property
    @described("All errors; the exit code is 3 if there are any.")
    def wrong(self) -> int:
        files = sum(finding.count for finding in self.files if finding.check.is_wrong)
        return sum(group.wrong for group in self.groups) + len(self.loose_files) + files

    @property
    def mended_files(self) -> tuple[FileProblem, ...]:
        """The files that `--fix` sets aside, makes again or accepts."""
        return tuple(one for one in self.file_problems if one.is_kept or one.check in _MENDED)

    @property
    def is_refused(self) -> bool:
        """Whether the repairs are refused: never, because only what is safe is one."""
        return False

    @property
    def can_repair(self) -> bool:
        """Whether `--fix` may change something."""
        return bool(self.repairs or self.loose_files or self.mended_files) or any(
            group.index_is_wrong for group in self.groups
        )

    @property
    def repairs(self) -> Mapping[GroupId, tuple[GroupRepair, ...]]:
        """What can be repaired, by group; none without a repair."""
        return {group.group: group.repairs for group in self.groups if group.repairs}
