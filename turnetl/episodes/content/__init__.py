"""Content types: one module each, in the order in which they are asked.

A new kind is a module with a `ContentType` and a place in one of these lists; the contract test in
tests/episodes/content runs it with all others.
"""

from turnetl.episodes.content.base import INPUT_COLUMNS, ContentType, condense, detect
from turnetl.episodes.content.code import CODE
from turnetl.episodes.content.commands import COMMANDS, ERRORS, OTHERS, REFUSED, REPORTS, SHORT
from turnetl.episodes.content.diffs import DIFFS
from turnetl.episodes.content.json import JSON
from turnetl.episodes.content.logs import LOGS
from turnetl.episodes.content.tool_output import DISCARDED, DISPLAYED, FILE_CHANGE, SEARCH_RESULT
from turnetl.episodes.content.traces import TRACES

__all__ = ["BLOCKS", "DISCARDED", "INPUT_COLUMNS", "OUTCOMES", "ContentType", "condense", "detect"]

OUTCOMES = (
    REFUSED,
    DISPLAYED,
    SEARCH_RESULT,
    FILE_CHANGE,
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
