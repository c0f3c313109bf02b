"""Undo sample changes in a store."""

from tests.graph.sample_changes import NOW, TTL, receipt
from turnetl.base.graph_model import Lease, Reversal, Reverted
from turnetl.base.model import Change
from turnetl.graph.port import GraphStore


def reversal_of(change: Change) -> Reversal:
    """Return what undoes the change, if it was the latest."""
    changed = {entity.uuid for entity in change.entities_before}
    changed |= {fact.uuid for fact in change.facts_before}
    return Reversal(
        receipt=receipt(change),
        entities_removed=tuple(e.uuid for e in change.entities if e.uuid not in changed),
        facts_removed=tuple(f.uuid for f in change.facts if f.uuid not in changed),
        entities_restored=change.entities_before,
        facts_restored=change.facts_before,
    )


async def revert(store: GraphStore, lease: Lease, change: Change) -> Reverted | None:
    return await store.revert(lease, reversal_of(change), now=NOW, ttl=TTL)
