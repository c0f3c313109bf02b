"""A call that cannot be answered is an error that says what to do; the server goes on."""

import asyncio
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from tests.mcp.clients import answer, error, settings_of, text_of, with_client
from turnetl.base.clock import now
from turnetl.base.text import estimate_tokens
from turnetl.graph.open import open_graph
from turnetl.index.files import CATALOG
from turnetl.mcp.arguments import MIN_TOKENS
from turnetl.mcp.server import history_server
from turnetl.mcp.tools import ToolContext, tool_runner
from turnetl.pipeline.index_reader import open_index_reader

SECRET = "what nobody else should read"


@pytest.mark.full
@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("open", {"id": "deadbeef"}, "nothing has the id or the name `deadbeef`"),
        ("open", {"id": "missing.jsonl:3"}, "nothing has the id or the name"),
        ("open", {"id": "0"}, "is several"),
        ("search", {"query": "x", "project": "nowhere"}, "there is no group `nowhere`"),
        ("fix", {"error": "x", "project": "nowhere"}, "existing groups: bookshop, shoebox"),
        ("list", {"what": "sessions", "project": "nowhere"}, "there is no group"),
        ("timeline", {"entity": "no such thing"}, "no turn has a fact about the entity"),
        ("timeline", {"session": "zzz"}, "no session has an id that begins with `zzz`"),
    ],
)
def test_what_the_graph_does_not_have_is_named_with_what_it_has(
    tool: str, arguments: dict[str, Any], expected: str, filled: Path
) -> None:
    text = error(filled, tool, **arguments)
    assert text.startswith(
        "The call failed, for the reason below. Use an id, name, project or time"
    )
    assert expected in text


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("search", {}, "`search` needs a `query`, or a condition"),
    ("search", {"query": "x", "since": "soon"}, "`soon` is no time for `since`: write it as"),
    (
        "search",
        {"query": "x", "since": "2026-05", "until": "2026-04"},
        "no turn can be selected",
    ),
    ("search", {"query": "x", "as_of": "2026-99"}, "is no time for `as_of`"),
    ("search", {"query": "x", "limit": 0}, "Expected `int` >= 1"),
    ("search", {"query": "x", "max_tokens": 10**9}, "Expected `int` <= 10000"),
    ("search", {"query": "x", "shell": "ls"}, "unknown field `shell`; the arguments are"),
    ("search", {"query": "x", "offset": 9_999}, "pages end at 300 hits"),
    ("search", {"query": {"a": 1}}, "Expected `str`"),
    ("open", {}, "missing required field `id`"),
    ("open", {"id": ""}, "length >= 1"),
    ("open", {"id": "x" * 5_000}, "length <= 1000"),
    ("fix", {"error": " "}, "`fix` needs the message of an error"),
    ("list", {"what": "tables"}, "Invalid enum value"),
]


def test_arguments_that_a_tool_does_not_take_are_named(
    subtests: pytest.Subtests, filled: Path
) -> None:
    for tool, arguments, expected in REFUSED:
        with subtests.test(tool=tool):
            text = error(filled, tool, **arguments)
            assert text.startswith(f"`{tool}` was not called: ")
            assert expected in text


@pytest.mark.parametrize("character", ["x", "漢", "\U000e0041", "<archive-text "])
@pytest.mark.parametrize(
    ("tool", "name"),
    [("search", "project"), ("search", "since"), ("search", "entity"), ("open", "id")],
)
def test_an_error_fits_into_the_smallest_answer_whatever_it_repeats(
    tool: str, name: str, character: str, filled: Path
) -> None:
    text = error(filled, tool, **{name: character * (900 // len(character))})
    assert estimate_tokens(text) <= MIN_TOKENS
    if name == "since":
        assert "write it as 2026-03-01" in text


def test_null_stands_for_an_argument_that_is_not_given(filled: Path) -> None:
    text = answer(filled, "search", query="cart", project=None, since=None, limit="2")
    assert text.startswith("2 hits")


def test_an_unknown_tool_is_an_error_of_the_protocol_that_lists_the_tools(filled: Path) -> None:
    async def work(client: Client) -> None:
        with pytest.raises(MCPError, match="the tools are search, open, timeline, fix, list"):
            await client.call_tool("shell", {"command": "ls"})

    with_client(filled, work)


def test_without_a_graph_every_tool_says_so_and_answers_as_soon_as_there_is_one(
    copied: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    graph = copied / ".turnetl" / "lake" / "graph.lbug"
    hidden = graph.rename(tmp_path_factory.mktemp("hidden") / "graph.lbug")

    async def work(client: Client) -> None:
        calls = [("search", {"query": "x"}), ("open", {"id": "x"}), ("timeline", {})]
        for tool, arguments in [*calls, ("fix", {"error": "x"}), ("list", {})]:
            result = await client.call_tool(tool, arguments)
            assert result.is_error
            assert "there is no graph at" in text_of(result)
            assert "run `turnetl backfill`" in text_of(result)
        hidden.rename(graph)
        assert not (await client.call_tool("list", {})).is_error

    with_client(copied, work)


@pytest.mark.full
def test_a_missing_index_is_made_before_the_first_answer(copied: Path) -> None:
    shutil.rmtree(copied / ".turnetl" / "lake" / "index")
    assert answer(copied, "list").startswith("2 projects")


@pytest.mark.full
def test_a_damaged_index_is_made_again(copied: Path) -> None:
    (index,) = (copied / ".turnetl" / "lake" / "index").iterdir()
    (index / CATALOG).write_bytes(b"no catalog" * 1_000)
    assert answer(copied, "list").startswith("2 projects")


def test_an_unexpected_error_is_named_without_its_text_and_the_server_goes_on(
    filled: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The clock fails: no argument can make a tool fail in such a way."""
    fails = False

    def clock() -> datetime:
        if fails:
            raise OSError(SECRET)
        return now()

    async def work() -> list[str]:
        nonlocal fails
        texts = []
        async with (
            open_index_reader(settings_of(filled), now) as reader,
            Client(history_server(tool_runner(ToolContext(reader, clock, filled)))) as client,
        ):
            for fails in (False, True, False):  # noqa: B007 - the clock reads it
                texts.append(text_of(await client.call_tool("search", {"since": "7d"})))
        return texts

    first, second, third = asyncio.run(work())
    assert second.startswith("Unexpected error in turnetl (OSError)")
    assert SECRET not in second
    assert SECRET in caplog.text
    assert first == third


def test_an_empty_graph_is_told_from_one_without_a_match(tmp_path: Path) -> None:
    async def create() -> None:
        await (await open_graph(settings_of(tmp_path).graph_url, user="", password="")).close()

    (tmp_path / ".turnetl" / "lake").mkdir(parents=True)
    asyncio.run(create())
    assert "The graph is empty: run `turnetl backfill`" in answer(tmp_path, "search", query="cart")
