"""All checks of one group, read while another process may write it, and of files around it."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from turnetl.base.batched import grouped
from turnetl.base.errors import GraphBusy
from turnetl.base.graph_model import GroupVersion
from turnetl.base.model import GroupId, TurnId
from turnetl.base.private_files import LooseFile
from turnetl.graph.group_repair import GroupRepair
from turnetl.graph.port import GraphStore
from turnetl.verification.check import Check
from turnetl.verification.graph_checks import (
    Examples,
    entity_checks,
    entity_repairs,
    fact_checks,
    fact_repairs,
    foreign_checks,
    session_checks,
    session_repairs,
    turn_checks,
    turn_examples,
)
from turnetl.verification.group_state import GroupState
from turnetl.verification.verify_report import FileProblem, Finding, GroupVerification


def lake_checks(state: GroupState, turns: pl.DataFrame) -> Iterator[Examples]:
    """Compare the receipts with the episodes table: `turn_id`, `content_hash`, `noise`."""
    commits = state.known_commits
    pending = turns.filter(pl.col("noise").is_null()).join(commits, on="turn_id", how="anti")
    yield Check.PENDING, turn_examples(pending)
    yield Check.NOT_IN_LAKE, turn_examples(commits.join(turns, on="turn_id", how="anti"))
    both = commits.join(turns, on="turn_id", suffix="_in_lake")
    is_changed = pl.col("content_hash") != pl.col("content_hash_in_lake")
    yield Check.STALE, turn_examples(both.filter(is_changed))


@dataclass(frozen=True, slots=True)
class IndexedTurns:
    """The turns of a group in the search index, read before the graph."""

    sequence: int
    """The number of the last commit that the index has read; 0 if none."""
    creation_id: str
    turns: Collection[TurnId]


def index_checks(
    state: GroupState, indexed: IndexedTurns, version: GroupVersion | None
) -> Iterator[Examples]:
    """Compare the receipts with the index.

    Args:
        version: the group in the graph, read after the index; None: it is not in the graph.
    """
    is_same = version is None or indexed.creation_id == version.creation_id
    last = version.sequence if version is not None else indexed.sequence
    is_ahead = is_same and indexed.sequence > last
    # The next catch-up reads the whole group if it is another one, or an older state of it.
    read_up_to = indexed.sequence if is_same and not is_ahead else 0
    found = pl.Series("turn_id", sorted(indexed.turns), dtype=pl.String)
    lacking = state.known_commits.filter(~pl.col("turn_id").is_in(found.implode()))
    missing = lacking.filter(pl.col("sequence") <= read_up_to)
    behind = state.known_commits.filter(pl.col("sequence") > read_up_to)
    surplus = found.filter(~found.is_in(state.known_commits["turn_id"].implode()))
    yield Check.INDEX_MISSING, turn_examples(missing)
    yield Check.INDEX_SURPLUS, [f"turn {turn}" for turn in surplus] if is_same else []
    ahead = f"group {state.group}: commit {indexed.sequence} of {last}"
    yield Check.INDEX_SEQUENCE, [ahead] if is_ahead else []
    yield Check.INDEX_BEHIND, turn_examples(behind)


def file_findings(problems: Sequence[FileProblem], *, examples: int) -> tuple[Finding, ...]:
    """Return the findings about files, in the order of `Check`, each with some examples."""
    found = grouped((problem.check, problem.sentence) for problem in problems)
    return tuple(_finding(check, found[check], examples) for check in Check if check in found)


def permission_finding(loose: Sequence[LooseFile], *, examples: int) -> Finding | None:
    """Return the finding about files with too many rights; None without such files."""
    if not loose:
        return None
    lines = [f"{file.path}: {file.mode:04o} instead of {file.allowed:04o}" for file in loose]
    return _finding(Check.LOOSE_PERMISSIONS, lines, examples)


def verify_group(
    state: GroupState,
    lake_turns: pl.DataFrame | None,
    indexed: IndexedTurns | None,
    version: GroupVersion | None,
    *,
    vectors: Iterable[Examples] = (),
    examples: int,
) -> GroupVerification:
    """Compare the group with itself, the lake and the index.

    The turns of the lake are None if it cannot be read, those of the index if there is nothing to
    compare with; `vectors` are from `vector_checks`.
    """
    found = [
        *turn_checks(state),
        *session_checks(state),
        *entity_checks(state),
        *fact_checks(state),
        *foreign_checks(state),
        *vectors,
        *(lake_checks(state, lake_turns) if lake_turns is not None else ()),
        *(index_checks(state, indexed, version) if indexed is not None else ()),
    ]
    findings = (_finding(check, of_check, examples) for check, of_check in found if of_check)
    order = list(Check)
    return GroupVerification(
        group=state.group,
        turns=state.tables.commits_after.height,
        findings=tuple(sorted(findings, key=lambda finding: order.index(finding.check))),
        repairs=group_repairs(state),
        committed_meanwhile=state.committed_meanwhile,
    )


def _finding(check: Check, found: list[str], examples: int) -> Finding:
    return Finding(check, len(found), tuple(sorted(found)[:examples]))


_READS = 3


async def read_group(store: GraphStore, group: GroupId) -> GroupState:
    """Read the group; again if a turn of it was undone meanwhile.

    Raises:
        GraphBusy: turns are being undone.
    """
    profile = await store.profile(group)
    dimensions = profile.dimensions if profile is not None else None
    for _ in range(_READS):
        state = GroupState(group, await store.tables(group), dimensions)
        if not state.undone_meanwhile:
            return state
    raise GraphBusy(
        f"another process is undoing turns of group `{group}`: wait until it ends, then verify it "
        "again"
    )


def group_repairs(state: GroupState) -> tuple[GroupRepair, ...]:
    """Return the repairs of a group; none if it has no profile, so that it cannot be leased."""
    if state.dimensions is None:
        return ()
    return (*session_repairs(state), *entity_repairs(state), *fact_repairs(state))
