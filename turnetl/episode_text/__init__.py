"""The text of an episode, as search, summaries and pages read it: its messages and its end."""
