"""Summaries of entities: what a turn changes about them, and whether that is worth a new summary.

Everything here is pure: the time is that of the turns, so that the backfill of a year decides as
runs on each of its days would have.
"""
