"""What decides whether stored tables and committed turns are current."""

from tests.goldens.commands import RECIPES_FILE
from tests.goldens.golden_files import GoldenFiles
from tests.goldens.plain import Json, written
from turnetl.base import ids
from turnetl.episodes.filters import DEDUP_VERSION, TEXT_VERSION
from turnetl.extraction.structural import structural_recipe
from turnetl.noise import rules as noise_rules
from turnetl.redact import SecretRedactor


def test_no_table_and_no_turn_becomes_stale_without_a_word(golden: GoldenFiles) -> None:
    [rules] = structural_recipe().values()
    recipes: dict[str, Json] = {
        "redaction": SecretRedactor(b"key").version,
        "redaction of personal data": SecretRedactor(b"key", pii=True).version,
        "noise rules": ids.digest(*noise_rules.recipes()),
        "structural rules": rules.value,
        "texts of episodes": str(TEXT_VERSION),
        "rows that are one turn": str(DEDUP_VERSION),
    }
    golden.check(RECIPES_FILE, written(recipes))
