"""`turnetl report`: what agents and turnetl did, over all turns of a lake and a graph.

`report_file` opens lake, graph and index; the other modules are pure. Every list is bounded.
"""
