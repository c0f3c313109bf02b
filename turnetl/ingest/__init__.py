"""Episodes into the graph, each once, in order; what was left out and why is kept."""
