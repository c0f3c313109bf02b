import pytest

from tests.servers.toy import ToyEmbedder


@pytest.fixture
def embedder() -> ToyEmbedder:
    return ToyEmbedder()
