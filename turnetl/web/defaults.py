"""Where `turnetl serve` listens by default. Imports nothing: `--help` names it."""

HOST = "127.0.0.1"
PORT = 8420
