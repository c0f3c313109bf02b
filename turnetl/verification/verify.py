"""All checks of one group."""

from collections.abc import Iterable, Iterator

import polars as pl

from turnetl.base.graph_model import GroupVersion
from turnetl.verification.check import Check
from turnetl.verification.entity_checks import entity_checks
from turnetl.verification.fact_checks import fact_checks
from turnetl.verification.foreign_checks import foreign_checks
from turnetl.verification.group_state import GroupState
from turnetl.verification.index_checks import IndexedTurns, index_checks
from turnetl.verification.lake_checks import lake_checks
from turnetl.verification.repairs import group_repairs
from turnetl.verification.report import Finding, GroupVerification
from turnetl.verification.session_checks import session_checks
from turnetl.verification.turn_checks import Examples, turn_checks


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

    Args:
        state: the group.
        lake_turns: as of `lake_checks`; None: the lake cannot be read.
        indexed: the group in the index; None: there is no index to compare with.
        version: as of `index_checks`.
        vectors: from `vector_checks`, if the vectors are compared.
        examples: of each finding, at most.
    """
    found = [
        *_checks_of_graph(state),
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


def _checks_of_graph(state: GroupState) -> Iterator[Examples]:
    yield from turn_checks(state)
    yield from session_checks(state)
    yield from entity_checks(state)
    yield from fact_checks(state)
    yield from foreign_checks(state)


def _finding(check: Check, found: list[str], examples: int) -> Finding:
    return Finding(check, len(found), tuple(sorted(found)[:examples]))
