"""The objects that `--json` prints: one module per command, with its structs and their builder."""
