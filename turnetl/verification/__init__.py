"""Compare a group of the graph with itself, with the lake and with the search index.

Pure: tables in, findings and repairs out.
"""
