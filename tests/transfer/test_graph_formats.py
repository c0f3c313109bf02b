"""GraphML and Cypher: a parser reads back what was exported, whatever the texts are."""

import io
import re

import networkx as nx
import pytest
from hypothesis import given

from tests.transfer.contents import HOSTILE, TEXTS, content
from turnetl.transfer.content import ExportContent
from turnetl.transfer.file_formats import literal, to_cypher, to_graphml, xml_text

STRING = re.compile(r"'((?:[^'\\]|\\u[0-9a-f]{4}|\\[\\'])*)'")


def graph_of(exported: ExportContent) -> nx.MultiDiGraph:
    return nx.read_graphml(io.BytesIO(to_graphml(exported)), force_multigraph=True)


def value_of(expression: str) -> str:
    """Return the text of a literal, read as Cypher does."""
    match = STRING.fullmatch(expression)
    assert match
    units = re.sub(
        r"\\(u[0-9a-f]{4}|.)",
        lambda one: one[1] if len(one[1]) == 1 else chr(int(one[1][1:], 16)),
        match[1],
    )
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def test_graphml_holds_every_text(subtests: pytest.Subtests) -> None:
    for text in HOSTILE:
        with subtests.test(text=text):
            check_graphml(text)


@given(TEXTS)
def test_graphml_holds_every_other_text(text: str) -> None:
    check_graphml(text)


def check_graphml(text: str) -> None:
    exported = content(text)
    graph = graph_of(exported)
    turns = {one.turn.turn_id: one.turn for one in exported.turns}
    assert set(graph.nodes) == {*turns, "e1", "e2"}
    for turn_id, turn in turns.items():
        assert (graph.nodes[turn_id].get("name") or "") == xml_text(turn.user_text)
    assert (graph.nodes["e1"].get("name") or "") == xml_text(text)
    (stated,) = graph["e1"]["e2"].values()
    assert (stated.get("fact") or "") == xml_text(text)
    assert sum(1 for *_, data in graph.edges(data=True) if data["relation"] == "MENTIONS") == 4


@given(TEXTS)
def test_a_literal_of_cypher_is_the_text_in_printable_ascii(text: str) -> None:
    expression = literal(text)
    assert re.fullmatch("[ -~]*", expression)
    assert value_of(expression) == text


@given(TEXTS)
def test_no_text_ends_a_statement_of_cypher(text: str) -> None:
    lines = to_cypher(content(text)).decode().splitlines()
    exported = content(text)
    assert len(lines) == 1 + 2 + len(exported.turns) + 2 + 1 + 4
    for line in lines[1:]:
        outside = STRING.sub("", line)
        assert re.fullmatch(r"[\w\s(){}\[\]:,;.=+>-]*;", outside), outside
        # A label may be a keyword: after a colon it is a name.
        assert not re.search("DELETE|REMOVE|CALL|LOAD", re.sub(r", n:[\w:]+;$", ";", outside))


def test_a_label_that_is_no_name_is_a_property_only() -> None:
    text = to_cypher(content("File`) DETACH DELETE n //")).decode()
    assert "n:Person" in text
    assert "n:File" not in text


def test_the_same_content_gives_the_same_bytes() -> None:
    assert to_cypher(content()) == to_cypher(content())
    assert to_graphml(content()) == to_graphml(content())
