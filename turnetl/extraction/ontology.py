"""The ontology: entity types and relations that the model is asked to extract, from a file.

The built-in one has no fields: a type with fields costs one more request for each entity or fact
of that type.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pydantic import BaseModel, Field, create_model

from turnetl.base import ids
from turnetl.base.errors import BadUsage
from turnetl.extraction import ontology_lint
from turnetl.extraction.config import DEFAULT_ONTOLOGY
from turnetl.extraction.templates import TemplateResolver, built_in_folder

TypeModels = dict[str, type[BaseModel]]

ONTOLOGY_FOLDER = "ontology"
"""Subfolder of the template folders."""


@dataclass(frozen=True)
class Ontology:
    """Entity types and relations, by name, each with its meaning, in the order of the prompts."""

    entities: Mapping[str, str]
    relations: Mapping[str, str]
    fields: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By entity type or relation: the attributes that the model fills, name and meaning."""

    @property
    def digest(self) -> str:
        tables = (
            ("entities", self.entities),
            ("relations", self.relations),
            *sorted(self.fields.items()),
        )
        parts = (
            part
            for name, meanings in tables
            for part in (
                name,
                str(len(meanings)),
                *(text for pair in meanings.items() for text in pair),
            )
        )
        return ids.digest(*parts)

    @property
    def prompt_texts(self) -> tuple[str, str]:
        """The text in the prompt for entities, and the text in the prompt for facts."""
        entities = [
            {
                "entity_type_id": number,
                "entity_type_name": name,
                "entity_type_description": meaning,
            }
            for number, (name, meaning) in enumerate(self.entities.items(), 1)
        ]
        relations = [
            {
                "fact_type_name": name,
                "fact_type_signatures": [["Entity", "Entity"]],
                "fact_type_description": meaning,
            }
            for name, meaning in self.relations.items()
        ]
        return (
            ", ".join(map(str, entities)),
            json.dumps(relations, ensure_ascii=False) if relations else "",
        )

    @cached_property
    def entity_types(self) -> TypeModels | None:
        """The entity types in the form that Graphiti takes."""
        return self._models(self.entities)

    @cached_property
    def edge_types(self) -> TypeModels | None:
        """The relations in the form that Graphiti takes."""
        return self._models(self.relations)

    @cached_property
    def edge_type_map(self) -> dict[tuple[str, str], list[str]]:
        """Every relation may connect every entity type."""
        return {("Entity", "Entity"): list(self.relations)}

    def _models(self, meanings: Mapping[str, str]) -> TypeModels | None:
        return {name: self._model(name, meaning) for name, meaning in meanings.items()} or None

    def _model(self, name: str, meaning: str) -> type[BaseModel]:
        fields = {
            field_name: (str | None, Field(default=None, description=description))
            for field_name, description in self.fields.get(name, {}).items()
        }
        model: type[BaseModel] = create_model(name, __doc__=meaning, **fields)  # type: ignore[call-overload]  # mypy does not know the field names
        return model


NO_ONTOLOGY = Ontology({}, {})
"""Graphiti's own behaviour."""


def load(name: str | None, templates: TemplateResolver) -> Ontology:
    """Return the ontology of this name; for None, Graphiti's own behaviour.

    Raises:
        BadUsage: no file has this name, or it is invalid. It is not ignored, because a graph with
            other types than intended would have to be rebuilt.
    """
    if name is None:
        return NO_ONTOLOGY
    resolver = templates.subfolder(ONTOLOGY_FOLDER)
    path = resolver.find(name)
    if path is None:
        raise BadUsage(
            f"no ontology `{name}` in {resolver.folder_list}; set `extraction.ontology` to a file "
            "that exists, or to null"
        )
    text, problem = resolver.read_text(path)
    if text is None:
        raise BadUsage(f"ontology `{path}` {problem}")
    return parse(text, path)


def parse(text: str, path: Path) -> Ontology:
    """Parse an ontology file.

    Args:
        text: TOML with the tables `entities` and `relations`.
        path: the file, for messages.

    Raises:
        BadUsage: the file is invalid; the message names the first error.
    """
    parsed = ontology_lint.lint(text)
    for diagnostic in parsed.diagnostics:
        if diagnostic.severity == "error":
            raise BadUsage(f"ontology `{path}`: {diagnostic.message}")
    return Ontology(parsed.entities, parsed.relations, parsed.fields)


def _built_in() -> Ontology:
    path = built_in_folder() / ONTOLOGY_FOLDER / DEFAULT_ONTOLOGY
    return parse(path.read_text("utf-8"), path)


CODING = _built_in()
"""The built-in ontology."""
