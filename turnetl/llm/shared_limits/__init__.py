"""Limits that several processes share, on one machine or on many.

    limits       `SharedLimits`: the limits of one process that takes capacity from a shared state
    report       what a process tells the others, and what it gets
    allocation   the rules of an exchange: who gets how much; pure
    fair_share   an amount divided by wants
    state        the shared state, and its form in a store
    store        `LimitsStore`, the port to where the state is; `MemoryLimits`
    sqlite_store the state in a SQLite file, for the processes of one machine

A process takes a block of requests and tokens for a few seconds, and slots for requests in flight,
and starts requests within it without asking anybody. Every exchange returns what is left of the
last block, so that no process keeps what it does not use.
"""

from turnetl.llm.shared_limits.limits import SharedLimits
from turnetl.llm.shared_limits.store import LimitsStore, MemoryLimits, SqliteLimits

__all__ = ["LimitsStore", "MemoryLimits", "SharedLimits", "SqliteLimits"]
