"""Secrets out of texts, before anything is written."""

from turnetl.redact.redactor import Redactor

__all__ = ["Redactor"]
