"""Graphs that Graphiti's `add_episode` made of the long sample, stored in `upstream/`.

Each file is keyed by the versions of what makes it and by a digest of its input. A test that loads
a file whose key does not match fails. `make test-full` computes the graphs again.
"""

import ast
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.extraction import long_sample_turns
from tests.extraction.upstream_comparison import UNSIGNED, ComparableFact, ComparableGraph
from tests.servers import canned_responses, neo4j_server, order_sensitive_responses
from tests.servers.canned_responses import Responders
from turnetl.base import ids
from turnetl.base.model import Episode
from turnetl.llm.embedders.static_model import WordLlamaEmbedder

MODELS: Mapping[str, Responders] = {
    "resolves_by_name": {
        **canned_responses.RESPONDERS,
        **order_sensitive_responses.EXTRACTION_RESPONDERS,
    },
    "depends_on_candidates": order_sensitive_responses.RESPONDERS,
}
"""The canned responses that each stored graph is made with, by the name of its file."""

_FOLDER = Path(__file__).parent / "upstream"


def load(name: str, turns: Sequence[Episode]) -> ComparableGraph:
    """Return the stored graph of these turns.

    Raises:
        AssertionError: the graph was made with other versions or from other input.
    """
    stored = json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    key = _key(turns)
    assert stored["key"] == key, (
        f"tests/extraction/upstream/{name}.json was made with {stored['key']}, and the key is now "
        f"{key}: run `make test-full REWRITE_UPSTREAM=1` and check the difference"
    )
    return ComparableGraph(
        Counter({(entity[0], tuple(entity[1]), entity[2]): n for n, *entity in stored["entities"]}),
        Counter({_fact(values): n for n, *values in stored["facts"]}),
        frozenset((turn, entity) for turn, entity in stored["mentions"]),
    )


def save(name: str, turns: Sequence[Episode], graph: ComparableGraph) -> None:
    """Replace the stored graph; one entity, fact or mention per line."""
    rows: Mapping[str, Sequence[Sequence[Any]]] = {
        "entities": [(n, *entity) for entity, n in sorted(graph.entities.items())],
        "facts": sorted((n, *_values(fact)) for fact, n in graph.facts.items()),
        "mentions": sorted(graph.mentions),
    }
    _FOLDER.mkdir(exist_ok=True)
    (_FOLDER / f"{name}.json").write_text("".join(_lines(_key(turns), rows)), encoding="utf-8")


def _lines(key: Mapping[str, str], rows: Mapping[str, Sequence[Sequence[Any]]]) -> Iterator[str]:
    yield f'{{"key": {json.dumps(key)}'
    for name, values in rows.items():
        listed = ",\n".join(json.dumps(row, ensure_ascii=False) for row in values)
        yield f',\n"{name}": [\n{listed}\n]'
    yield "}\n"


def _key(turns: Sequence[Episode]) -> dict[str, str]:
    return {
        "graphiti": version("graphiti-core"),
        "neo4j": neo4j_server.VERSION,
        "embedder": WordLlamaEmbedder().name,
        "input": ids.digest(*_inputs(turns)),
    }


def _inputs(turns: Sequence[Episode]) -> Iterator[str]:
    for turn in turns:
        yield f"{turn.turn.started_at} {turn.turn.session_id}"
        yield turn.text
    yield str(long_sample_turns.CONTEXT)
    coding = UNSIGNED
    yield json.dumps([coding.entities, coding.relations, coding.fields])
    for module in (canned_responses, order_sensitive_responses):
        yield _code(Path(str(module.__file__)))


def _code(path: Path) -> str:
    """Return a module's code, without comments and docstrings."""
    return json.dumps(_syntax(ast.parse(path.read_text(encoding="utf-8"))))


def _syntax(node: Any) -> Any:
    """Return a syntax tree as lists; empty fields differ between versions of Python."""
    if isinstance(node, ast.AST):
        fields = ((name, _syntax(value)) for name, value in ast.iter_fields(node))
        return [type(node).__name__, *(field for field in fields if field[1] not in ("None", []))]
    if isinstance(node, list):
        return [_syntax(item) for item in node if not _is_docstring(item)]
    return repr(node)


def _is_docstring(node: Any) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _values(fact: ComparableFact) -> tuple[Any, ...]:
    return (
        fact.turns,
        fact.source,
        fact.relation,
        fact.text,
        fact.target,
        fact.valid_at and fact.valid_at.isoformat(),
        fact.invalid_at and fact.invalid_at.isoformat(),
        fact.expired,
    )


def _fact(values: Sequence[Any]) -> ComparableFact:
    turns, source, relation, text, target, valid_at, invalid_at, expired = values
    return ComparableFact(
        source, relation, text, target, _time(valid_at), tuple(turns), _time(invalid_at), expired
    )


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text is not None else None
