"""HTML files that a command writes: the report on everything, and two comparisons."""
