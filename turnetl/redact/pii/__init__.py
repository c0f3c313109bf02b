"""Rules for personal data (PII), which is redacted only on request."""

from collections.abc import Sequence
from itertools import chain

import polars as pl

from turnetl.redact.normalised import DISGUISED, normalised_texts
from turnetl.redact.pii.accounts import ACCOUNTS
from turnetl.redact.pii.authors import AUTHORS
from turnetl.redact.pii.hosts import HOMES, HOSTS, PROMPTS
from turnetl.redact.pii.national_ids import NATIONAL_IDS
from turnetl.redact.pii.networks import NETWORKS
from turnetl.redact.pii.phones import EMAILS, PHONES
from turnetl.redact.rule import SecretRule
from turnetl.redact.text_column import text_column

SUBJECTS = (EMAILS, HOMES, NETWORKS, PROMPTS, ACCOUNTS, AUTHORS, HOSTS, NATIONAL_IDS, PHONES)
PII_RULES = tuple(rule for subject in SUBJECTS for rule in subject.rules)
_ANY_SUBJECT = "|".join(f"(?:{subject.prefilter})" for subject in SUBJECTS)
PII_RULE_NAMES = frozenset(rule.name for rule in PII_RULES)


def pii_candidates(texts: Sequence[str]) -> dict[int, list[SecretRule]]:
    """Return the indexes of the texts that may hold PII, each with the rules to try."""
    distinct = [*dict.fromkeys(texts)]
    column = text_column(distinct)
    disguised = [distinct[index] for index in column.str.contains(DISGUISED).arg_true()]
    views = normalised_texts(disguised)
    rules = _rules_by_text(distinct, column)
    seen = [*chain.from_iterable(views.values())]
    in_views = _rules_by_text(seen, text_column(seen))
    pairs = [(text, view) for text in views for view in views[text]]
    for text, view in pairs:
        known = rules.setdefault(text, [])
        known += [rule for rule in in_views.get(view, ()) if rule not in known]
    return {index: [*rules[text]] for index, text in enumerate(texts) if rules.get(text)}


def _rules_by_text(texts: Sequence[str], column: pl.Series) -> dict[str, list[SecretRule]]:
    """Return the rules to try on each text: one pass selects texts, then one for each subject."""
    selected = column.str.contains(_ANY_SUBJECT).arg_true()
    few = pl.DataFrame({"text": column.gather(selected)})
    matches = few.select(
        pl.col("text").str.contains(subject.prefilter).alias(str(number))
        for number, subject in enumerate(SUBJECTS)
    )
    rules: dict[str, list[SecretRule]] = {}
    for number, subject in enumerate(SUBJECTS):
        for index in matches[str(number)].arg_true():
            rules.setdefault(texts[selected[index]], []).extend(subject.rules)
    return rules
