"""The MCP server: five tools with which a coding agent reads the history, and nothing else.

`arguments` are what the tools take, `tools` what they do, `entries` how results are written,
`answer` how an answer is bounded and quoted, `server` the tools behind the SDK of the protocol,
and `stdio` and `http` the transports.
"""
