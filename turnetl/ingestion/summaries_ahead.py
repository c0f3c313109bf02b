"""The summaries of a group after turns that are resolved ahead of their commit."""

from dataclasses import replace

from turnetl.base.model import Change
from turnetl.ingestion.commit import time_of
from turnetl.ingestion.summarised_change import shown, with_texts
from turnetl.summaries.group_summaries import GroupSummaries
from turnetl.summaries.port import Summariser


class SummariesAhead:
    """Summarises turns as `TurnSummaries` does; the summaries of the group are not changed."""

    def __init__(self, group: GroupSummaries, summariser: Summariser) -> None:
        """Start with the summaries of the committed turns."""
        self._group = group.ahead()
        self._summariser = summariser

    async def summarise(self, change: Change) -> tuple[Change, Change]:
        """Return the next turn's change with its summaries, and as later turns see it.

        Applies nothing.

        Raises:
            RunStopped, ModelBusy, ModelUnusable: as `TurnSummaries.summarise`.
        """
        plan = self._group.plan(change, time_of(change.episode))
        texts = (await self._summariser.summarise(plan.inputs)).all().texts
        decided = replace(change, summaries=self._group.record(plan, texts))
        return with_texts(shown(decided, self._group), texts), with_texts(decided, texts)

    def apply(self, change: Change) -> None:
        """Apply a change of `summarise`, in the order of the turns."""
        self._group.apply(change, change.summaries, time_of(change.episode))
