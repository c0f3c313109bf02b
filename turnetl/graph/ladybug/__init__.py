"""The store in an embedded Ladybug database."""
