"""Ontology files: parsing, and the diagnostics for invalid ones."""

from pathlib import Path

import pytest
from graphiti_core.edges import EntityEdge
from graphiti_core.nodes import EntityNode
from graphiti_core.prompts import prompt_library
from graphiti_core.utils.maintenance.node_operations import _build_entity_types_context
from graphiti_core.utils.ontology_utils.entity_types_utils import validate_entity_types

from turnetl.base.errors import BadUsage
from turnetl.base.relations import CHANGES, DECISIONS, PROBLEMS
from turnetl.extraction import ontology
from turnetl.extraction.ontology import (
    CODING,
    NO_ONTOLOGY,
    ONTOLOGY_FOLDER,
    Diagnostic,
    Ontology,
    Signature,
)
from turnetl.extraction.templates import (
    TEMPLATES_FOLDER,
    TemplateResolver,
    built_in_folder,
    search_folders,
)

PATH = Path("folder/own.toml")
CUSTOM = """
[entities]
Recipe = "A dish, by its name."

[entities.Oven]
meaning = "What a dish is baked in."
fields = { heat = "In degrees." }

[relations]
NEEDS = "A dish needs this."
"""
SIGNED = "[entities]\nFile = 'x'\n[relations]\nOTHER = 'y'\n[relations.OWN]\nmeaning = 'z'\n{}"


def diagnostics(text: str) -> list[Diagnostic]:
    return list(ontology.lint_ontology(text).diagnostics)


def errors(text: str) -> list[str]:
    return [
        diagnostic.message for diagnostic in diagnostics(text) if diagnostic.severity == "error"
    ]


def warnings(text: str) -> list[str]:
    return [
        diagnostic.message for diagnostic in diagnostics(text) if diagnostic.severity == "warning"
    ]


def test_the_built_in_ontology_covers_work_on_code_and_has_no_problems() -> None:
    files = ("Symbol", "Test", "Setting", "File")
    edits = dict.fromkeys(("CHANGED", "ADDED", "DELETED", "RENAMED"), (("File",), files))
    assert {name: (one.sources, one.targets) for name, one in CODING.signatures.items()} == {
        **edits,
        "FAILED_WITH": (("Command", "Test"), ("Error",)),
        "FIXED_BY": (("Error", "Test"), ("File", "Symbol")),
        "CAUSED_BY": (("Error", "Test"), files),
        "DECIDED": (("Decision",), ()),
        "REJECTED": (("Decision",), ()),
        "PREFERS": (("User",), ("Preference",)),
        "COMMITTED": (("Commit", "PR"), ("File", "Ticket", "Branch")),
        "DEPENDS_ON": (("Package", "File"), ("Package",)),
        "REPORTED": (("User",), ("Error",)),
        "SUPERSEDES": (("Decision",), ("Decision",)),
    }
    grouped = CHANGES | PROBLEMS | DECISIONS | {"FIXED_BY", "DEPENDS_ON"}
    assert set(CODING.relations) == grouped - {"MODIFIED", "CREATED"}
    assert CODING.fields == {}
    path = built_in_folder() / ONTOLOGY_FOLDER / "coding.toml"
    assert diagnostics(path.read_text("utf-8")) == []


def test_a_file_defines_types_in_its_order_with_their_fields() -> None:
    parsed = ontology.parse(CUSTOM, PATH)
    assert list(parsed.entities.items()) == [
        ("Recipe", "A dish, by its name."),
        ("Oven", "What a dish is baked in."),
    ]
    assert parsed.relations == {"NEEDS": "A dish needs this."}
    assert parsed.fields == {"Oven": {"heat": "In degrees."}}


def test_graphiti_accepts_types_with_and_without_fields() -> None:
    parsed = ontology.parse(CUSTOM, PATH)
    assert parsed.entity_types is not None
    assert parsed.edge_types is not None
    assert validate_entity_types(parsed.entity_types)
    oven = parsed.entity_types["Oven"]
    assert oven.model_fields["heat"].description == "In degrees."
    assert oven().model_dump() == {"heat": None}
    assert parsed.entity_types["Recipe"].model_fields == {}
    assert parsed.edge_type_map == {("Entity", "Entity"): ["NEEDS"]}


