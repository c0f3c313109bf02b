"""The ontology: entity types and relations that the model is asked to extract, from a file.

The built-in one has no fields: a type with fields costs one more request for each entity or fact
of that type.
"""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import astuple, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, create_model

from turnetl.base import ids
from turnetl.base.errors import BadUsage
from turnetl.base.results import described
from turnetl.extraction.config import DEFAULT_ONTOLOGY
from turnetl.extraction.templates import TemplateResolver, built_in_folder


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A diagnostic of a template or an ontology."""

    severity: Annotated[
        Literal["error", "warning"],
        described("`error`: the file is not used, or not as intended."),
    ]
    message: Annotated[str, described("What is wrong with the file.")]
    """Worded so that it can follow the file name."""


def error_diagnostic(message: str) -> Diagnostic:
    return Diagnostic("error", message)


def warning_diagnostic(message: str) -> Diagnostic:
    return Diagnostic("warning", message)


RESERVED_FIELDS = frozenset(
    {
        *("uuid", "name", "group_id", "labels", "created_at", "name_embedding", "summary"),
        *("attributes", "source_node_uuid", "target_node_uuid", "fact", "fact_embedding"),
        *("episodes", "expired_at", "valid_at", "invalid_at", "reference_time"),
    }
)
"""Fields of Graphiti's own nodes and edges: an ontology field of that name fails every turn."""
RESERVED_LABELS = frozenset(
    {"Entity", "Episodic", "Community", "Saga", "TurnCommit", "TurnGroup", "TurnMigration"}
    | {"TurnRecipe", "TurnRun"}
)
"""Labels that the graph uses for other nodes."""
MAX_NAME_LENGTH = 60
"""Characters of a name, which every response repeats."""
MAX_MEANING_LENGTH, LONG_MEANING = 500, 200
"""Characters of a meaning: above the first there is an error, above the second a warning."""
MAX_TYPES = 25
"""Entity types, or relations, that a model can be expected to tell apart."""

GENERIC = "RELATES_TO"
"""Graphiti's name of a relation that is none of the declared ones."""
QUOTING = re.compile(
    r"(?:answer|ask|describ|discuss|explain|mention|propos|request|said|say|stat|suggest|told)"
    r"(?:e|s|es|ed)?(?:_|$)",
    re.IGNORECASE,
)
"""Begins the name of a relation that only says who said what: the turn's text says it better."""
_TABLES = ("entities", "relations")
_KEYS = {
    "entities": ("meaning", "fields"),
    "relations": ("meaning", "fields", "from", "to", "also"),
}
_FORM = '`Name = "meaning"`, or a table with `meaning` and `fields`'


@dataclass(frozen=True, slots=True)
class ParsedOntology:
    """The content of a file as far as it could be parsed, and all its problems."""

    ontology: "Ontology"
    diagnostics: tuple[Diagnostic, ...]


def lint_ontology(text: str) -> ParsedOntology:
    """Parse a file and collect its problems; text that is not TOML has one error, no content."""
    try:
        tables = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as invalid:
        reason = (str(invalid).splitlines() or [""])[0]
        return ParsedOntology(NO_ONTOLOGY, (error_diagnostic(f"is not TOML: {reason}"),))
    types = {name: table if isinstance(table := tables.get(name), dict) else {} for name in _TABLES}
    entities, relations = (
        {name: _meaning(definition) for name, definition in types[table].items()}
        for table in _TABLES
    )
    definitions = {**types["entities"], **types["relations"]}
    fields = {name: own for name, definition in definitions.items() if (own := _fields(definition))}
    signatures = {
        name: Signature(*(_names(definition, key) for key in ("from", "to", "also")))
        for name, definition in types["relations"].items()
        if isinstance(definition, dict) and not {"from", "to", "also"}.isdisjoint(definition)
    }
    ontology = Ontology(entities, relations, fields, signatures)
    return ParsedOntology(ontology, tuple(_diagnostics(tables, types)))


def _meaning(definition: Any) -> str:
    meaning = definition.get("meaning") if isinstance(definition, dict) else definition
    return meaning.strip() if isinstance(meaning, str) else ""


def _fields(definition: Any) -> Mapping[str, str]:
    fields = definition.get("fields") if isinstance(definition, dict) else None
    if not isinstance(fields, dict):
        return {}
    return {name: meaning for name, meaning in fields.items() if isinstance(meaning, str)}


def _names(definition: Mapping[str, Any], key: str) -> tuple[str, ...]:
    names = definition.get(key, [])
    return tuple(map(str, names)) if isinstance(names, list) else ()


