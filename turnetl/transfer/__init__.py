"""Turns, entities and facts in formats of other programs, and turns of another machine's lake."""
