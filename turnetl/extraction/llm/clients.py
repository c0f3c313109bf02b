"""The clients that Graphiti's building blocks take."""

from graphiti_core.graphiti_types import GraphitiClients
from graphiti_core.tracer import NoOpTracer

from turnetl.extraction.llm.compact_prompts import compact_prompts
from turnetl.extraction.llm.fact_batches import FactBatches
from turnetl.extraction.llm.prompts import escaping_prompts
from turnetl.graph.mirror.graphiti_adapters import MirrorDriver
from turnetl.llm.chat import ChatModel
from turnetl.llm.graphiti import GraphitiEmbedder, GraphitiModel, NoReranker

_PROMPTS, _COMPACT_PROMPTS = escaping_prompts(), compact_prompts()
_ALL = 1_000
"""Calls that Graphiti starts together: all facts of a turn, so that they share requests. The
limiter decides how many are sent."""


class CheckedClients:
    """Graphiti's clients for one or more calls of one turn, with a check for swallowed errors."""

    def __init__(
        self,
        model: ChatModel,
        embedder: GraphitiEmbedder,
        driver: MirrorDriver,
        *,
        is_compact: bool,
    ) -> None:
        """Make clients.

        Args:
            model: receives the requests.
            embedder: the one whose vectors the group contains.
            driver: serves the group.
            is_compact: whether the compact prompts are sent; else Graphiti's own.
        """
        self.model = GraphitiModel(FactBatches(model) if is_compact else model)
        self._driver = driver
        self.bundle = GraphitiClients(
            driver=driver,
            llm_client=self.model,
            embedder=embedder,
            cross_encoder=NoReranker(),
            tracer=NoOpTracer(),
            prompt_library=_COMPACT_PROMPTS if is_compact else _PROMPTS,
            max_coroutines=_ALL if is_compact else None,
        )

    def check(self) -> None:
        """Raise errors that Graphiti may have swallowed: a leaked read, a failed request."""
        self._driver.check()
        self.model.check()
