"""Reports as tables and sentences for the terminal."""
