"""The functions of Graphiti that are replaced: they must return the same as Graphiti's own."""

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

from tests.extraction.canned_model import CannedModel
from tests.extraction.fixed_prompt import fixed_prompt
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base import ids
from turnetl.extraction.llm import LlmExtractor

REPLACED = "_minhash_signature"
OF_NAMES = ("_normalize_string_exact", "_normalize_name_for_fuzzy", "_shingles")
CACHED = (*OF_NAMES, "_lsh_bands")
NAMES = st.text("abcdefghij0189' _./é", max_size=30)
SHARED_FIXTURE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def original() -> ModuleType:
    """The unmodified module, loaded next to the one in use."""
    LlmExtractor(CannedModel(), ToyEmbedder(), prompts=fixed_prompt(None))
    spec = find_spec(dedup_helpers.__name__)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def signature_of(module: ModuleType, name: str) -> tuple[int, ...]:
    shingles = _shingles(_normalize_name_for_fuzzy(name))
    signature: tuple[int, ...] = getattr(module, REPLACED)(shingles)
    return signature


@SHARED_FIXTURE
@given(NAMES)
def test_a_signature_equals_the_original(original: ModuleType, name: str) -> None:
    assert signature_of(dedup_helpers, name) == signature_of(original, name)


@SHARED_FIXTURE
@given(NAMES)
def test_the_forms_of_a_name_equal_the_original_also_when_they_are_cached(
    original: ModuleType, name: str
) -> None:
    for form in (*OF_NAMES, *OF_NAMES):
        assert getattr(dedup_helpers, form)(name) == getattr(original, form)(name)
    signature = signature_of(original, name)
    for _ in range(2):
        assert dedup_helpers._lsh_bands(signature) == vars(original)["_lsh_bands"](signature)  # noqa: SLF001


@SHARED_FIXTURE
@given(st.lists(NAMES, max_size=6))
def test_candidates_are_in_the_same_buckets(original: ModuleType, names: list[str]) -> None:
    nodes = [EntityNode(name=name or "x", group_id="shop") for name in names]
    expected = vars(original)["_build_candidate_indexes"](nodes)
    assert _build_candidate_indexes(nodes).lsh_buckets == expected.lsh_buckets


@pytest.mark.usefixtures("original")
@pytest.mark.parametrize("name", [REPLACED, *CACHED])
def test_graphiti_calls_the_replacement(name: str) -> None:
    used = _build_candidate_indexes.__globals__[name]
    assert used is getattr(dedup_helpers, name)
    is_replaced = used.__module__ != dedup_helpers.__name__
    assert is_replaced if name == REPLACED else hasattr(used, "cache_info")


@pytest.mark.usefixtures("original")
def test_a_second_extractor_replaces_nothing_again() -> None:
    before = [getattr(dedup_helpers, name) for name in (REPLACED, *CACHED)]
    LlmExtractor(CannedModel(), ToyEmbedder(), prompts=fixed_prompt(None))
    assert [getattr(dedup_helpers, name) for name in (REPLACED, *CACHED)] == before


def test_graphitis_function_has_not_changed(original: ModuleType) -> None:
    """If this fails, Graphiti has changed: review `dedup_helpers` before raising the pin."""
    assert ids.digest(inspect.getsource(getattr(original, REPLACED))) == SOURCE_DIGEST
    assert dedup_helpers._MINHASH_PERMUTATIONS == 32  # noqa: SLF001 - the replacement depends on it


SOURCE_DIGEST = "1b7fd7b21a380fee3a9d9da5374ed0bd"