def test_a_models_relation_is_the_declared_one_that_fits_or_the_generic_one() -> None:
    file, error, symbol = ["File", "Entity"], ["Error"], ["Symbol"]
    assert CODING.fit("CHANGED", file, symbol) == ("CHANGED", False)
    assert CODING.fit("modified", symbol, file) == ("CHANGED", True)
    assert CODING.fit("RESOLVED_BY", error, file) == ("FIXED_BY", False)
    assert CODING.fit("DECIDED", ["Decision"], []) == ("DECIDED", False)
    assert CODING.fit("FIXED_BY", ["Concept"], file) == ("RELATES_TO", False)
    assert CODING.fit("WAS_SEEN_NEAR", file, symbol) == ("RELATES_TO", False)
    unsigned = Ontology({}, {"NEEDS": "x"})
    assert unsigned.fit("Was_Seen_Near", file, symbol) == ("Was_Seen_Near", False)


def test_no_ontology_is_graphitis_own_behaviour() -> None:
    assert ontology.load(None, TemplateResolver([])) is NO_ONTOLOGY
    assert (NO_ONTOLOGY.entity_types, NO_ONTOLOGY.edge_types) == (None, None)


def test_the_projects_file_wins_over_the_users_and_that_over_the_built_in_one(
    tmp_path: Path,
) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    templates = TemplateResolver(search_folders(project, home))
    assert ontology.load("coding.toml", templates) == CODING
    for root, name in ((home, "User"), (project, "Project")):
        folder = root / TEMPLATES_FOLDER / ONTOLOGY_FOLDER
        folder.mkdir(parents=True)
        (folder / "coding.toml").write_text(f'[entities]\n{name}Entity = "An entity."\n')
        assert list(ontology.load("coding.toml", templates).entities) == [f"{name}Entity"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "no ontology `own.toml`"),
        (b" \n", "is empty"),
        (b"\xff\xfe", "is not UTF-8 text"),
        (b"[entities\n", "is not TOML"),
        (b"[entities]\nEntity = 'x'\n", "the graph uses this name"),
    ],
)
def test_an_invalid_ontology_is_rejected_with_its_folder(
    data: bytes | None, message: str, tmp_path: Path
) -> None:
    folder = tmp_path / ONTOLOGY_FOLDER
    folder.mkdir()
    if data is not None:
        (folder / "own.toml").write_bytes(data)
    with pytest.raises(BadUsage, match="ontology") as raised:
        ontology.load("own.toml", TemplateResolver([tmp_path]))
    assert message in str(raised.value)
    assert str(folder) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_an_invalid_entry_is_an_error_with_its_name(subtests: pytest.Subtests) -> None:
    for text, message in [
        (
            "[thing]\nFile = 'x'",
            "unknown table `thing`; known tables are [entities] and [relations]",
        ),
        ("entities = 'File'", "`entities` must be a table"),
        ("# nothing", "has neither an entity type nor a relation"),
        ("[entities]\nFile = 7", "`entities.File` must be"),
        ("[entities]\nFile = ' '", "`entities.File` has no meaning"),
        ("[entities.File]\nfields = {}", "`entities.File` has no meaning"),
        ("[entities]\n'Source File' = 'x'", "letters, digits and underscores"),
        ("[entities]\n2nd = 'x'", "does not start with a digit"),
        ("[entities]\nTurnCommit = 'x'", "the graph uses this name"),
        ("[relations]\nENTITY = 'x'", "the graph uses this name"),
        ("[entities]\nFile = 'x'\n[relations]\nFILE = 'y'", "`File`, `FILE` are the same name"),
        ("[entities]\nFile = 'x'\nFile = 'y'", "is not TOML"),
        (f"[entities]\nFile = '{'x' * 501}'", "501 characters"),
        ("[entities.File]\nmeaning = 'x'\nfield = {}", "unknown key `field`"),
        (SIGNED.format("from = ['Fiel']"), "`Fiel` is no entity type of the file"),
        (SIGNED.format("to = 'File'"), "`to` must be a list of names"),
        (SIGNED.format("also = ['OTHER']"), "`OTHER` is a relation itself"),
        ("[entities.File]\nmeaning = 'x'\nto = ['File']", "unknown key `to`"),
        ("[entities.File]\nmeaning = 'x'\nfields = 'path'", "`fields` must be a table"),
        ("[entities.File]\nmeaning = 'x'\nfields = {'a b' = 'x'}", "field `a b`"),
        ("[entities.File]\nmeaning = 'x'\nfields = {_a = 'x'}", "starts with a letter"),
        (
            "[entities.File]\nmeaning = 'x'\nfields = {model_x = 'x'}",
            "pydantic reserves the field name `model_x`",
        ),
        ("[entities.File]\nmeaning = 'x'\nfields = {copy = 'x'}", "reserves the field name `copy`"),
        (f"[entities]\n{'F' * 61} = 'x'", "a name has at most 60 characters"),
        ("[entities.File]\nmeaning = 'x'\nfields = {path = ''}", "field `path` has no meaning"),
        (f"[entities.File]\nmeaning = 'x'\nfields = {{a = '{'x' * 501}'}}", "501 characters"),
    ]:
        with subtests.test(text=text):
            assert [error for error in errors(text) if message in error]
            with pytest.raises(BadUsage, match=r"folder/own\.toml"):
                ontology.parse(text, PATH)


