"""A group in memory, and in it what Graphiti would ask a database for."""
