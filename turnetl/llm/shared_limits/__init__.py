"""Limits that several processes share, on one machine or on many.

A process takes a block of requests and tokens for a few seconds, and slots for requests in flight,
and starts requests within it without asking anybody. Every exchange returns what is left of the
last block, so that no process keeps what it does not use.
"""

from turnetl.llm.shared_limits.limits import SharedLimits
from turnetl.llm.shared_limits.store import LimitsStore, MemoryLimits, SqliteLimits

__all__ = ["LimitsStore", "MemoryLimits", "SharedLimits", "SqliteLimits"]
