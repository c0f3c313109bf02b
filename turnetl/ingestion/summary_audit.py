"""Compare summaries that turns kept with the ones that a refresh would write."""

from collections.abc import Sequence

import numpy as np

from turnetl.base.model import Vector
from turnetl.ingestion.summarize_report import AuditedSummary, SummaryAudit
from turnetl.ingestion.undo import EmbedTexts
from turnetl.llm.vectors import unpack
from turnetl.summaries.audit import missing_facts
from turnetl.summaries.port import Summariser, SummaryInput


async def audit_summaries(
    kept: Sequence[SummaryInput], summariser: Summariser, embed: EmbedTexts
) -> SummaryAudit:
    """Compare kept summaries with new ones. Writes nothing.

    Args:
        embed: returns the vectors of both, each of length 1.
    """
    fresh = (await summariser.summarise(kept)).all().texts
    pairs = [
        (one.entity.name, one.entity.summary, fresh[one.entity.uuid])
        for one in kept
        if one.entity.uuid in fresh
    ]
    if not pairs:
        return SummaryAudit()
    vectors = await embed([*(old for _, old, _ in pairs), *(new for *_, new in pairs)])
    cosines = map(_cosine, vectors[: len(pairs)], vectors[len(pairs) :])
    audited = [
        AuditedSummary(name, old, new, cosine, missing_facts(old, new))
        for (name, old, new), cosine in zip(pairs, cosines, strict=True)
    ]
    return SummaryAudit(tuple(sorted(audited, key=lambda one: (one.cosine, one.entity))))


def _cosine(one: Vector, other: Vector) -> float:
    return float(np.dot(unpack(one), unpack(other)))
