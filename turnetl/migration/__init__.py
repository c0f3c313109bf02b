"""`turnetl migrate`: session-level data becomes turns; plan, run, comparison, cutover, rollback."""
