"""Kinds of things and facts as a file says them, and what comes of a slip there."""

from pathlib import Path

import pytest
from graphiti_core.edges import EntityEdge
from graphiti_core.nodes import EntityNode
from graphiti_core.prompts import prompt_library
from graphiti_core.utils.maintenance.node_operations import _build_entity_types_context
from graphiti_core.utils.ontology_utils.entity_types_utils import validate_entity_types

from turnetl.errors import BadUsage
from turnetl.extraction import ontology, ontology_lint
from turnetl.extraction.diagnostics import Diagnostic
from turnetl.extraction.ontology import CODING, FOLDER, NONE, Ontology
from turnetl.extraction.templates import PLACE, TemplateResolver, built_in, folders

HERE = Path("here/own.toml")
OWN = """
[things]
Recipe = "A dish, by its name."

[things.Oven]
meaning = "What a dish is baked in."
fields = { heat = "In degrees." }

[facts]
NEEDS = "A dish needs this."
"""


def findings(text: str) -> list[Diagnostic]:
    return list(ontology_lint.read(text).findings)


def errors(text: str) -> list[str]:
    return [finding.text for finding in findings(text) if finding.grade == "error"]


def warnings(text: str) -> list[str]:
    return [finding.text for finding in findings(text) if finding.grade == "warning"]


def test_the_built_in_one_has_the_kinds_of_work_with_code_and_nothing_wrong() -> None:
    assert list(CODING.things) == [
        *("File", "Tool", "Command", "Error", "Decision", "Concept", "Package")
    ]
    facts = {"MODIFIED", "USED_FOR", "FAILED_WITH", "CAUSED_BY", "RESOLVED_BY", "DECIDED"}
    assert set(CODING.facts) == facts | {"DEPENDS_ON"}
    assert CODING.fields == {}
    path = built_in() / FOLDER / "coding.toml"
    assert findings(path.read_text("utf-8")) == []


def test_a_file_gives_kinds_in_its_order_with_their_fields() -> None:
    said = ontology.read(OWN, HERE)
    assert list(said.things.items()) == [
        ("Recipe", "A dish, by its name."),
        ("Oven", "What a dish is baked in."),
    ]
    assert said.facts == {"NEEDS": "A dish needs this."}
    assert said.fields == {"Oven": {"heat": "In degrees."}}


def test_graphiti_takes_the_kinds_with_and_without_fields() -> None:
    said = ontology.read(OWN, HERE)
    assert said.entity_types is not None
    assert said.edge_types is not None
    assert validate_entity_types(said.entity_types)
    oven = said.entity_types["Oven"]
    assert oven.model_fields["heat"].description == "In degrees."
    assert oven().model_dump() == {"heat": None}
    assert said.entity_types["Recipe"].model_fields == {}
    assert said.edge_type_map == {("Entity", "Entity"): ["NEEDS"]}


def test_none_is_graphitis_own_behaviour() -> None:
    assert ontology.load(None, TemplateResolver([])) is NONE
    assert (NONE.entity_types, NONE.edge_types) == (None, None)