def _diagnostics(
    tables: Mapping[str, Any], types: Mapping[str, Mapping[str, Any]]
) -> Iterator[Diagnostic]:
    for name, table in tables.items():
        if name not in _TABLES:
            yield error_diagnostic(
                f"unknown table `{name}`; known tables are [entities] and [relations]"
            )
        elif not isinstance(table, dict):
            yield error_diagnostic(f"`{name}` must be a table of {_FORM}")
    if not any(types.values()):
        yield error_diagnostic(
            "has neither an entity type nor a relation; for Graphiti's own behaviour set "
            "`ontology` to null"
        )
    for table, definitions in types.items():
        for name, definition in definitions.items():
            yield from _lint_type(table, name, definition)
            yield from _lint_signature(f"`{table}.{name}`", definition, types)
        if len(definitions) > MAX_TYPES:
            yield warning_diagnostic(
                f"[{table}] has {len(definitions)} entries; a model tells about {MAX_TYPES} apart"
            )
    yield from _duplicates(types)


def _lint_type(table: str, name: str, definition: Any) -> Iterator[Diagnostic]:
    where = f"`{table}.{name}`"
    if not (name.isascii() and name.isidentifier()):
        yield error_diagnostic(
            f"{where}: a name consists of letters, digits and underscores and does not start with "
            "a digit"
        )
    if len(name) > MAX_NAME_LENGTH:
        yield error_diagnostic(
            f"{where[:MAX_NAME_LENGTH]}...: a name has at most {MAX_NAME_LENGTH} characters"
        )
    if name in RESERVED_LABELS or name.upper() == "ENTITY":
        yield error_diagnostic(
            f"{where}: the graph uses this name for something else; choose another"
        )
    if table == "relations" and name != name.upper():
        yield warning_diagnostic(
            f"{where}: write relations in capitals, as a model writes those it adds itself"
        )
    if not isinstance(definition, str | dict):
        yield error_diagnostic(f"{where} must be {_FORM}")
        return
    if isinstance(definition, dict):
        yield from _lint_table(where, name, definition, _KEYS[table])
    meaning = _meaning(definition)
    if not meaning:
        yield error_diagnostic(f"{where} has no meaning; describe it in one sentence")
    yield from _lint_length(where, meaning)


