"""What turns will cost before they are ingested: requests, tokens, money, time and disk."""
