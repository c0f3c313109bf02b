"""Versions of the code that builds an episodes table.

A table of other versions is built again. A run that finds all tables current imports this, and none
of the modules that it is about.
"""

DEDUP = 1
"""Version of the rules in `order` that decide which rows are one turn, and which are closed."""
TEXT = 7
"""Version of the texts. Raise it with every change that alters a text, in `text` or in a module
that it calls."""
CHUNK_LIMIT = 6000
"""Maximum size of a chunk, in estimated tokens."""
CHUNKING = 3
"""Version of the column `chunks`; raise it with every change of `chunking` that moves a split
position, and of what the column lists."""
CLASSIFICATION = 1
"""Raise it with every change of the results of `classify`."""
