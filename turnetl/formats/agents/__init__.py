"""Readers of agents whose archives are plain conversations: one module for each."""
