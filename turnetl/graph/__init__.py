"""The graph in both stores, the group that a writer holds in memory, and search over it."""
