"""Capability checks: one small request of each kind before a run."""
