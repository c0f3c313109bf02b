import json

import pytest
from graphiti_core.prompts.dedupe_nodes import NodeResolutions
from graphiti_core.prompts.extract_edges import ExtractedEdges
from graphiti_core.prompts.extract_nodes import ExtractedEntities, SummarizedEntities
from pydantic import BaseModel

from turnetl.llm import schemas

FORMS = [ExtractedEntities, ExtractedEdges, NodeResolutions, SummarizedEntities]


@pytest.mark.parametrize("form", FORMS)
def test_gemini_gets_no_references_and_no_null_type(form: type[BaseModel]) -> None:
    written = json.dumps(schemas.openapi(schemas.of(form).json))
    for unknown in ("$ref", "$defs", "anyOf", '"null"', "title", "default"):
        assert unknown not in written


def test_an_optional_value_is_a_nullable_one() -> None:
    edge = schemas.openapi(schemas.of(ExtractedEdges).json)["properties"]["edges"]["items"]
    assert edge["properties"]["valid_at"]["type"] == "string"
    assert edge["properties"]["valid_at"]["nullable"] is True
    assert "fact" in edge["required"]


@pytest.mark.parametrize("form", FORMS)
def test_strict_requires_all_and_allows_nothing_else(form: type[BaseModel]) -> None:
    def check(part: object) -> None:
        if isinstance(part, list):
            for item in part:
                check(item)
        elif isinstance(part, dict):
            if "properties" in part:
                assert part["required"] == list(part["properties"])
                assert part["additionalProperties"] is False
            for value in part.values():
                check(value)

    strict = schemas.strict(schemas.of(form).json)
    assert "properties" in strict
    check(strict)


def test_a_property_called_default_stays() -> None:
    schema = {"properties": {"default": {"type": "string", "default": "x"}}}
    assert schemas.strict(schema)["properties"] == {"default": {"type": "string"}}
