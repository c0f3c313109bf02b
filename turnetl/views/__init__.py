"""Views: a result as nodes, and the renderers that turn nodes into what a person reads."""
