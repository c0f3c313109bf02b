"""Migration of session-level data to turns. Opens nothing and writes nothing."""
