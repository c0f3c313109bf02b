"""Tools shared by formats: reading, repairing, locating and counting lines, documents and rows."""
