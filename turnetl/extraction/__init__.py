"""Turns to things and facts: by structure for free, by a model for money, or by both."""
