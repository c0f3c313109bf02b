"""The one thing of Graphiti that is replaced: it must give what Graphiti's own gives."""

import inspect
from importlib.util import find_spec, module_from_spec
from types import ModuleType

import pytest
from graphiti_core.nodes import EntityNode
from graphiti_core.utils.maintenance import dedup_helpers
from graphiti_core.utils.maintenance.dedup_helpers import (
    _build_candidate_indexes,
    _normalize_name_for_fuzzy,
    _shingles,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.extraction.canned_model import Canned
from tests.servers.toy_embedder import ToyEmbedder
from turnetl import ids
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.prompt_config import fixed_prompt

REPLACED = "_minhash_signature"
NAMES = st.text("abcdefghij0189' _./é", max_size=30)
SAME_MODULE_FOR_ALL = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def graphitis_own() -> ModuleType:
    """The module as Graphiti wrote it, beside the one in use."""
    LlmExtractor(Canned(), ToyEmbedder(), prompts=fixed_prompt(None))
    spec = find_spec(dedup_helpers.__name__)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def signature_of(module: ModuleType, name: str) -> tuple[int, ...]:
    signed: tuple[int, ...] = getattr(module, REPLACED)(_shingles(_normalize_name_for_fuzzy(name)))
    return signed


@SAME_MODULE_FOR_ALL
@given(NAMES)
def test_a_signature_is_graphitis_own(graphitis_own: ModuleType, name: str) -> None:
    assert signature_of(dedup_helpers, name) == signature_of(graphitis_own, name)


@SAME_MODULE_FOR_ALL
@given(st.lists(NAMES, max_size=6))
def test_candidates_stand_in_the_same_buckets(graphitis_own: ModuleType, names: list[str]) -> None:
    nodes = [EntityNode(name=name or "x", group_id="shop") for name in names]
    own = vars(graphitis_own)["_build_candidate_indexes"](nodes)
    assert _build_candidate_indexes(nodes).lsh_buckets == own.lsh_buckets


def test_graphiti_uses_what_stands_in_its_place(graphitis_own: ModuleType) -> None:
    assert getattr(dedup_helpers, REPLACED) is not getattr(graphitis_own, REPLACED)
    assert _build_candidate_indexes.__globals__[REPLACED] is getattr(dedup_helpers, REPLACED)


def test_graphiti_still_has_what_is_replaced_as_it_was_read(graphitis_own: ModuleType) -> None:
    """If this fails, Graphiti changed: read `dedup_helpers` again before the pin goes up."""
    assert ids.digest(inspect.getsource(getattr(graphitis_own, REPLACED))) == READ
    assert dedup_helpers._MINHASH_PERMUTATIONS == 32  # noqa: SLF001 - leant on


READ = "1b7fd7b21a380fee3a9d9da5374ed0bd"
