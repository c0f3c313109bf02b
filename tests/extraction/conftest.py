import pytest

from tests.servers.toy_embedder import ToyEmbedder


@pytest.fixture
def embedder() -> ToyEmbedder:
    return ToyEmbedder()
