"""Reports as tables and sentences for the terminal; `turnetl.output` has them as JSON."""
