"""Registers turnetl with coding agents: the MCP server and the hooks in their configuration."""