def _lint_signature(
    where: str, definition: Any, types: Mapping[str, Mapping[str, Any]]
) -> Iterator[Diagnostic]:
    for key in ("from", "to", "also") if isinstance(definition, dict) else ():
        names = definition.get(key, [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            yield error_diagnostic(f"{where}: `{key}` must be a list of names")
        elif key == "also":
            if taken := sorted(set(names) & types["relations"].keys()):
                yield error_diagnostic(f"{where}: `{taken[0]}` is a relation itself")
        elif unknown := [name for name in names if name not in types["entities"]]:
            yield error_diagnostic(f"{where}: `{unknown[0]}` is no entity type of the file")


def _lint_table(
    where: str, name: str, definition: Mapping[str, Any], keys: Collection[str]
) -> Iterator[Diagnostic]:
    for key in definition:
        if key not in keys:
            known = f"{', '.join([*keys][:-1])} and {[*keys][-1]}"
            yield error_diagnostic(f"{where}: unknown key `{key}`; known keys are {known}")
    fields = definition.get("fields", {})
    if not isinstance(fields, dict):
        yield error_diagnostic(f'{where}: `fields` must be a table of `name = "meaning"`')
        return
    for field_name, meaning in fields.items():
        yield from _lint_field(where, field_name, meaning)
    if fields:
        yield warning_diagnostic(
            f"{where} has fields: each {name} of each turn costs one more request"
        )


def _lint_field(where: str, field: str, meaning: Any) -> Iterator[Diagnostic]:
    if field in RESERVED_FIELDS:
        yield error_diagnostic(
            f"{where}: Graphiti has its own `{field}`; choose another name for the field"
        )
    elif not (field.isascii() and field.isidentifier()) or field.startswith("_"):
        yield error_diagnostic(
            f"{where}: field `{field}`: a name consists of letters, digits and underscores and "
            "starts with a letter"
        )
    elif field.startswith("model_") or hasattr(BaseModel, field):
        yield error_diagnostic(
            f"{where}: pydantic reserves the field name `{field}`; choose another"
        )
    if not isinstance(meaning, str) or not meaning.strip():
        yield error_diagnostic(f"{where}: field `{field}` has no meaning; describe it")
    else:
        yield from _lint_length(f"{where}: field `{field}`", meaning)


def _lint_length(where: str, text: str) -> Iterator[Diagnostic]:
    problem = f"{where} has {len(text):,} characters, which are part of a prompt of every turn"
    if len(text) > MAX_MEANING_LENGTH:
        yield error_diagnostic(f"{problem}; use at most {MAX_MEANING_LENGTH}")
    elif len(text) > LONG_MEANING:
        yield warning_diagnostic(f"{problem}; {LONG_MEANING} are enough")


def _duplicates(types: Mapping[str, Mapping[str, Any]]) -> Iterator[Diagnostic]:
    """Yield an error for names that differ in case only, a warning for identical meanings."""
    names = [name for definitions in types.values() for name in definitions]
    for lower, count in Counter(name.lower() for name in names).items():
        if count > 1:
            same = "`, `".join(name for name in names if name.lower() == lower)
            yield error_diagnostic(f"`{same}` are the same name to a model; rename all but one")
    meanings = [
        _meaning(definition).lower()
        for definitions in types.values()
        for definition in definitions.values()
    ]
    for meaning, count in Counter(meaning for meaning in meanings if meaning).items():
        if count > 1:
            yield warning_diagnostic(f"{count} types have the same meaning: {meaning[:60]}")


TypeModels = dict[str, type[BaseModel]]

ONTOLOGY_FOLDER = "ontology"
"""Subfolder of the template folders."""


@dataclass(frozen=True, slots=True)
class Signature:
    """The entity types that a relation joins, and other names that a model may give it."""

    sources: tuple[str, ...] = ()
    """Empty: of any type."""
    targets: tuple[str, ...] = ()
    also: tuple[str, ...] = ()

    def joins(self, sources: Collection[str], targets: Collection[str]) -> bool:
        """Return whether the relation may join entities with these labels."""
        return all(
            not wanted or not set(wanted).isdisjoint(labels)
            for wanted, labels in ((self.sources, sources), (self.targets, targets))
        )


@dataclass(frozen=True)
class Ontology:
    """Entity types and relations, by name, each with its meaning, in the order of the prompts."""

    entities: Mapping[str, str]
    relations: Mapping[str, str]
    fields: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By entity type or relation: the attributes that the model fills, name and meaning."""
    signatures: Mapping[str, Signature] = field(default_factory=dict)
    """By relation. Without any, a model's relations stay as it names them."""

    @property
    def digest(self) -> str:
        tables = (("entities", self.entities), ("relations", self.relations))
        parts: list[str] = []
        for name, meanings in (*tables, *sorted(self.fields.items())):
            parts += [name, str(len(meanings))]
            parts += [text for pair in meanings.items() for text in pair]
        for name, signature in self.signatures.items():
            parts += [name, str(astuple(signature))]
        return ids.digest(*parts)

    def fit(
        self, relation: str, sources: Collection[str], targets: Collection[str]
    ) -> tuple[str, bool]:
        """Return the relation of a model's fact, and whether the fact runs the other way.

        It is the declared relation of that name, or that has it among its other names, if it joins
        entities with these labels in one of the directions, else `GENERIC`.
        """
        if not self.signatures:
            return relation, False
        name = relation.strip().upper()
        name = self._names_of.get(name, name)
        if name in self.relations:
            signature = self.signatures.get(name, Signature())
            if signature.joins(sources, targets):
                return name, False
            if signature.joins(targets, sources):
                return name, True
        return GENERIC, False

    @cached_property
    def _names_of(self) -> Mapping[str, str]:
        return {also: name for name, one in self.signatures.items() for also in one.also}

    @property
    def prompt_texts(self) -> tuple[str, str]:
        """The text in the prompt for entities, and the text in the prompt for facts."""
        entities = [
            {"entity_type_id": number, "entity_type_name": name, "entity_type_description": meaning}
            for number, (name, meaning) in enumerate(self.entities.items(), 1)
        ]
        relations = [
            {
                "fact_type_name": name,
                "fact_type_signatures": [
                    list(pair) for pair, names in self.edge_type_map.items() if name in names
                ],
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
        """The relations that may join two types, `Entity` for any, in the form of Graphiti."""
        joined: dict[tuple[str, str], list[str]] = {}
        for name in self.relations:
            signature = self.signatures.get(name, Signature())
            for source in signature.sources or ("Entity",):
                for target in signature.targets or ("Entity",):
                    joined.setdefault((source, target), []).append(name)
        return joined or {("Entity", "Entity"): []}

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

    A missing or invalid file is not ignored: a graph with other types than intended would have to
    be rebuilt.
    """
    if name is None:
        return NO_ONTOLOGY
    resolver = templates.subfolder(ONTOLOGY_FOLDER)
    path = resolver.find(name)
    if path is None:
        remedy = "; set `extraction.ontology` to a file that exists, or to null"
        raise BadUsage(resolver.missing("ontology", name, remedy))
    text, problem = resolver.read_text(path)
    if text is None:
        raise BadUsage(f"ontology `{path}` {problem}")
    return parse(text, path)


def parse(text: str, path: Path) -> Ontology:
    """Parse an ontology file; BadUsage names the first error."""
    parsed = lint_ontology(text)
    for diagnostic in parsed.diagnostics:
        if diagnostic.severity == "error":
            raise BadUsage(f"ontology `{path}`: {diagnostic.message}")
    return parsed.ontology


def _built_in() -> Ontology:
    path = built_in_folder() / ONTOLOGY_FOLDER / DEFAULT_ONTOLOGY
    return parse(path.read_text("utf-8"), path)


CODING = _built_in()
"""The built-in ontology."""
