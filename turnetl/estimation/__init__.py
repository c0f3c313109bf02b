"""What turns will cost before they are ingested: requests, tokens, money, time and disk.

`estimate_turns` is the seam: any command that ingests turns can call it with their plans.
"""
