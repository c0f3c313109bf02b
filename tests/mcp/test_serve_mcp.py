"""The public function that serves agents, and what its documentation promises."""

import asyncio
import json
import re
import socket
import tomllib
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, KNOWN_PROTOCOL_VERSIONS
from pydantic import SecretStr

import turnetl
from tests.cli.command import ROOT
from tests.mcp.clients import settings_of
from tests.mcp.processes import VERSIONS
from turnetl.base.errors import BadUsage

PAGE = (ROOT / "docs" / "mcp.md").read_text("utf-8")
TOKEN = "a-token-of-sixteen"
URL = "http://127.0.0.1:8367/mcp"


def snippets(agent: str) -> list[dict[str, Any]]:
    """Return the configurations of an agent on the page: of a process, and over HTTP."""
    found = re.findall(
        rf"^{agent}\b[^`]*(?:`[^`\n]+`[^`]*)*```(json|toml)\n(.*?)```",
        PAGE,
        re.MULTILINE | re.DOTALL,
    )
    return [json.loads(text) if kind == "json" else tomllib.loads(text) for kind, text in found]


def test_the_snippets_of_each_agent_start_or_reach_the_server() -> None:
    claude, claude_http = (one["mcpServers"]["turnetl"] for one in snippets("Claude Code"))
    assert claude == {"command": "turnetl", "args": ["mcp"]}
    assert claude_http["type"] == "http"
    codex, codex_http = (one["mcp_servers"]["turnetl"] for one in snippets("Codex"))
    assert codex == {"command": "turnetl", "args": ["mcp"]}
    assert codex_http == {"url": URL, "bearer_token_env_var": "TURNETL_MCP_TOKEN"}
    gemini, gemini_http = (one["mcpServers"]["turnetl"] for one in snippets("Gemini CLI"))
    assert gemini == {"command": "turnetl", "args": ["mcp"]}
    opencode, opencode_http = (one["mcp"]["turnetl"] for one in snippets("OpenCode"))
    assert opencode == {"type": "local", "command": ["turnetl", "mcp"], "enabled": True}
    urls = (claude_http["url"], gemini_http["httpUrl"], opencode_http["url"])
    assert urls == (URL, URL, URL)
    for one in (claude_http, gemini_http, opencode_http):
        assert re.fullmatch(
            r"Bearer (\$|\$\{|\{env:)TURNETL_MCP_TOKEN\}?", one["headers"]["Authorization"]
        )


def test_the_page_names_the_versions_of_the_protocol_that_the_sdk_serves() -> None:
    _, section = PAGE.split("## Versions of the protocol")
    table = section.split("\n\n")[1]
    assert sorted(re.findall(r"`(20\d\d-\d\d-\d\d)`", table)) == [*KNOWN_PROTOCOL_VERSIONS]
    assert (HANDSHAKE_PROTOCOL_VERSIONS[-1], KNOWN_PROTOCOL_VERSIONS[-1]) == VERSIONS


def test_a_token_is_needed_over_http(filled: Path) -> None:
    with pytest.raises(BadUsage, match="mcp_token"):
        asyncio.run(turnetl.serve_mcp(settings_of(filled), port=0))


def test_a_server_over_http_serves_until_it_is_cancelled(filled: Path) -> None:
    settings = settings_of(filled).model_copy(update={"mcp_token": SecretStr(TOKEN)})
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    async def work() -> int:
        serving = asyncio.create_task(turnetl.serve_mcp(settings, port=port))
        async with httpx.AsyncClient() as client:
            while True:
                try:
                    response = await client.get(f"http://127.0.0.1:{port}/mcp")
                    break
                except httpx.ConnectError:
                    assert not serving.done()
                    await asyncio.sleep(0.01)
        serving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await serving
        with socket.create_server(("127.0.0.1", port)):
            return response.status_code

    assert asyncio.run(work()) == 401
