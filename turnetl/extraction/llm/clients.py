"""The clients that Graphiti's building blocks take."""

from graphiti_core.graphiti_types import GraphitiClients
from graphiti_core.tracer import NoOpTracer

from turnetl.extraction.llm.prompts import escaping_prompts
from turnetl.graph.mirror.graphiti_adapters import MirrorDriver
from turnetl.llm.chat import ChatModel
from turnetl.llm.graphiti import GraphitiEmbedder, GraphitiModel, NoReranker

_PROMPTS = escaping_prompts()


class CheckedClients:
    """Graphiti's clients for one or more calls of one turn, with a check for swallowed errors."""

    def __init__(self, model: ChatModel, embedder: GraphitiEmbedder, driver: MirrorDriver) -> None:
        self.model = GraphitiModel(model)
        self._driver = driver
        self.bundle = GraphitiClients(
            driver=driver,
            llm_client=self.model,
            embedder=embedder,
            cross_encoder=NoReranker(),
            tracer=NoOpTracer(),
            prompt_library=_PROMPTS,
        )

    def check(self) -> None:
        """Raise errors that Graphiti may have swallowed: a leaked read, a failed request."""
        self._driver.check()
        self.model.check()
