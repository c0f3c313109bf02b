"""Readers of archives: one package for each agent, a kit that they share, and their registry."""

from turnetl.formats.registry import (
    CODEX_HISTORY,
    FORMATS,
    PROMPT_HISTORIES,
    PROMPT_HISTORY,
    Format,
    FormatsReport,
    by_name,
    sniff,
)
