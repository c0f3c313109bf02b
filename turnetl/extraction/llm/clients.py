"""What Graphiti's building blocks are given."""

from graphiti_core.graphiti_types import GraphitiClients
from graphiti_core.tracer import NoOpTracer

from turnetl.graph.mirror.graphiti_adapters import MirrorDriver
from turnetl.llm.chat import ChatModel
from turnetl.llm.graphiti import GraphitiEmbedder, GraphitiModel, NoReranker


class Clients:
    """For one question or several, of one turn."""

    def __init__(self, model: ChatModel, embedder: GraphitiEmbedder, driver: MirrorDriver) -> None:
        self.model = GraphitiModel(model)
        self._driver = driver
        self.bundle = GraphitiClients(
            driver=driver,
            llm_client=self.model,
            embedder=embedder,
            cross_encoder=NoReranker(),
            tracer=NoOpTracer(),
        )

    def check(self) -> None:
        """Raise what Graphiti may have swallowed: a read that leaked, a call that failed."""
        self._driver.check()
        self.model.check()
