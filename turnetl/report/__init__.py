"""Reports as tables and sentences for the terminal; `turnetl.json_output` has them as JSON."""
