"""Pages over the live search index: `turnetl serve`. Nothing is written but the index."""
