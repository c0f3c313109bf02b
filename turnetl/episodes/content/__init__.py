"""Content types: one module each, in the order in which they are asked.

A new kind is a module with a `Kind` and a place in one of these lists; the contract test in
tests/episodes/content runs it with all others.
"""

from turnetl.episodes.content.base import TEXTS, Kind, kind_of, shortened
from turnetl.episodes.content.code import CODE
from turnetl.episodes.content.commands import COMMANDS, ERRORS, OTHERS, REFUSED, REPORTS, SHORT
from turnetl.episodes.content.diffs import DIFFS
from turnetl.episodes.content.json import JSON
from turnetl.episodes.content.logs import LOGS
from turnetl.episodes.content.tool_output import FOUND, SHOWN, UNREAD, WRITTEN
from turnetl.episodes.content.traces import TRACES

__all__ = ["BLOCKS", "OUTCOMES", "TEXTS", "UNREAD", "Kind", "kind_of", "shortened"]

OUTCOMES = (
    REFUSED,
    SHOWN,
    FOUND,
    WRITTEN,
    REPORTS,
    SHORT,
    TRACES,
    JSON,
    ERRORS,
    DIFFS,
    LOGS,
    COMMANDS,
    OTHERS,
)
"""Kinds of what came of a call. Every text finds one."""

BLOCKS = (TRACES, JSON, DIFFS, LOGS, CODE)
"""Kinds of long blocks in what an agent wrote. Every text of the role `code` finds one."""
