"""Content types, in order of precedence.

To add one, write a `ContentType` and add it to one of these tuples; the contract test in
tests/episodes/content covers it then.
"""

from turnetl.episodes.content import documents, program_output
from turnetl.episodes.content.base import INPUT_COLUMNS, ContentType, condense

DISCARDED = program_output.DISCARDED

RESULTS = (
    program_output.REJECTED,
    program_output.DISPLAYED,
    program_output.SEARCH_RESULT,
    program_output.FILE_CHANGE,
    program_output.REPORTS,
    program_output.SHORT,
    program_output.TRACES,
    documents.JSON,
    program_output.ERRORS,
    documents.DIFFS,
    program_output.LOGS,
    program_output.COMMANDS,
    program_output.OTHERS,
)
"""Content types of tool results. Every text matches one."""

BLOCKS = (
    program_output.TRACES,
    documents.JSON,
    documents.DIFFS,
    program_output.LOGS,
    documents.CODE,
)
"""Content types of long code blocks in an agent's text; every text of role `code` matches one."""
