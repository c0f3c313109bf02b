"""The SDK's client, connected to a server in this process."""

import asyncio
import re
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from mcp.client import Client
from mcp_types import CallToolResult, TextContent

from turnetl.base.clock import now
from turnetl.mcp.server import history_server
from turnetl.mcp.tools import ToolContext, tool_runner
from turnetl.pipeline.index_reader import open_index_reader
from turnetl.settings import Settings

T = TypeVar("T")

_QUOTED = re.compile(
    r"^<archive-text-(?P<nonce>[0-9a-f]{16})>\n(?P<text>.*)\n</archive-text-(?P=nonce)>$",
    re.MULTILINE | re.DOTALL,
)


def settings_of(folder: Path) -> Settings:
    return Settings(lake=folder / ".turnetl" / "lake")


def with_client(folder: Path, work: Callable[[Client], Coroutine[Any, Any, T]]) -> T:
    """Return the result of work with a client of a server of the graph in a folder."""

    async def connected() -> T:
        async with open_index_reader(settings_of(folder), now) as reader:
            server = history_server(tool_runner(ToolContext(reader, now, folder)))
            async with Client(server) as client:
                return await work(client)

    return asyncio.run(connected())


def called(folder: Path, tool: str, **arguments: object) -> CallToolResult:
    return with_client(folder, lambda client: client.call_tool(tool, arguments))


def answer(folder: Path, tool: str, **arguments: object) -> str:
    """Return the text of an answer, which must be no error."""
    result = called(folder, tool, **arguments)
    assert not result.is_error, text_of(result)
    return text_of(result)


def error(folder: Path, tool: str, **arguments: object) -> str:
    """Return the text of an answer, which must be an error."""
    result = called(folder, tool, **arguments)
    assert result.is_error, text_of(result)
    return text_of(result)


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def quoted_text(text: str) -> str:
    """Return what an answer quotes from archives."""
    (found,) = _QUOTED.finditer(text)
    return found["text"]


def unquoted_text(text: str) -> str:
    """Return what an answer says in its own words."""
    return _QUOTED.sub("", text)
