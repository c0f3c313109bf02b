"""The JSON Schema of what each command prints with `--json`, and the reference of all of them."""
