"""Secrets out of texts, before anything is written."""

from turnetl.redact.redactor import SecretRedactor

__all__ = ["SecretRedactor"]
