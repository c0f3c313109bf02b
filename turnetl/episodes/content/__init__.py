"""Content types: one module each, in order of precedence.

To add one, write a module with a `ContentType` and add it to one of these tuples; the contract test
in tests/episodes/content covers it then.
"""

from turnetl.episodes.content.base import INPUT_COLUMNS, ContentType, condense
from turnetl.episodes.content.documents import CODE, DIFFS, JSON
from turnetl.episodes.content.program_output import (
    COMMANDS,
    DISCARDED,
    DISPLAYED,
    ERRORS,
    FILE_CHANGE,
    LOGS,
    OTHERS,
    REJECTED,
    REPORTS,
    SEARCH_RESULT,
    SHORT,
    TRACES,
)

__all__ = ["BLOCKS", "DISCARDED", "INPUT_COLUMNS", "RESULTS", "ContentType", "condense"]

RESULTS = (
    REJECTED,
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
"""Content types of tool results. Every text matches one."""

BLOCKS = (TRACES, JSON, DIFFS, LOGS, CODE)
"""Content types of long code blocks in an agent's text. Every text of the role `code` matches
one."""
