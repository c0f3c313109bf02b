"""Prompts of a history that were ingested before their transcripts were read."""

from collections.abc import Collection, Iterable

import polars as pl

from turnetl.base.graph_model import Receipt
from turnetl.base.model import GroupId, TurnId
from turnetl.formats import PROMPT_HISTORY
from turnetl.lake import Lake


def superseded_prompts(
    lake: Lake, group: GroupId, receipts: Iterable[Receipt], candidates: Collection[str]
) -> tuple[TurnId, ...]:
    """Return the committed prompts that are copies of turns of transcripts now, oldest first.

    Args:
        lake: has the turns files of the group.
        group: the group.
        receipts: all receipts of the group in the graph.
        candidates: ids of the turns in its episodes table: a copy has the id of its turn there.
    """
    missing = [
        receipt
        for receipt in receipts
        if receipt.format == PROMPT_HISTORY and receipt.turn_id not in candidates
    ]
    if not missing:
        return ()
    ids = [receipt.turn_id for receipt in missing]
    rows = lake.scan_turns(group).filter(pl.col("turn_id").is_in(ids))
    in_lake = set(rows.select("turn_id").collect()["turn_id"].to_list())
    ordered = sorted(missing, key=lambda receipt: (receipt.started_at, receipt.turn_id))
    return tuple(receipt.turn_id for receipt in ordered if receipt.turn_id in in_lake)
