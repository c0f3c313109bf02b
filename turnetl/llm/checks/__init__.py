"""Capability checks: one small request of each kind, sent before a run."""
