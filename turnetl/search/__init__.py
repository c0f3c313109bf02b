"""Search over the graph: which turns answer a query, best first."""
