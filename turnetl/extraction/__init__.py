"""Extractors: turns to entities and facts, by structure (no cost), by a model (paid), or both."""
