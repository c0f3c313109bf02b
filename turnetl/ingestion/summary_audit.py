"""Compare summaries that turns kept with the ones that a refresh would write."""

from collections.abc import Sequence

import numpy as np

from turnetl.ingestion.summarize_report import ALIKE, SummaryAudit
from turnetl.ingestion.undo import EmbedTexts
from turnetl.llm.vectors import unpack
from turnetl.model import Vector
from turnetl.summaries.audit import missing_facts
from turnetl.summaries.port import Summariser
from turnetl.summaries.summary_input import SummaryInput


async def audit_summaries(
    kept: Sequence[SummaryInput], summariser: Summariser, embed: EmbedTexts
) -> SummaryAudit:
    """Compare kept summaries with new ones. Writes nothing.

    Args:
        kept: from `kept_summaries`.
        summariser: writes the new ones.
        embed: returns the vectors of both, each of length 1.

    Raises:
        RunStopped: the budget does not cover the new ones.
        ModelBusy: no response after all retries.
        ModelUnusable: the user must act first.
    """
    fresh = (await summariser.summarise(kept)).all().texts
    audited = [given.entity for given in kept if given.entity.uuid in fresh]
    if not audited:
        return SummaryAudit()
    old, new = [one.summary for one in audited], [fresh[one.uuid] for one in audited]
    vectors = await embed([*old, *new])
    cosines = _cosines(vectors[: len(old)], vectors[len(old) :])
    return SummaryAudit(
        audited=len(audited),
        alike=int(np.count_nonzero(cosines >= ALIKE)),
        mean_cosine=float(np.mean(cosines)),
        missing_facts=sum(map(missing_facts, old, new)),
    )


def _cosines(kept: Sequence[Vector], new: Sequence[Vector]) -> "np.ndarray":
    pairs = zip(kept, new, strict=True)
    return np.array([float(np.dot(unpack(one), unpack(other))) for one, other in pairs])
