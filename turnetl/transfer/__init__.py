"""Turns, entities and facts in formats of other programs, and the turns of another machine's lake.

A format is a function from an `ExportContent` to the contents of files by name; `output` writes
them. `lake_import` adds the turns files of another lake.
"""
