import json
from collections.abc import Callable, Mapping
from typing import Any, Literal

import pytest
from graphiti_core.prompts.dedupe_nodes import NodeResolutions
from graphiti_core.prompts.extract_edges import ExtractedEdges
from graphiti_core.prompts.extract_nodes import ExtractedEntities, SummarizedEntities
from pydantic import BaseModel, Field

from turnetl.llm.chat import response_schema
from turnetl.llm.providers import schemas

RESPONSE_MODELS = [ExtractedEntities, ExtractedEdges, NodeResolutions, SummarizedEntities]


@pytest.mark.parametrize("response_model", RESPONSE_MODELS)
def test_gemini_gets_no_references_and_no_null_type(response_model: type[BaseModel]) -> None:
    serialized = json.dumps(schemas.gemini(response_schema(response_model).json))
    for keyword in ("$ref", "$defs", "anyOf", '"null"', "title", "default"):
        assert keyword not in serialized


def test_an_optional_value_is_nullable() -> None:
    edge = schemas.gemini(response_schema(ExtractedEdges).json)["properties"]["edges"]["items"]
    assert edge["properties"]["valid_at"]["type"] == "string"
    assert edge["properties"]["valid_at"]["nullable"] is True
    assert "fact" in edge["required"]


class Part(BaseModel):
    size: int = Field(ge=1, le=9, description="of the part")
    state: Literal["new", "old"] = "new"


class Nested(BaseModel):
    """A type of an ontology, with every keyword in which dialects differ."""

    one: Part = Field(description="the one")
    many: list[Part] = Field(default_factory=list, max_length=3)
    name: str = Field(pattern="^[a-z]+$", min_length=1, max_length=9)
    either: str | int | None = None


@pytest.mark.parametrize("dialect", [schemas.strict, schemas.anthropic])
@pytest.mark.parametrize("response_model", [*RESPONSE_MODELS, Nested])
def test_a_strict_schema_requires_all_properties_and_allows_no_others(
    response_model: type[BaseModel], dialect: Callable[[Mapping[str, Any]], dict[str, Any]]
) -> None:
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

    schema = dialect(response_schema(response_model).json)
    assert "properties" in schema
    assert "$ref" not in json.dumps(schema)
    check(schema)


def test_unsupported_keywords_are_omitted() -> None:
    strict, anthropic = (
        json.dumps(dialect(response_schema(Nested).json))
        for dialect in (schemas.strict, schemas.anthropic)
    )
    for keyword in ('"default"', "minLength", "maxLength"):
        assert keyword not in strict
    for keyword in ('"default"', "minimum", "maximum", "maxItems", "pattern", "minLength"):
        assert keyword not in anthropic
    assert "minimum" in strict
    assert "pattern" in strict


def test_keywords_beside_a_reference_are_merged() -> None:
    one = schemas.strict(response_schema(Nested).json)["properties"]["one"]
    assert one["description"] == "the one"
    assert one["properties"]["size"]["description"] == "of the part"


def test_gemini_gets_the_order_of_the_properties() -> None:
    serialized = schemas.gemini(response_schema(Nested).json)
    assert serialized["propertyOrdering"] == ["one", "many", "name", "either"]
    assert serialized["properties"]["either"] == {
        "nullable": True,
        "anyOf": [{"type": "string"}, {"type": "integer"}],
    }
    assert serialized["properties"]["one"]["properties"]["state"]["enum"] == ["new", "old"]


def test_a_property_named_default_stays() -> None:
    schema = {"properties": {"default": {"type": "string", "default": "x"}}}
    assert schemas.strict(schema)["properties"] == {"default": {"type": "string"}}
