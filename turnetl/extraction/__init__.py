"""Extractors: turns to entities and facts, by structure (free), by a model (paid), or both."""
