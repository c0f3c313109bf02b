"""`turnetl evaluate` and `templates compare`: how good the results are on the user's own turns."""
