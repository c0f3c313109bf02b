"""The catalog of templates: which file wins, its cost, its problems."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from graphiti_core.prompts.extract_nodes import extract_message

from tests.printed import printed
from turnetl.base.errors import BadUsage
from turnetl.base.results import plain
from turnetl.episodes.chunking import estimate_tokens
from turnetl.extraction.catalog import CatalogEntry, catalog, select
from turnetl.extraction.config import DEFAULT_TEMPLATE, ExtractionConfig, parse_template_file
from turnetl.extraction.ontology import CODING
from turnetl.extraction.templates import (
    MAX_BYTES,
    TEMPLATES_FOLDER,
    TemplateResolver,
    built_in_folder,
    search_folders,
)
from turnetl.views import templates as report

BUILT_IN = {
    "code-heavy-turn.md": 470,
    "conversational-turn.md": 450,
    "default-session-turn.md": 700,
    "error-heavy-turn.md": 450,
    "tool-heavy-turn.md": 450,
}
"""Maximum tokens of each: they are paid for in two prompts of every turn that uses it."""
VALID = "Extract every Decision."


def tokens(text: str) -> int:
    return int(estimate_tokens(pl.Series([text]))[0])


class TemplateFolders:
    """Template folders of a project and a home, and the built-in one."""

    def __init__(self, root: Path) -> None:
        self.project, self.home = root / "project", root / "home"
        self.templates = TemplateResolver(search_folders(self.project, self.home))

    def put(self, text: str | bytes, name: str = "own.md", *, home: bool = False) -> Path:
        path = (self.home if home else self.project) / TEMPLATES_FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def all(self, **config: object) -> tuple[CatalogEntry, ...]:
        return catalog(ExtractionConfig.model_validate(config), self.templates, tokens)

    def entry(self, name: str = "own.md", **config: object) -> CatalogEntry:
        return select(self.all(**config), [name], self.templates)[0]


@pytest.fixture
def folders(tmp_path: Path) -> TemplateFolders:
    return TemplateFolders(tmp_path)


@pytest.mark.parametrize(("name", "max_tokens"), BUILT_IN.items())
def test_a_built_in_template_is_short_and_has_no_problems(
    name: str, max_tokens: int, folders: TemplateFolders
) -> None:
    entry = folders.entry(name)
    assert (entry.source, entry.diagnostics) == ("built-in", ())
    assert 200 < entry.tokens_per_request <= max_tokens
    named = set(re.findall(r"\*\*([A-Z][A-Za-z]+)\*\*", entry.prompt_text))
    assert {"File", "Error", "Decision", "Preference"} < named & CODING.entities.keys()


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_template_names_choices_by_phrases_as_graphiti_asks_of_every_name(
    name: str, folders: TemplateFolders
) -> None:
    rules = extract_message({"entity_types": "", "previous_episodes": [], "episode_content": "",
                             "custom_extraction_instructions": ""})[1].content  # fmt: skip
    assert "Sentence fragments or clauses" in rules
    prompt = " ".join(folders.entry(name).prompt_text.split())
    assert "**Decision**" in prompt
    assert "**Preference**" in prompt
    assert "phrase" in prompt
    assert "never by a sentence" in prompt
    assert "abstract" not in prompt


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_template_excludes_meaningless_names_and_describes_facts(
    name: str, folders: TemplateFolders
) -> None:
    prompt = " ".join(folders.entry(name).prompt_text.split())
    for word in ("temporary paths", "uuids", "hashes", "ids", "dates", '"user"'):
        assert word in prompt
    assert "**Entities**" in prompt
    assert "**Facts**" in prompt


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_template_takes_precedence_over_graphitis_rules(
    name: str, folders: TemplateFolders
) -> None:
    prompt = " ".join(folders.entry(name).prompt_text.split())
    assert "These rules override conflicting rules of this prompt." in prompt


def test_the_default_template_has_three_priorities() -> None:
    path = built_in_folder() / DEFAULT_TEMPLATE
    prompt = parse_template_file(path.read_text("utf-8"), path).prompt
    positions = [
        prompt.index(heading) for heading in ("**First", "**Second", "**Last", "**Entities**")
    ]
    assert positions == sorted(positions)


def test_every_file_is_listed_once_and_also_every_name_in_the_config(
    folders: TemplateFolders,
) -> None:
    folders.put(VALID)
    folders.put(VALID, "own.md", home=True)
    names = [entry.name for entry in folders.all(preprocessing_prompt="missing.md")]
    assert names == [*sorted([*BUILT_IN, "own.md", "missing.md"]), "ontology/coding.toml"]


def test_the_winning_file_lists_the_files_it_overrides(folders: TemplateFolders) -> None:
    project_file = folders.put(VALID, DEFAULT_TEMPLATE)
    home_file = folders.put("Extract a Tool.", DEFAULT_TEMPLATE, home=True)
    entry = folders.entry(DEFAULT_TEMPLATE)
    assert (entry.path, entry.source, entry.prompt_text) == (project_file, "project", VALID)
    assert entry.overrides == (home_file, built_in_folder() / DEFAULT_TEMPLATE)
    project_file.unlink()
    assert folders.entry(DEFAULT_TEMPLATE).source == "home"


def test_a_project_folder_that_is_the_home_folder_overrides_nothing(tmp_path: Path) -> None:
    folders = TemplateFolders(tmp_path)
    folders.templates = TemplateResolver(search_folders(folders.project, folders.project))
    folders.put(VALID)
    assert folders.entry().overrides == ()


def test_instructions_are_paid_in_two_prompts_and_each_half_of_an_ontology_in_one(
    folders: TemplateFolders,
) -> None:
    folders.put(VALID)
    entry, ontology = folders.entry(), folders.entry("ontology/coding.toml")
    assert (entry.tokens_per_request, entry.tokens_per_turn) == (tokens(VALID), 2 * tokens(VALID))
    halves = [tokens(half) for half in CODING.prompt_texts]
    assert (ontology.tokens_per_request, ontology.tokens_per_turn) == (max(halves), sum(halves))


def test_an_entry_names_the_turns_that_use_it(folders: TemplateFolders) -> None:
    config: dict[str, Any] = {
        "preprocessing_prompt": None,
        "kinds": {"error_heavy": "own.md"},
        "groups": {
            "shop": {"preprocessing_prompt": "own.md"},
            "bank": {"kinds": {"ordinary": "own.md", "code_heavy": "Be precise."}},
        },
    }
    folders.put(VALID)
    used_for = ("error_heavy turns", "turns of shop", "ordinary turns of bank")
    assert folders.entry(**config).used_for == used_for
    assert folders.entry(DEFAULT_TEMPLATE, **config).used_for == ()
    shop_only: dict[str, Any] = {"shop": {**config["groups"]["shop"], "kinds": {"ordinary": None}}}
    assert folders.entry(groups=shop_only).used_for == ("other turns of shop",)
    assert folders.entry(DEFAULT_TEMPLATE, groups=shop_only).used_for == ("all other turns",)
    assert folders.entry(DEFAULT_TEMPLATE).used_for == ("all turns",)
    assert folders.entry("ontology/coding.toml").used_for == ("all turns",)
    assert folders.entry("ontology/coding.toml", ontology=None).used_for == ()


def test_instructions_in_the_config_are_listed_first_with_their_cost(
    folders: TemplateFolders,
) -> None:
    config: dict[str, Any] = {
        "preprocessing_prompt": VALID,
        "kinds": {"error_heavy": "Be brief.", "code_heavy": VALID},
    }
    first, second, *others = folders.all(**config)
    assert (first.name, first.prompt_text, first.source) == ("inline 1", VALID, "config")
    assert first.used_for == ("all other turns", "code_heavy turns")
    assert first.tokens_per_turn == 2 * tokens(VALID)
    assert (second.name, [diagnostic.severity for diagnostic in second.diagnostics]) == (
        "inline 2",
        ["warning"],
    )
    assert [entry.name for entry in others if entry.source == "config"] == []


def test_the_digest_covers_the_prompt_text_only(folders: TemplateFolders) -> None:
    folders.put(VALID)
    first = folders.entry().digest
    folders.put(f"---\nname: fine\n---\n\n{VALID}\n")
    assert folders.entry().digest == first
    folders.put(VALID + " And more.")
    assert folders.entry().digest != first


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b" \n", "is empty"),
        (b"x" * (MAX_BYTES + 1), "bytes, more than 65,536"),
        (b"\xff\xfe\x00", "is not UTF-8 text"),
        (b"a\x00b", "is not text"),
        (b"---\nname: x\n", "line 1: front matter begins here and has no end"),
        (b"---\nname: [\n---\nRead.", "line 2: invalid YAML"),
        (b"---\nnoise_patterns: ['(']\n---\nRead.", "noise pattern `(` does not compile"),
        (b"---\nfocus_areas: all\n---\nRead.", "`focus_areas` must be a list"),
        (b"---\nname: bare\n---\n", "has neither instructions nor noise patterns"),
        (b"---\nLook.\n", "write a horizontal rule as `***`"),
    ],
)
def test_an_invalid_file_is_an_error_and_still_overrides_those_in_later_folders(
    data: bytes, message: str, folders: TemplateFolders
) -> None:
    path = folders.put(data)
    folders.put(VALID, home=True)
    entry = folders.entry()
    [diagnostic] = entry.diagnostics
    assert diagnostic.severity == "error"
    assert diagnostic.message.startswith(message) or message in diagnostic.message
    assert str(path) not in diagnostic.message
    assert (entry.path, entry.is_broken, entry.prompt_text, entry.digest) == (path, True, "", "")


def test_an_unreadable_template_is_an_error() -> None:
    unreadable = Path("/proc/self/mem")
    if not unreadable.exists():
        pytest.skip("this platform has no file that nobody can read")
    assert TemplateResolver([]).read_text(unreadable) == (
        None,
        "cannot be read (Input/output error)",
    )


@pytest.mark.parametrize("ontology", [False, True])
def test_the_text_of_a_file_elsewhere_is_not_read_through_a_link(
    ontology: bool, folders: TemplateFolders, tmp_path: Path
) -> None:
    private = tmp_path / "private.md"
    private.write_text(VALID)
    name = "ontology/own.toml" if ontology else "own.md"
    path = folders.home / TEMPLATES_FOLDER / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(private)
    entry = folders.entry(name)
    assert [diagnostic.message for diagnostic in entry.diagnostics] == [
        "is a symbolic link that leads out of its folder"
    ]
    assert (entry.is_broken, entry.prompt_text) == (True, "")


def test_a_link_inside_the_folder_of_templates_is_followed(folders: TemplateFolders) -> None:
    other = folders.put(VALID).rename(folders.project / TEMPLATES_FOLDER / "other.md")
    other.with_name("own.md").symlink_to("other.md")
    assert folders.entry().prompt_text == VALID


@pytest.mark.parametrize("path_type", ["folder", "pipe", "broken link", "link to itself"])
def test_a_path_that_is_not_a_file_is_an_error_and_still_overrides(
    path_type: str, folders: TemplateFolders
) -> None:
    folders.put(VALID, home=True)
    path = folders.put(VALID)
    path.unlink()
    create: dict[str, Callable[[], None]] = {
        "folder": path.mkdir,
        "pipe": lambda: os.mkfifo(path),
        "broken link": lambda: path.symlink_to("does-not-exist.md"),
        "link to itself": lambda: path.symlink_to(path.name),
    }
    create[path_type]()
    entry = folders.entry()
    assert [(diagnostic.severity, diagnostic.message) for diagnostic in entry.diagnostics] == [
        ("error", "is not a file")
    ]
    assert (entry.path, entry.is_broken) == (path, True)
    assert folders.templates.load("own.md") is None


def test_line_endings_and_byte_order_marks_do_not_change_the_digest(
    folders: TemplateFolders,
) -> None:
    text = f"---\nnoise_patterns: [x]\n---\n{VALID}\n\nAnd each Error.\n"
    folders.put(text)
    first = folders.entry()
    folders.put(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert (folders.entry().prompt_text, folders.entry().digest) == (
        first.prompt_text,
        first.digest,
    )
    folders.put(b"\xef\xbb\xbf" + VALID.encode())
    assert folders.entry().prompt_text == VALID


@pytest.mark.parametrize("word", ["default-session-turn", "OWN.MD", "none", "true", " false "])
def test_one_word_instructions_are_a_warning(word: str, folders: TemplateFolders) -> None:
    [diagnostic] = folders.entry("inline 1", preprocessing_prompt=word).diagnostics
    assert diagnostic.severity == "warning"
    assert f"`{word.strip()}`" in diagnostic.message
    assert "`null` in a config" in diagnostic.message


def test_a_template_that_the_config_names_and_no_folder_has_is_an_error(
    folders: TemplateFolders,
) -> None:
    entry = folders.entry("missing.md", kinds={"error_heavy": "missing.md"})
    [diagnostic] = entry.diagnostics
    assert diagnostic.severity == "error"
    assert str(folders.project / TEMPLATES_FOLDER) in diagnostic.message
    assert (entry.path, entry.source, entry.used_for) == (None, None, ("error_heavy turns",))
    missing = folders.entry("ontology/missing.toml", ontology="missing.toml")
    assert missing.is_broken


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"---\nnoise_pattern: [x]\n---\n{VALID}",
            "unknown key `noise_pattern`; known keys are name",
        ),
        ("---\nnoise_patterns: [x]\n---\n", "has no instructions"),
        ("Be brief.", "names no entity type of the ontology: File, Symbol"),
        (f"{VALID} " * 200, "700 are usually enough"),
    ],
)
def test_a_template_that_can_be_improved_has_a_warning(
    text: str, message: str, folders: TemplateFolders
) -> None:
    folders.put(text)
    entry = folders.entry()
    [diagnostic] = entry.diagnostics
    assert diagnostic.severity == "warning"
    assert message in diagnostic.message
    assert not entry.is_broken


def test_an_identical_copy_of_an_overridden_file_is_a_warning(folders: TemplateFolders) -> None:
    built_in = built_in_folder() / DEFAULT_TEMPLATE
    folders.put(built_in.read_bytes(), DEFAULT_TEMPLATE)
    [diagnostic] = folders.entry(DEFAULT_TEMPLATE).diagnostics
    assert (diagnostic.severity, str(built_in) in diagnostic.message) == ("warning", True)


def test_the_entity_types_are_those_of_the_configured_ontology(folders: TemplateFolders) -> None:
    folders.put("[entities]\nRecipe = 'A dish.'\n", "ontology/kitchen.toml")
    folders.put("Extract every Recipe.")
    assert folders.entry(ontology="kitchen.toml").diagnostics == ()
    assert folders.entry(ontology=None).diagnostics == ()
    assert len(folders.entry().diagnostics) == 1


def test_an_invalid_ontology_lists_all_its_errors(folders: TemplateFolders) -> None:
    folders.put("[entities]\nEntity = 'x'\nFile = 7\n", "ontology/coding.toml")
    entry = folders.entry("ontology/coding.toml")
    assert [diagnostic.severity for diagnostic in entry.diagnostics] == ["error", "error"]
    assert entry.prompt_text == ""


def test_an_unknown_name_is_rejected_with_the_known_names(folders: TemplateFolders) -> None:
    with pytest.raises(BadUsage, match=r"`nothing\.md`.*default-session-turn\.md"):
        folders.entry("nothing.md")
    assert folders.entry("coding.toml").name == "ontology/coding.toml"
    assert select(folders.all(), [], folders.templates) == folders.all()


def test_the_report_names_winning_and_overridden_files_and_their_problems(
    folders: TemplateFolders,
) -> None:
    project_file = folders.put("Be brief.", DEFAULT_TEMPLATE)
    folders.put(b"\xff")
    entries = folders.all()
    listed = printed(report.view(entries), soft_wrap=True)
    assert f"{project_file} overrides {built_in_folder() / DEFAULT_TEMPLATE}" in listed
    assert "project (broken)" in listed
    assert "all turns" in listed
    problems = printed(report.diagnostics(entries), soft_wrap=True)
    assert f"{project_file}: warning: names no entity type" in problems
    assert "own.md: error: is not UTF-8 text" in problems
    assert "7 templates checked: 1 error, 1 warning." in problems


def test_an_error_fails_the_check_and_a_warning_does_not(folders: TemplateFolders) -> None:
    folders.put("Be brief.")
    assert report.exit_code(folders.all()) == 0
    folders.put(b"\xff")
    assert report.exit_code(folders.all()) == 1


def test_the_shown_text_is_exactly_the_text_for_the_model(folders: TemplateFolders) -> None:
    folders.put(f"---\nfocus_areas: [prices]\n---\n{VALID}")
    entry = folders.entry(preprocessing_prompt="own.md")
    config = ExtractionConfig(preprocessing_prompt="own.md")
    assert report.text(entry) == config.resolve_prompt(folders.templates)
    folders.put(b" ")
    with pytest.raises(BadUsage, match=r"own\.md` is empty"):
        report.text(folders.entry())


def test_the_json_has_name_text_and_diagnostics(folders: TemplateFolders) -> None:
    folders.put("Be brief.")
    entry = plain(folders.entry())
    assert entry["name"] == "own.md"
    assert entry["text"] == "Be brief."
    assert entry["diagnostics"][0]["severity"] == "warning"
