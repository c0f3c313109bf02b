"""Compare summaries that turns kept with the ones that a refresh would write."""

from collections.abc import Sequence

import numpy as np

from turnetl.graph_model import GroupContents
from turnetl.ingestion.summarize_report import ALIKE, SummaryAudit
from turnetl.ingestion.undo import EmbedTexts
from turnetl.llm.vectors import unpack
from turnetl.model import Vector
from turnetl.summaries.audit import kept_summaries, missing_facts
from turnetl.summaries.port import Summariser


async def audit_summaries(
    contents: GroupContents,
    summariser: Summariser,
    embed: EmbedTexts,
    limit: int,
) -> SummaryAudit:
    """Compare a sample of the kept summaries of a group with new ones. Writes nothing.

    Args:
        contents: the group as the graph holds it.
        summariser: writes the new ones.
        embed: returns the vectors of both, each of length 1.
        limit: summaries at most.

    Raises:
        BadTurn: the summaries cannot be made.
    """
    inputs = kept_summaries(contents, limit)
    fresh = (await summariser.summarise(inputs)).texts
    audited = [given.entity for given in inputs if given.entity.uuid in fresh]
    if not audited:
        return SummaryAudit()
    kept, new = [one.summary for one in audited], [fresh[one.uuid] for one in audited]
    vectors = await embed([*kept, *new])
    cosines = _cosines(vectors[: len(kept)], vectors[len(kept) :])
    return SummaryAudit(
        audited=len(audited),
        alike=int(np.count_nonzero(cosines >= ALIKE)),
        mean_cosine=float(np.mean(cosines)),
        missing_facts=sum(map(missing_facts, kept, new)),
    )


def _cosines(kept: Sequence[Vector], new: Sequence[Vector]) -> "np.ndarray":
    pairs = zip(kept, new, strict=True)
    return np.array([float(np.dot(unpack(one), unpack(other))) for one, other in pairs])
