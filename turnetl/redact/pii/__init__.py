"""Rules for personal data (PII), which is redacted only on request."""

from turnetl.redact.pii.accounts import ACCOUNTS
from turnetl.redact.pii.authors import AUTHORS
from turnetl.redact.pii.hosts import HOMES, HOSTS, PROMPTS
from turnetl.redact.pii.national_ids import NATIONAL_IDS
from turnetl.redact.pii.networks import NETWORKS
from turnetl.redact.pii.phones import EMAILS, PHONES

SUBJECTS = (EMAILS, HOMES, NETWORKS, PROMPTS, ACCOUNTS, AUTHORS, HOSTS, NATIONAL_IDS, PHONES)
PII_RULES = tuple(rule for subject in SUBJECTS for rule in subject.rules)
PII_RULE_NAMES = frozenset(rule.name for rule in PII_RULES)