def test_the_projects_file_wins_over_the_persons_and_that_over_the_built_in(
    tmp_path: Path,
) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    templates = TemplateResolver(folders(project, home))
    assert ontology.load("coding.toml", templates) == CODING
    for place, name in ((home, "Person"), (project, "Project")):
        folder = place / PLACE / FOLDER
        folder.mkdir(parents=True)
        (folder / "coding.toml").write_text(f'[things]\n{name}Thing = "A thing."\n')
        assert list(ontology.load("coding.toml", templates).things) == [f"{name}Thing"]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (None, "no ontology `own.toml`"),
        (b" \n", "is empty"),
        (b"\xff\xfe", "is not UTF-8 text"),
        (b"[things\n", "is no TOML"),
        (b"[things]\nEntity = 'x'\n", "something else in the graph"),
    ],
)
def test_one_that_cannot_be_used_stops_with_its_place(
    data: bytes | None, says: str, tmp_path: Path
) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir()
    if data is not None:
        (folder / "own.toml").write_bytes(data)
    with pytest.raises(BadUsage, match="ontology") as refused:
        ontology.load("own.toml", TemplateResolver([tmp_path]))
    assert says in str(refused.value)
    assert str(folder) in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[thing]\nFile = 'x'", "`thing` means nothing; known are [things] and [facts]"),
        ("things = 'File'", "`things` must be a table"),
        ("# nothing", "names no kind of thing or fact"),
        ("[things]\nFile = 7", "`things.File` must be"),
        ("[things]\nFile = ' '", "`things.File` says nothing"),
        ("[things.File]\nfields = {}", "`things.File` says nothing"),
        ("[things]\n'Source File' = 'x'", "letters, digits and underscores"),
        ("[things]\n2nd = 'x'", "no digit first"),
        ("[things]\nTurnCommit = 'x'", "something else in the graph"),
        ("[facts]\nENTITY = 'x'", "something else in the graph"),
        ("[things]\nFile = 'x'\n[facts]\nFILE = 'y'", "`File`, `FILE` are one name"),
        ("[things]\nFile = 'x'\nFile = 'y'", "is no TOML"),
        (f"[things]\nFile = '{'x' * 501}'", "501 characters"),
        ("[things.File]\nmeaning = 'x'\nfield = {}", "`field` means nothing"),
        ("[things.File]\nmeaning = 'x'\nfields = 'path'", "`fields` must be a table"),
        ("[things.File]\nmeaning = 'x'\nfields = {'a b' = 'x'}", "field `a b`"),
        ("[things.File]\nmeaning = 'x'\nfields = {_a = 'x'}", "a letter first"),
        (
            "[things.File]\nmeaning = 'x'\nfields = {model_x = 'x'}",
            "`model_x` means something to pydantic",
        ),
        ("[things.File]\nmeaning = 'x'\nfields = {copy = 'x'}", "`copy` means something"),
        (f"[things]\n{'F' * 61} = 'x'", "a name has 60 letters at most"),
        ("[things.File]\nmeaning = 'x'\nfields = {path = ''}", "field `path` says nothing"),
        (f"[things.File]\nmeaning = 'x'\nfields = {{a = '{'x' * 501}'}}", "501 characters"),
    ],
)
def test_what_cannot_be_used_is_an_error_with_its_place(text: str, says: str) -> None:
    assert [one for one in errors(text) if says in one]
    with pytest.raises(BadUsage, match=r"here/own\.toml"):
        ontology.read(text, HERE)


@pytest.mark.parametrize("name", [*EntityNode.model_fields, *EntityEdge.model_fields])
def test_no_field_may_be_called_as_one_of_graphitis_own(name: str) -> None:
    assert name in ontology_lint.PROTECTED
    assert errors(f"[things.File]\nmeaning = 'x'\nfields = {{{name} = 'x'}}")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (OWN, "every Oven of every turn costs a call of its own"),
        (f"[things]\nFile = '{'x' * 201}'", "200 are enough"),
        ("[things]\nFile = 'It.'\nPath = 'it.'", "2 kinds mean the same"),
        ("[facts]\nneeds = 'x'", "in capitals"),
        ("[things]\n" + "\n".join(f"T{n} = 'x{n}'" for n in range(26)), "has 26 kinds"),
    ],
)
def test_what_could_be_better_is_a_warning_and_is_used(text: str, says: str) -> None:
    assert [one for one in warnings(text) if says in one]
    assert ontology.read(text, HERE).digest


def test_whatever_is_said_otherwise_is_another_digest() -> None:
    said = [
        Ontology({}, {}),
        Ontology({"A": "x"}, {}),
        Ontology({}, {"A": "x"}),
        Ontology({"A": "y"}, {}),
        Ontology({"A": "x", "B": "y"}, {}),
        Ontology({"B": "y", "A": "x"}, {}),
        Ontology({"A": "x"}, {}, {"A": {"b": "y"}}),
        Ontology({"A": "x"}, {}, {"A": {"b": "z"}}),
    ]
    assert len({one.digest for one in said}) == len(said)
    assert ontology.read(OWN, HERE).digest == ontology.read(f"# Said.\n{OWN}", HERE).digest


def test_a_byte_order_mark_and_windows_lines_hide_nothing(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    written = b"\xef\xbb\xbf" + OWN.replace("\n", "\r\n").encode()
    (tmp_path / FOLDER / "own.toml").write_bytes(written)
    assert ontology.load("own.toml", TemplateResolver([tmp_path])) == ontology.read(OWN, HERE)


def test_what_is_said_to_be_told_is_what_stands_in_graphitis_prompts() -> None:
    things, facts = CODING.told
    context = {
        "entity_types": _build_entity_types_context(CODING.entity_types),
        "edge_types": [
            {
                "fact_type_name": name,
                "fact_type_signatures": [("Entity", "Entity")],
                "fact_type_description": kind.__doc__,
            }
            for name, kind in (CODING.edge_types or {}).items()
        ],
        **dict.fromkeys(("episode_content", "custom_extraction_instructions"), ""),
        **dict.fromkeys(("source_description", "reference_time"), ""),
        "previous_episodes": [],
        "nodes": [],
    }
    assert things in prompt_library.extract_nodes.extract_message(context)[1].content
    assert facts in prompt_library.extract_edges.edge(context)[1].content
