"""Readers of archives: one package for each agent, a kit that they share, and their registry."""

from turnetl.formats.registry import FORMATS, PROMPT_HISTORY, Format, FormatsReport, by_name, sniff

__all__ = ["FORMATS", "PROMPT_HISTORY", "Format", "FormatsReport", "by_name", "sniff"]
