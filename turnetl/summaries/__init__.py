"""Summaries of entities and sessions will live here; nothing does yet."""
