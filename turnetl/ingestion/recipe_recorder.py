"""Record the parts of the recipes that a run uses, before the first turn that it commits."""

from typing import Any

from turnetl.base.model import Episode
from turnetl.extraction.port import Extractor
from turnetl.graph.port import GraphStore
from turnetl.ingestion.commit import while_busy


class RecipeRecorder:
    """Records the recipe of each kind of turn of one group once."""

    def __init__(self, store: GraphStore, extractor: Extractor[Any], *, retry_delay: float) -> None:
        self._store = store
        self._extractor = extractor
        self._retry_delay = retry_delay
        self._kinds: set[str] = set()

    async def record(self, episode: Episode) -> None:
        """Record the parts of the recipe of a turn.

        Raises:
            GraphBusy: the graph did not respond to any attempt.
        """
        if episode.kind in self._kinds:
            return
        parts = self._extractor.recipe_parts(episode.turn.group_id, episode.kind)
        await while_busy(lambda: self._store.record_recipe(parts), retry_delay=self._retry_delay)
        self._kinds.add(episode.kind)
