"""A group in memory, and Graphiti's reads and searches answered from it."""
