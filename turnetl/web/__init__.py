"""Pages over the live search index: `turnetl serve`. Nothing is written but the index."""

HOST, PORT = "127.0.0.1", 8420
"""Where `turnetl serve` listens by default: here, because `--help` names it and imports no more."""
