"""Which folders the user trusts: by their path and by what their configuration contains.

A folder that was cloned or unpacked may hold a config file, templates and prices. They are used
only if the user has read them and said so; what changes afterwards is untrusted again.
"""
