import pytest

from tests.extraction import long_sample_turns
from tests.real_archives import SAMPLES
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base.model import Episode


@pytest.fixture
def embedder() -> ToyEmbedder:
    return ToyEmbedder()


@pytest.fixture(scope="session")
def long_sample(tmp_path_factory: pytest.TempPathFactory) -> list[Episode]:
    """Sixty turns of the sample archives."""
    return long_sample_turns.turns(SAMPLES, tmp_path_factory.mktemp("lake"), 60)
