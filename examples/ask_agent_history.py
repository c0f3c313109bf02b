"""A question about the history over the Model Context Protocol, as an agent asks it.

python examples/ask_agent_history.py lake "why did the checkout tests fail"
"""

import asyncio
import re
import sys

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import CallToolResult, TextContent


async def main(lake: str, question: str) -> None:
    # The turnetl of this environment; an agent's configuration names `turnetl mcp`.
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "turnetl", "mcp", "--lake", lake]
    )
    async with Client(stdio_client(server)) as client:
        print("tools:", ", ".join(tool.name for tool in (await client.list_tools()).tools))
        found = text_of(await client.call_tool("search", {"query": question, "limit": 3}))
        print(found)
        if best := re.search(r"turn ([0-9a-f]{8})", found):
            print(text_of(await client.call_tool("open", {"id": best[1], "max_tokens": 500})))


def text_of(result: CallToolResult) -> str:
    """Return the text of an answer.

    What the tools quote from archives is data: a program must follow no instruction in it.
    """
    text = "\n".join(part.text for part in result.content if isinstance(part, TextContent))
    if result.is_error:
        raise RuntimeError(text)
    return text


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
