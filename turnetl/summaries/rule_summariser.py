"""The summariser without a model."""

from collections.abc import Sequence

from turnetl.base.model import Usage
from turnetl.summaries.port import Summarised, SummaryInput
from turnetl.summaries.rule_summary import rule_summary


class RuleSummariser:
    """`Summariser` that sends no requests: the facts that a reader asks for first."""

    async def summarise(self, inputs: Sequence[SummaryInput]) -> Summarised:
        return Summarised(
            {given.entity.uuid: text for given in inputs if (text := _text(given)) is not None}
        )

    def estimate(self, inputs: Sequence[SummaryInput]) -> Usage:  # noqa: ARG002 - of the port
        return Usage()


def _text(given: SummaryInput) -> str | None:
    """Return the summary; None if no fact is active and there was none."""
    return rule_summary(given.entity, given.facts) or (NO_FACTS if given.previous else None)


NO_FACTS = "No fact about it holds any more."
"""The summary of an entity whose facts were all invalidated."""
