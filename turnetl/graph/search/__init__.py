"""Graphiti's own search over groups in memory, so that every store returns the same results."""
