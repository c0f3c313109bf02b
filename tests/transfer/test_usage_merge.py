"""Tokens in no turn of two imports of the same archive."""

from dataclasses import replace

from tests.activity_report.test_subagents import METADATA, USAGE
from tests.fakes.redactors import NoRedactor
from turnetl.base.model import MessageCounts
from turnetl.transfer.lake_import import merged_usage

FIRST, SECOND = MessageCounts("m1", 10, 0, 7, 5, None), MessageCounts("m2", 1, 2, 3, 4, 5)


def test_messages_of_two_imports_count_once_with_the_greatest_counts() -> None:
    before = replace(METADATA, subagent_usage=(replace(USAGE, messages=(FIRST, SECOND)),))
    grown = replace(USAGE, messages=(FIRST._replace(output=50),))
    [merged] = merged_usage(replace(METADATA, subagent_usage=(grown,)), before, NoRedactor()) or ()
    assert merged.messages == (FIRST._replace(output=50), SECOND)
    assert (merged.input_tokens, merged.cache_write_tokens, merged.cache_read_tokens) == (11, 2, 10)
    assert (merged.output_tokens, merged.reasoning_tokens) == (54, 5)
