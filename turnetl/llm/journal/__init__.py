"""What models answered, by what they were asked: a request is paid for once, whatever dies."""

from turnetl.llm.journal.key import key_of
from turnetl.llm.journal.model import JournaledModel
from turnetl.llm.journal.stats import Kept, Pruned, Stats
from turnetl.llm.journal.store import Journal

__all__ = ["Journal", "JournaledModel", "Kept", "Pruned", "Stats", "key_of"]
