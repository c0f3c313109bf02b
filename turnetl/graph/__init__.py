"""The graph: two stores behind one port, and the group that a writer holds in memory."""
