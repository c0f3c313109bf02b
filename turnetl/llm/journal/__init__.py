"""The journal: a response cache on disk. A request is paid for once, even if processes die."""

from turnetl.llm.journal.file import request_key
from turnetl.llm.journal.journaled_model import JournaledModel
from turnetl.llm.journal.store import Journal, JournalStats, JournalTotals, PruneResult
