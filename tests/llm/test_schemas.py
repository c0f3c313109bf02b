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

FORMS = [ExtractedEntities, ExtractedEdges, NodeResolutions, SummarizedEntities]


@pytest.mark.parametrize("form", FORMS)
def test_gemini_gets_no_references_and_no_null_type(form: type[BaseModel]) -> None:
    written = json.dumps(schemas.gemini(response_schema(form).json))
    for unknown in ("$ref", "$defs", "anyOf", '"null"', "title", "default"):
        assert unknown not in written


def test_an_optional_value_is_nullable() -> None:
    edge = schemas.gemini(response_schema(ExtractedEdges).json)["properties"]["edges"]["items"]
    assert edge["properties"]["valid_at"]["type"] == "string"
    assert edge["properties"]["valid_at"]["nullable"] is True
    assert "fact" in edge["required"]


class Part(BaseModel):
    size: int = Field(ge=1, le=9, description="of the part")
    state: Literal["new", "old"] = "new"


class Nested(BaseModel):
    """A kind of thing as a person may write it, with all that dialects differ in."""

    one: Part = Field(description="the one")
    many: list[Part] = Field(default_factory=list, max_length=3)
    name: str = Field(pattern="^[a-z]+$", min_length=1, max_length=9)
    either: str | int | None = None


@pytest.mark.parametrize("dialect", [schemas.strict, schemas.anthropic])
@pytest.mark.parametrize("form", [*FORMS, Nested])
def test_a_strict_schema_requires_all_properties_and_allows_no_others(
    form: type[BaseModel], dialect: Callable[[Mapping[str, Any]], dict[str, Any]]
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

    closed = dialect(response_schema(form).json)
    assert "properties" in closed
    assert "$ref" not in json.dumps(closed)
    check(closed)


def test_unsupported_keywords_are_omitted() -> None:
    strict, anthropic = (
        json.dumps(dialect(response_schema(Nested).json))
        for dialect in (schemas.strict, schemas.anthropic)
    )
    for unknown in ('"default"', "minLength", "maxLength"):
        assert unknown not in strict
    for unknown in ('"default"', "minimum", "maximum", "maxItems", "pattern", "minLength"):
        assert unknown not in anthropic
    assert "minimum" in strict
    assert "pattern" in strict


def test_keywords_beside_a_reference_are_merged() -> None:
    one = schemas.strict(response_schema(Nested).json)["properties"]["one"]
    assert one["description"] == "the one"
    assert one["properties"]["size"]["description"] == "of the part"


def test_gemini_gets_the_order_of_the_properties() -> None:
    written = schemas.gemini(response_schema(Nested).json)
    assert written["propertyOrdering"] == ["one", "many", "name", "either"]
    assert written["properties"]["either"] == {
        "nullable": True,
        "anyOf": [{"type": "string"}, {"type": "integer"}],
    }
    assert written["properties"]["one"]["properties"]["state"]["enum"] == ["new", "old"]


def test_a_property_named_default_stays() -> None:
    schema = {"properties": {"default": {"type": "string", "default": "x"}}}
    assert schemas.strict(schema)["properties"] == {"default": {"type": "string"}}
