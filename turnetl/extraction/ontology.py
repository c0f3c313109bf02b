"""Kinds of things and of facts that a model is told to look for.

Without fields: a kind with fields costs one more call for every thing of that kind.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from pydantic import BaseModel, create_model

from turnetl import ids

Kinds = dict[str, type[BaseModel]]


@dataclass(frozen=True)
class Ontology:
    """Names and what they mean, in the order in which the model reads them."""

    things: Mapping[str, str]
    facts: Mapping[str, str]

    @property
    def digest(self) -> str:
        pairs = [*self.things.items(), ("", ""), *self.facts.items()]
        return ids.digest(*(part for pair in pairs for part in pair))

    @cached_property
    def entity_types(self) -> Kinds | None:
        """The kinds of things as Graphiti takes them."""
        return _kinds(self.things)

    @cached_property
    def edge_types(self) -> Kinds | None:
        return _kinds(self.facts)

    @cached_property
    def edge_type_map(self) -> dict[tuple[str, str], list[str]]:
        """Every kind of fact may join every kind of thing."""
        return {("Entity", "Entity"): list(self.facts)}


NONE = Ontology({}, {})
"""Graphiti's own behaviour."""

CODING = Ontology(
    things={
        "File": "A source, configuration or document file, named by its path in the project.",
        "Tool": "A program, service or agent's tool that is used to get something done.",
        "Command": "A command line worth naming again, without arguments that change every time.",
        "Error": "An error type, exception or failure, named so that it differs from others.",
        "Decision": "A choice that was made, named so that it can be understood alone.",
        "Concept": "A component, feature, technique or pattern of the project.",
        "Package": "A library or dependency, by the name it is installed under.",
    },
    facts={
        "MODIFIED": "Someone or something created, changed, renamed or deleted a file.",
        "USED_FOR": "A tool, command or package was used for a purpose, and how that went.",
        "FAILED_WITH": "A command, test, file or attempt failed with an error.",
        "CAUSED_BY": "An error or behaviour has this cause.",
        "RESOLVED_BY": "An error or problem was resolved by a change, command or decision.",
        "DECIDED": "A choice was made, with its reason and what was turned down.",
        "DEPENDS_ON": "One part, file or package needs another.",
    },
)


def _kinds(meanings: Mapping[str, str]) -> Kinds | None:
    return {name: create_model(name, __doc__=line) for name, line in meanings.items()} or None
