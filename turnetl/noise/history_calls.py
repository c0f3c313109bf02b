"""Names of the tools of `turnetl mcp` in archives: what they return is in the graph already."""

HISTORY_CALL = (
    r"^(?:mcp__turnetl__|mcp_turnetl_|turnetl__?|turnetl\.)(?:search|open|timeline|fix|list)$"
)
"""With the prefixes of the agents, for a server that is configured as `turnetl`."""
ASIDE_CALL = r"^(?:ToolSearch|tool_search|TodoWrite|TodoRead|update_plan)$"
"""With these an agent finds its tools, and keeps its own list."""
