"""What models answered, by what they were asked: a request is paid for once, whatever dies."""

from turnetl.llm.journal.key import request_key
from turnetl.llm.journal.model import JournaledModel
from turnetl.llm.journal.stats import JournalStats, JournalTotals, PruneResult
from turnetl.llm.journal.store import Journal

__all__ = [
    "Journal",
    "JournalStats",
    "JournalTotals",
    "JournaledModel",
    "PruneResult",
    "request_key",
]
