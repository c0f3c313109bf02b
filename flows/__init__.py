"""Prefect only: when a run starts, and how its units of work are run and retried."""
