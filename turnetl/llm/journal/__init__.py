"""What models answered, by what they were asked: a question is paid for once, whatever dies."""

from turnetl.llm.journal.account import Kept, Pruned, Stats
from turnetl.llm.journal.journaled import Journaled
from turnetl.llm.journal.key import key_of
from turnetl.llm.journal.store import Journal

__all__ = ["Journal", "Journaled", "Kept", "Pruned", "Stats", "key_of"]