def test_no_field_may_have_the_name_of_a_graphiti_field(subtests: pytest.Subtests) -> None:
    for name in [*EntityNode.model_fields, *EntityEdge.model_fields]:
        with subtests.test(name=name):
            assert name in ontology.RESERVED_FIELDS
            assert errors(f"[entities.File]\nmeaning = 'x'\nfields = {{{name} = 'x'}}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CUSTOM, "each Oven of each turn costs one more request"),
        (f"[entities]\nFile = '{'x' * 201}'", "200 are enough"),
        ("[entities]\nFile = 'It.'\nPath = 'it.'", "2 types have the same meaning"),
        ("[relations]\nneeds = 'x'", "in capitals"),
        ("[entities]\n" + "\n".join(f"T{n} = 'x{n}'" for n in range(26)), "has 26 entries"),
    ],
)
def test_an_entry_that_can_be_improved_has_a_warning_and_is_used(text: str, message: str) -> None:
    assert [warning for warning in warnings(text) if message in warning]
    assert ontology.parse(text, PATH).digest


def test_every_difference_changes_the_digest() -> None:
    ontologies = [
        Ontology({}, {}),
        Ontology({"A": "x"}, {}),
        Ontology({}, {"A": "x"}),
        Ontology({"A": "y"}, {}),
        Ontology({"A": "x", "B": "y"}, {}),
        Ontology({"B": "y", "A": "x"}, {}),
        Ontology({"A": "x"}, {}, {"A": {"b": "y"}}),
        Ontology({"A": "x"}, {}, {"A": {"b": "z"}}),
        Ontology({}, {"A": "x"}, {}, {"A": Signature(("B",))}),
        Ontology({}, {"A": "x"}, {}, {"A": Signature((), ("B",))}),
        Ontology({}, {"A": "x"}, {}, {"A": Signature(also=("B",))}),
    ]
    assert len({ontology.digest for ontology in ontologies}) == len(ontologies)
    assert (
        ontology.parse(CUSTOM, PATH).digest
        == ontology.parse(f"# A comment.\n{CUSTOM}", PATH).digest
    )


def test_a_byte_order_mark_and_crlf_line_endings_are_accepted(tmp_path: Path) -> None:
    (tmp_path / ONTOLOGY_FOLDER).mkdir()
    data = b"\xef\xbb\xbf" + CUSTOM.replace("\n", "\r\n").encode()
    (tmp_path / ONTOLOGY_FOLDER / "own.toml").write_bytes(data)
    assert ontology.load("own.toml", TemplateResolver([tmp_path])) == ontology.parse(CUSTOM, PATH)


def test_the_prompt_texts_are_exactly_those_in_graphitis_prompts() -> None:
    entities, relations = CODING.prompt_texts
    context = {
        "entity_types": _build_entity_types_context(CODING.entity_types),
        "edge_types": [
            {
                "fact_type_name": name,
                "fact_type_signatures": [
                    pair for pair, names in CODING.edge_type_map.items() if name in names
                ],
                "fact_type_description": model.__doc__,
            }
            for name, model in (CODING.edge_types or {}).items()
        ],
        **dict.fromkeys(("episode_content", "custom_extraction_instructions"), ""),
        **dict.fromkeys(("source_description", "reference_time"), ""),
        "previous_episodes": [],
        "nodes": [],
    }
    assert entities in prompt_library.extract_nodes.extract_message(context)[1].content
    assert relations in prompt_library.extract_edges.edge(context)[1].content
