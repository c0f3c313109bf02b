"""Redaction: secrets are removed from texts before anything is written."""

from turnetl.redact.port import RedactedTexts, Redactor
from turnetl.redact.redactor import SecretRedactor
