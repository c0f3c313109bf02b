"""Ingest: commit each planned turn of a group to the graph once, oldest first."""
