"""The public Python functions: the commands without a terminal. Imported lazily by `turnetl`.

`settings` are, if not given, those that the command would use: the environment, the config file,
the defaults. Each function returns a frozen value and raises only subclasses of `TurnetlError`.
"""
