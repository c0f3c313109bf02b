"""Replace sample changes in a store."""

from dataclasses import replace as with_fields

from tests.builders import START
from tests.graph.reversals import reversal_of
from tests.graph.sample_changes import (
    NOW,
    TTL,
    change,
    entity,
    fact,
    history,
    receipt,
    split_into_chunks,
    turn_id,
)
from turnetl.graph.port import GraphStore
from turnetl.graph_model import Lease, Reverted
from turnetl.model import Change


def latest_extracted_otherwise() -> Change:
    """Return the last turn of `history` with other entities and facts, and in two chunks."""
    last = history()[-1]
    (cart,) = history()[1].entities_before
    cart_later = next(e for e in history()[1].entities if e.uuid == cart.uuid)
    price = entity("price.py")
    other = with_fields(cart_later, summary="cart.py uses price.py")
    uses = fact(turn_id("p2"), other, price, "cart.py imports price.py", valid_at=START)
    turn = last.episode.turn
    extracted = change(
        "p2",
        [price, other],
        [uses],
        entities_before=(cart_later,),
        previous_turn=last.previous_turn,
        group_id=turn.group_id,
        session_id=turn.session_id,
        started_at=turn.started_at,
        ordinal=turn.ordinal,
    )
    mentioned_in = {price.uuid: (1,), other.uuid: (0, 1)}
    return split_into_chunks(extracted, "user: Undo it.", "done", mentioned_in=mentioned_in)


async def replace(
    store: GraphStore,
    lease: Lease,
    old: Change,
    new: Change,
    *,
    old_run: str = "run-1",
    new_run: str = "run-2",
) -> Reverted | None:
    reversal = with_fields(reversal_of(old), receipt=receipt(old, run_id=old_run))
    new_receipt = receipt(new, run_id=new_run)
    return await store.replace(lease, reversal, new, new_receipt, now=NOW, ttl=TTL)
