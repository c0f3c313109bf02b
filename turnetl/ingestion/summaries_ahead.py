"""The summaries of a group after turns that are resolved ahead of their commit."""

from dataclasses import replace

from turnetl.ingestion.summarised_change import SummarisedChange, shown, time_of, with_texts
from turnetl.model import Change
from turnetl.summaries.group_summaries import GroupSummaries
from turnetl.summaries.port import Summariser
from turnetl.summaries.summary_plan import outcome


class SummariesAhead:
    """Summarises turns as `TurnSummaries` does; the summaries of the group are not changed."""

    def __init__(self, group: GroupSummaries, summariser: Summariser) -> None:
        """Start with the summaries of the committed turns."""
        self._group = group.ahead()
        self._summariser = summariser

    async def summarise(self, change: Change) -> SummarisedChange:
        """Return the change of the next turn with its summaries. Applies nothing.

        Raises:
            RunStopped, ModelBusy, ModelUnusable: as `TurnSummaries.summarise`.
        """
        plan = self._group.plan(change, time_of(change))
        texts = (await self._summariser.summarise(plan.inputs)).all().texts
        decided = replace(change, summaries=self._group.record(plan, texts))
        return SummarisedChange(
            with_texts(shown(decided, self._group), texts),
            with_texts(decided, texts),
            outcome(plan, texts),
        )

    def apply(self, change: Change) -> None:
        """Apply a change of `summarise`, in the order of the turns."""
        self._group.apply(change, change.summaries, time_of(change))
