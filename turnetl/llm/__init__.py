"""Language models and embedders, and Graphiti's client classes in front of them.

A wrapper of a model is a model. Nothing in this package knows of turns or of a graph.
"""
