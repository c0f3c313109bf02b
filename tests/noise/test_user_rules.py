"""Rules that the user wrote: what they mark, and the errors of invalid ones."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests import frames
from tests.builders import tool, turn
from turnetl import noise
from turnetl.base import schema
from turnetl.base.errors import BadUsage
from turnetl.base.model import Turn
from turnetl.noise import user_rules

EXAMPLE = Path(__file__).parents[2] / "data" / "rules.toml"
ReadRules = Callable[[str], tuple[noise.NoiseRule, ...]]


@pytest.fixture
def read_toml(tmp_path: Path) -> ReadRules:
    def read(content: str) -> tuple[noise.NoiseRule, ...]:
        path = tmp_path / "rules.toml"
        path.write_text(content, "utf-8")
        return noise.read_rules(path)

    return read


def rule(conditions: str) -> str:
    return f'[rules.mine]\ndescription = "They are noise."\n{conditions}\n'


def marks(rules: tuple[noise.NoiseRule, ...], *turns: Turn) -> list[str | None]:
    return noise.mark(frames.turns(*turns), rules).collect()["noise"].to_list()


BOT = turn(user_text="Release v12", git_branch="release/12")


def test_every_condition_of_a_rule_must_match(read_toml: ReadRules) -> None:
    rules = read_toml(rule("user_text = '^Release v\\d+'\ngit_branch = '^release/'"))
    elsewhere = turn("p1", user_text="Release v12", git_branch="main")
    other_words = turn("p2", user_text="Why v12?", git_branch="release/12")
    assert marks(rules, BOT, elsewhere, other_words) == ["mine", None, None]


def test_one_matching_pattern_of_a_list_is_enough(read_toml: ReadRules) -> None:
    rules = read_toml(rule('git_branch = ["^release/", "^hotfix/"]'))
    assert marks(rules, turn(git_branch="hotfix/1")) == ["mine"]
    assert marks(rules, turn(git_branch="main")) == [None]


SEARCHED: list[tuple[str, dict[str, Any]]] = [
    ("user_text = 'basket'", {"user_text": "Where is the basket?"}),
    ("assistant_text = 'basket'", {"assistant_text": "In the basket."}),
    ("cwd = '/basket$'", {"cwd": "/home/dev/basket"}),
    ("model = 'haiku'", {"model": "claude-haiku-4"}),
    ("session_id = '^cron-'", {"session_id": "cron-7"}),
    ("format = '^codex$'", {"format": "codex"}),
    ("agent_id = '.'", {"agent_id": "a1"}),
    ("archive = 'old-laptop/'", {"archive": "old-laptop/s1.jsonl"}),
    ("app_version = '^1\\.'", {"app_version": "1.0.3"}),
    ("steering = 'basket'", {"steering": ("no", "the basket")}),
    ("user_answers = 'basket'", {"user_answers": ("the basket",)}),
    ("subagent_prompts = 'basket'", {"subagent_prompts": ("look for baskets",)}),
    ("tool_calls.name = '^Fetch$'", {"tool_calls": (tool("Bash", "ls"), tool("Fetch", "x"))}),
    ("tool_calls.input = 'basket'", {"tool_calls": (tool("Bash", "ls basket"),)}),
    ("tool_calls.result = 'basket'", {"tool_calls": (tool("Bash", "ls", "basket.py"),)}),
    ("has_activity = true", {"tool_calls": (tool("Bash", "ls"),)}),
    ("not.user_text = 'checkout'", {"user_text": "Where?"}),
    ("not.model = 'opus'", {"model": None}),
]


def test_every_kind_of_column_can_be_searched(
    subtests: pytest.Subtests, read_toml: ReadRules
) -> None:
    for conditions, fields in SEARCHED:
        with subtests.test(conditions=conditions):
            rules = read_toml(rule(conditions))
            assert marks(rules, turn(**fields)) == ["mine"]
            assert marks(rules, turn()) == [None]


def test_an_excluded_call_may_be_any_call_of_the_turn(read_toml: ReadRules) -> None:
    rules = read_toml(rule("not.tool_calls.name = '^Bash$'"))
    with_it = turn("p1", tool_calls=(tool("Edit", "a.py"), tool("Bash", "ls")))
    without = turn("p2", tool_calls=(tool("Edit", "a.py"),))
    assert marks(rules, turn(), with_it, without) == ["mine", None, "mine"]


def test_the_searchable_columns_are_columns_of_the_table() -> None:
    assert set(user_rules.searchable_columns()) <= set(schema.TURNS.polars.names())
    texts = {"user_text", "assistant_text", "cwd", "git_branch", "steering", "subagent_prompts"}
    assert texts <= set(user_rules.searchable_columns())


def test_all_conditions_on_tool_calls_must_match_one_call(read_toml: ReadRules) -> None:
    rules = read_toml(rule("tool_calls.name = '^Bash$'\ntool_calls.input = 'deploy'"))
    first = turn(tool_calls=(tool("Bash", "make deploy"),))
    two = turn("p1", tool_calls=(tool("Bash", "ls"), tool("Edit", "deploy.py")))
    assert marks(rules, first, two) == ["mine", None]


def test_has_activity_false_excludes_turns_that_got_work_done(read_toml: ReadRules) -> None:
    rules = read_toml(rule("user_text = 'checkout'\nhas_activity = false"))
    active = turn("p1", tool_calls=(tool("Bash", "ls"),))
    steered = turn("p2", steering=("the basket",))
    assert marks(rules, turn(), active, steered) == ["mine", None, None]


def test_a_disabled_rule_marks_only_on_request(read_toml: ReadRules) -> None:
    rules = read_toml(rule("user_text = 'checkout'\nenabled = false"))
    assert marks(noise.select_rules([], [], rules), turn()) == [None]
    assert marks(noise.select_rules([], ["mine"], rules), turn()) == ["mine"]


def test_user_rules_come_after_built_in_rules(read_toml: ReadRules) -> None:
    rules = noise.select_rules([], [], read_toml(rule("user_text = 'ok'")))
    assert marks(rules, turn(user_text="ok", assistant_text="Well.")) == ["acknowledgement"]
    assert marks(rules, turn(user_text="ok, so why?", assistant_text="Well.")) == ["mine"]


def test_the_recipe_of_a_rule_depends_on_its_conditions_and_not_on_its_reason(
    read_toml: ReadRules,
) -> None:
    first, *_ = read_toml(rule("user_text = 'a'"))
    reworded, *_ = read_toml(rule("user_text = 'a'").replace("They are", "These are"))
    other, *_ = read_toml(rule("user_text = 'b'"))
    assert first.recipe == reworded.recipe
    assert first.recipe != other.recipe
    assert first.recipe.startswith("mine/")


def test_rules_keep_the_order_of_the_file(read_toml: ReadRules) -> None:
    rules = read_toml(
        "[rules.second]\ndescription='b'\nuser_text='checkout'\n[rules.first]\ndescription='a'\nuser_text='test'\n"
    )
    assert [rule.name for rule in rules] == ["second", "first"]
    assert marks(rules, turn()) == ["second"]


def test_no_turns_give_no_marks(read_toml: ReadRules) -> None:
    rules = read_toml(rule("tool_calls.name = 'a'\nsteering = 'b'\nuser_text = 'c'\nnot.cwd = 'd'"))
    assert noise.mark(pl.LazyFrame(schema=schema.TURNS.polars), rules).collect().height == 0


def test_the_sample_file_says_what_it_does() -> None:
    rules = noise.read_rules(EXAMPLE)
    assert [rule.name for rule in rules] == ["release_bot", "spelling", "weather", "scratch"]
    assert [rule.enabled_by_default for rule in rules] == [True, True, True, False]
    turns = [
        turn("p0", user_text="Release v1.2", git_branch="hotfix/7"),
        turn("p1", user_text="fix the typo in line 3", tool_calls=(tool("Edit", "a.md"),)),
        turn("p2", user_text="fix the typo in line 3", tool_calls=(tool("Bash", "sed -i a.md"),)),
        turn("p3", tool_calls=(tool("get_forecast", "Oslo"),)),
        turn("p4", tool_calls=(tool("get_forecast", "Oslo"), tool("Edit", "a.md"))),
        turn("p5", cwd="/home/dev/scratch/a"),
    ]
    assert marks(rules, *turns) == ["release_bot", "spelling", None, "weather", None, "scratch"]


INVALID = {
    "[rules.mine\n": ["not valid TOML", "line 1"],
    "[rules.mine]\ndescription = 'a'\nuser_text = a\n": ["not valid TOML", "line 3"],
    "": ["contains no rule", "[rules.NAME]"],
    "[rule.mine]\ndescription = 'a'\n": ["`rule`", "[rules.NAME]"],
    "rules = 3\n": ["[rules.NAME]"],
    "[rules.mine]\nuser_text = 'a'\n": ["`mine`", "`description`"],
    "[rules.mine]\ndescription = ' '\nuser_text = 'a'\n": ["`mine`", "`description` is empty"],
    "[rules.mine]\ndescription = 7\nuser_text = 'a'\n": ["`mine`", "description"],
    "[rules.Mine]\ndescription = 'a'\nuser_text = 'a'\n": ["`Mine`", "lowercase letters"],
    "[rules.no_response]\ndescription = 'a'\nuser_text = 'a'\n": [
        "`no_response`",
        "choose another",
    ],
    "[rules.no_tool_calls]\ndescription = 'a'\nuser_text = 'a'\n": [
        "`no_tool_calls`",
        "choose another",
    ],
    "[rules.empty]\ndescription = 'a'\nuser_text = 'a'\n": ["`empty`", "choose another"],
    rule(""): ["`mine`", "every turn"],
    rule("enabled = 'no'\nuser_text = 'a'"): ["`mine`", "enabled"],
    rule("prompt = 'a'"): ["`prompt`", "`user_text`", "`tool_calls.input`", "`has_activity`"],
    rule("chars = 'a'"): ["`chars`", "`user_text`"],
    rule("tool_calls = 'a'"): ["`tool_calls`", "`tool_calls.name`"],
    rule("tool_calls.is_error = 'a'"): ["`tool_calls.is_error`", "`tool_calls.result`"],
    rule("not = 'a'"): ["`not`", "not.user_text"],
    rule("not.prompt = 'a'"): ["`not`", "`prompt`", "`user_text`"],
    rule("user_text = 7"): ["`user_text`", "in quotes"],
    rule("user_text = ['a', 7]"): ["`user_text`", "in quotes"],
    rule("user_text = []"): ["`user_text`", "no pattern"],
    rule("user_text = ''"): ["`user_text`", "empty"],
    rule("user_text = '(a'"): ["`mine`", "`user_text`", "`(a`", "unclosed group", "Rust"],
    rule("user_text = 'a)|(b'"): ["`user_text`", "does not compile"],
    rule("user_text = 'a(?=b)'"): ["`a(?=b)`", "look-ahead", "Rust"],
    rule("user_text = '(a)\\1'"): ["backreferences", "Rust"],
    rule(f"user_text = '{'a' * 1001}'"): ["`mine`", "1,000 characters"],
    rule("user_text = '(a{1000}){1000}'"): ["too large", "repeat less"],
    rule(r"user_text = '\w{500}'"): ["too large", "narrower"],
    rule(r"user_text = '(?:a|b){50000}'"): ["too large"],
}


def test_an_invalid_file_is_rejected_with_one_sentence(
    subtests: pytest.Subtests, read_toml: ReadRules
) -> None:
    for content, phrases in INVALID.items():
        with subtests.test(content=content):
            with pytest.raises(BadUsage) as raised:
                read_toml(content)
            message = str(raised.value)
            assert "rules.toml" in message
            assert "\n" not in message
            assert [phrase for phrase in phrases if phrase not in message] == []


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadUsage, match=r"nowhere\.toml.*No such file.*name another"):
        noise.read_rules(tmp_path / "nowhere.toml")
    with pytest.raises(BadUsage, match="name another"):
        noise.read_rules(tmp_path)


def test_a_file_that_is_not_a_text_or_too_large_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadUsage, match="not valid TOML"):
        noise.read_rules(path)
    path.write_bytes(b"#" * 1_000_001)
    with pytest.raises(BadUsage, match="larger than 1 MB"):
        noise.read_rules(path)


def test_a_comment_in_a_pattern_ends_with_the_pattern(read_toml: ReadRules) -> None:
    rules = read_toml(rule("user_text = '(?x) check out # what it is about'"))
    assert marks(rules, turn()) == ["mine"]


HOSTILE = "ab" * 2_500_000
"""Five megabytes in which patterns can begin to match everywhere and finish nowhere."""


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|b|ab)*c", "(?:a|ab|b)*(?:a|b)*[cd]", "(a|b)*a(a|b){200}[cd]"]
)
def test_deliberately_slow_patterns_terminate(pattern: str, read_toml: ReadRules) -> None:
    rules = read_toml(rule(f"user_text = '{pattern}'"))
    assert marks(rules, turn(user_text=HOSTILE)) == [None]


def test_only_the_beginning_of_a_long_text_is_searched(read_toml: ReadRules) -> None:
    rules = read_toml(rule("user_text = 'end'"))
    within = turn(user_text="." * (user_rules.SEARCHED_CHARS - 3) + "end")
    beyond = turn("p1", user_text="." * user_rules.SEARCHED_CHARS + "end")
    assert marks(rules, within, beyond) == ["mine", None]
