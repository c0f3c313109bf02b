"""Kinds of things and of facts that a model is told to look for, as a file says them.

Without fields: a kind with fields costs one more call for every thing of that kind.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pydantic import BaseModel, Field, create_model

from turnetl import ids
from turnetl.errors import BadUsage
from turnetl.extraction import ontology_lint
from turnetl.extraction.config import DEFAULT_ONTOLOGY
from turnetl.extraction.templates import TemplateResolver, built_in, text_of

Kinds = dict[str, type[BaseModel]]

FOLDER = "ontology"
"""Within the folders of templates."""


@dataclass(frozen=True)
class Ontology:
    """Names and what they mean, in the order in which the model reads them."""

    things: Mapping[str, str]
    facts: Mapping[str, str]
    fields: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Of a kind of things or facts, what a model is asked about each: name and meaning."""

    @property
    def digest(self) -> str:
        named = (("things", self.things), ("facts", self.facts), *sorted(self.fields.items()))
        parts = (
            part
            for name, meanings in named
            for part in (
                name,
                str(len(meanings)),
                *(word for pair in meanings.items() for word in pair),
            )
        )
        return ids.digest(*parts)

    @property
    def told(self) -> tuple[str, str]:
        """What stands of it in the prompt for entities, and in that for facts."""
        things = [
            {
                "entity_type_id": number,
                "entity_type_name": name,
                "entity_type_description": meaning,
            }
            for number, (name, meaning) in enumerate(self.things.items(), 1)
        ]
        facts = [
            {
                "fact_type_name": name,
                "fact_type_signatures": [["Entity", "Entity"]],
                "fact_type_description": meaning,
            }
            for name, meaning in self.facts.items()
        ]
        return (
            ", ".join(map(str, things)),
            json.dumps(facts, ensure_ascii=False) if facts else "",
        )

    @cached_property
    def entity_types(self) -> Kinds | None:
        """The kinds of things as Graphiti takes them."""
        return self._kinds(self.things)

    @cached_property
    def edge_types(self) -> Kinds | None:
        return self._kinds(self.facts)

    @cached_property
    def edge_type_map(self) -> dict[tuple[str, str], list[str]]:
        """Every kind of fact may join every kind of thing."""
        return {("Entity", "Entity"): list(self.facts)}

    def _kinds(self, meanings: Mapping[str, str]) -> Kinds | None:
        return {name: self._kind(name, line) for name, line in meanings.items()} or None

    def _kind(self, name: str, meaning: str) -> type[BaseModel]:
        asked = {
            one: (str | None, Field(default=None, description=line))
            for one, line in self.fields.get(name, {}).items()
        }
        kind: type[BaseModel] = create_model(name, __doc__=meaning, **asked)  # type: ignore[call-overload]  # its names are not known here
        return kind


NONE = Ontology({}, {})
"""Graphiti's own behaviour."""


def load(name: str | None, templates: TemplateResolver) -> Ontology:
    """Return the ontology of that name; for none, Graphiti's own behaviour.

    Raises:
        BadUsage: there is none of that name, or it cannot be used: a graph whose kinds are others
            than those that were meant would have to be made anew.
    """
    if name is None:
        return NONE
    places = templates.beside(FOLDER)
    path = places.find(name)
    if path is None:
        raise BadUsage(
            f"no ontology `{name}` in {places.places}; set `extraction.ontology` to one that is "
            "there, or to null"
        )
    text, wrong = text_of(path)
    if text is None:
        raise BadUsage(f"ontology `{path}` {wrong}")
    return read(text, path)


def read(text: str, origin: Path) -> Ontology:
    """Return what a file says.

    Args:
        text: TOML with the tables `things` and `facts`.
        origin: the file, for what is said of it.

    Raises:
        BadUsage: it cannot be used; says the first reason.
    """
    said = ontology_lint.read(text)
    for finding in said.findings:
        if finding.grade == "error":
            raise BadUsage(f"ontology `{origin}`: {finding.text}")
    return Ontology(said.things, said.facts, said.fields)


def _built_in() -> Ontology:
    path = built_in() / FOLDER / DEFAULT_ONTOLOGY
    return read(path.read_text("utf-8"), path)


CODING = _built_in()
"""The built-in one."""
