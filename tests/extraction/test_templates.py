"""The templates that are there: which file wins, what it costs, what is wrong with it."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from rich.console import Console, RenderableType

from turnetl.episodes.tokens import estimate
from turnetl.errors import BadUsage
from turnetl.extraction import preprocessor
from turnetl.extraction.catalog import CatalogEntry, catalog, chosen
from turnetl.extraction.config import DEFAULT_TEMPLATE, ExtractionConfig
from turnetl.extraction.ontology import CODING
from turnetl.extraction.templates import LARGEST, PLACE, TemplateResolver, built_in, folders
from turnetl.output.templates import templates_output
from turnetl.report import templates as report

BUILT_IN = {
    "code-heavy-turn.md": 450,
    "conversational-turn.md": 450,
    "default-session-turn.md": 700,
    "error-heavy-turn.md": 450,
    "tool-heavy-turn.md": 450,
}
"""Tokens that each may have: it is paid for in two prompts of every turn it is for."""
FINE = "Extract every Decision."


def tokens(text: str) -> int:
    return int(estimate(pl.Series([text]))[0])


class Shelves:
    """A project and a home with folders of templates, and the built-in ones."""

    def __init__(self, root: Path) -> None:
        self.project, self.home = root / "project", root / "home"
        self.templates = TemplateResolver(folders(self.project, self.home))

    def put(self, text: str | bytes, name: str = "own.md", *, home: bool = False) -> Path:
        path = (self.home if home else self.project) / PLACE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def all(self, **said: object) -> tuple[CatalogEntry, ...]:
        return catalog(ExtractionConfig.model_validate(said), self.templates, tokens)

    def entry(self, name: str = "own.md", **said: object) -> CatalogEntry:
        return chosen(self.all(**said), [name])[0]


@pytest.fixture
def shelves(tmp_path: Path) -> Shelves:
    return Shelves(tmp_path)


@pytest.mark.parametrize(("name", "most"), BUILT_IN.items())
def test_a_built_in_template_is_short_and_nothing_is_wrong_with_it(
    name: str, most: int, shelves: Shelves
) -> None:
    entry = shelves.entry(name)
    assert (entry.place, entry.findings) == ("built-in", ())
    assert 200 < entry.tokens_a_call <= most
    assert [kind for kind in CODING.things if kind not in entry.told] == []


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_template_keeps_junk_out_and_says_what_a_fact_is(
    name: str, shelves: Shelves
) -> None:
    told = " ".join(shelves.entry(name).told.split())
    for word in ("temporary paths", "uuids", "hashes", "ids", "dates", '"user"'):
        assert word in told
    assert "**Entities**" in told
    assert "**Facts**" in told


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_template_wins_over_what_graphiti_says_of_speakers_and_ideas(
    name: str, shelves: Shelves
) -> None:
    told = " ".join(shelves.entry(name).told.split())
    assert "Where other rules of this prompt say otherwise, these count." in told


def test_the_default_one_has_the_three_ranks() -> None:
    path = built_in() / DEFAULT_TEMPLATE
    told = preprocessor.read(path.read_text("utf-8"), path).prompt
    places = [told.index(rank) for rank in ("**First", "**Second", "**Last", "**Entities**")]
    assert places == sorted(places)


def test_all_that_lies_there_is_listed_once_and_what_is_named_beside_it(shelves: Shelves) -> None:
    shelves.put(FINE)
    shelves.put(FINE, "own.md", home=True)
    names = [entry.name for entry in shelves.all(preprocessing_prompt="gone.md")]
    assert names == [*sorted([*BUILT_IN, "own.md", "gone.md"]), "ontology/coding.toml"]


def test_the_file_that_wins_says_what_it_hides(shelves: Shelves) -> None:
    mine = shelves.put(FINE, DEFAULT_TEMPLATE)
    theirs = shelves.put("Extract a Tool.", DEFAULT_TEMPLATE, home=True)
    entry = shelves.entry(DEFAULT_TEMPLATE)
    assert (entry.path, entry.place, entry.told) == (mine, "project", FINE)
    assert entry.hides == (theirs, built_in() / DEFAULT_TEMPLATE)
    mine.unlink()
    assert shelves.entry(DEFAULT_TEMPLATE).place == "home"


def test_a_project_that_is_the_home_hides_nothing_of_itself(tmp_path: Path) -> None:
    shelves = Shelves(tmp_path)
    shelves.templates = TemplateResolver(folders(shelves.project, shelves.project))
    shelves.put(FINE)
    assert shelves.entry().hides == ()


def test_instructions_are_paid_in_two_prompts_and_an_ontology_by_halves(shelves: Shelves) -> None:
    shelves.put(FINE)
    entry, kinds = shelves.entry(), shelves.entry("ontology/coding.toml")
    assert (entry.tokens_a_call, entry.tokens_a_turn) == (tokens(FINE), 2 * tokens(FINE))
    both = [tokens(half) for half in CODING.told]
    assert (kinds.tokens_a_call, kinds.tokens_a_turn) == (max(both), sum(both))


def test_a_template_says_which_turns_it_is_for(shelves: Shelves) -> None:
    said: dict[str, Any] = {
        "preprocessing_prompt": None,
        "kinds": {"error_heavy": "own.md"},
        "groups": {
            "shop": {"preprocessing_prompt": "own.md"},
            "bank": {"kinds": {"ordinary": "own.md", "code_heavy": "Said."}},
        },
    }
    shelves.put(FINE)
    used = ("error_heavy turns", "turns of shop", "ordinary turns of bank")
    assert shelves.entry(**said).used_for == used
    assert shelves.entry(DEFAULT_TEMPLATE, **said).used_for == ()
    of_shop: dict[str, Any] = {"shop": {**said["groups"]["shop"], "kinds": {"ordinary": None}}}
    assert shelves.entry(groups=of_shop).used_for == ("other turns of shop",)
    assert shelves.entry(DEFAULT_TEMPLATE, groups=of_shop).used_for == ("all other turns",)
    assert shelves.entry(DEFAULT_TEMPLATE).used_for == ("all turns",)
    assert shelves.entry("ontology/coding.toml").used_for == ("all turns",)
    assert shelves.entry("ontology/coding.toml", ontology=None).used_for == ()


def test_instructions_in_the_config_are_listed_first_with_what_they_cost(shelves: Shelves) -> None:
    said: dict[str, Any] = {
        "preprocessing_prompt": FINE,
        "kinds": {"error_heavy": "Be brief.", "code_heavy": FINE},
    }
    first, second, *others = shelves.all(**said)
    assert (first.name, first.told, first.place) == ("inline 1", FINE, "config")
    assert first.used_for == ("all other turns", "code_heavy turns")
    assert first.tokens_a_turn == 2 * tokens(FINE)
    assert (second.name, [one.grade for one in second.findings]) == ("inline 2", ["warning"])
    assert [entry.name for entry in others if entry.place == "config"] == []


def test_the_digest_is_of_what_is_told_and_of_nothing_else(shelves: Shelves) -> None:
    shelves.put(FINE)
    first = shelves.entry().digest
    shelves.put(f"---\nname: fine\n---\n\n{FINE}\n")
    assert shelves.entry().digest == first
    shelves.put(FINE + " And more.")
    assert shelves.entry().digest != first


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b" \n", "is empty"),
        (b"x" * (LARGEST + 1), "bytes, more than 65,536"),
        (b"\xff\xfe\x00", "is not UTF-8 text"),
        (b"a\x00b", "is not text"),
        (b"---\nname: x\n", "line 1: front matter begins here and has no end"),
        (b"---\nname: [\n---\nRead.", "line 2: broken YAML"),
        (b"---\nnoise_patterns: ['(']\n---\nRead.", "noise pattern `(` does not compile"),
        (b"---\nfocus_areas: all\n---\nRead.", "`focus_areas` must be a list"),
        (b"---\nname: bare\n---\n", "tells the model nothing, and leaves nothing out"),
        (b"---\nLook.\n", "write the line across as `***`"),
    ],
)
def test_what_cannot_be_used_is_an_error_and_hides_what_lies_below(
    data: bytes, says: str, shelves: Shelves
) -> None:
    path = shelves.put(data)
    shelves.put(FINE, home=True)
    entry = shelves.entry()
    [finding] = entry.findings
    assert finding.grade == "error"
    assert finding.text.startswith(says) or says in finding.text
    assert str(path) not in finding.text
    assert (entry.path, entry.is_broken, entry.told, entry.digest) == (path, True, "", "")


def test_a_template_that_cannot_be_read_is_an_error(shelves: Shelves) -> None:
    unreadable = Path("/proc/self/mem")
    if not unreadable.exists():
        pytest.skip("no file here that nobody can read")
    path = shelves.put(FINE)
    path.unlink()
    path.symlink_to(unreadable)
    [finding] = shelves.entry().findings
    assert finding.text == "cannot be read (Input/output error)"


@pytest.mark.parametrize("what", ["folder", "pipe", "link to nowhere", "link to itself"])
def test_what_is_no_file_is_an_error_and_hides_what_lies_below(what: str, shelves: Shelves) -> None:
    shelves.put(FINE, home=True)
    path = shelves.put(FINE)
    path.unlink()
    makes: dict[str, Callable[[], None]] = {
        "folder": path.mkdir,
        "pipe": lambda: os.mkfifo(path),
        "link to nowhere": lambda: path.symlink_to("nowhere.md"),
        "link to itself": lambda: path.symlink_to(path.name),
    }
    makes[what]()
    entry = shelves.entry()
    assert [(one.grade, one.text) for one in entry.findings] == [("error", "is no file")]
    assert (entry.path, entry.is_broken) == (path, True)
    assert shelves.templates.load("own.md") is None


def test_the_same_words_are_the_same_digest_whatever_wrote_them(shelves: Shelves) -> None:
    text = f"---\nnoise_patterns: [x]\n---\n{FINE}\n\nAnd each Error.\n"
    shelves.put(text)
    first = shelves.entry()
    shelves.put(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert (shelves.entry().told, shelves.entry().digest) == (first.told, first.digest)
    shelves.put(b"\xef\xbb\xbf" + FINE.encode())
    assert shelves.entry().told == FINE


@pytest.mark.parametrize("word", ["default-session-turn", "OWN.MD", "none", "true", " false "])
def test_instructions_of_one_word_are_a_warning(word: str, shelves: Shelves) -> None:
    [finding] = shelves.entry("inline 1", preprocessing_prompt=word).findings
    assert finding.grade == "warning"
    assert f"`{word.strip()}`" in finding.text
    assert "`null` in a config" in finding.text


def test_a_template_that_a_config_names_and_that_is_nowhere_is_an_error(shelves: Shelves) -> None:
    entry = shelves.entry("gone.md", kinds={"error_heavy": "gone.md"})
    [finding] = entry.findings
    assert finding.grade == "error"
    assert str(shelves.project / PLACE) in finding.text
    assert (entry.path, entry.place, entry.used_for) == (None, "", ("error_heavy turns",))
    missing = shelves.entry("ontology/gone.toml", ontology="gone.toml")
    assert missing.is_broken


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"---\nnoise_pattern: [x]\n---\n{FINE}", "`noise_pattern` means nothing; known are name"),
        ("---\nnoise_patterns: [x]\n---\n", "tells the model nothing"),
        ("Be brief.", "names no kind of thing that the ontology knows: File, Tool"),
        (f"{FINE} " * 200, "700 are enough"),
    ],
)
def test_what_could_be_better_is_a_warning(text: str, says: str, shelves: Shelves) -> None:
    shelves.put(text)
    entry = shelves.entry()
    [finding] = entry.findings
    assert finding.grade == "warning"
    assert says in finding.text
    assert not entry.is_broken


def test_a_copy_of_what_it_hides_is_a_warning(shelves: Shelves) -> None:
    below = built_in() / DEFAULT_TEMPLATE
    shelves.put(below.read_bytes(), DEFAULT_TEMPLATE)
    [finding] = shelves.entry(DEFAULT_TEMPLATE).findings
    assert (finding.grade, str(below) in finding.text) == ("warning", True)


def test_kinds_of_things_are_those_of_the_ontology_that_is_used(shelves: Shelves) -> None:
    shelves.put("[things]\nRecipe = 'A dish.'\n", "ontology/kitchen.toml")
    shelves.put("Extract every Recipe.")
    assert shelves.entry(ontology="kitchen.toml").findings == ()
    assert shelves.entry(ontology=None).findings == ()
    assert len(shelves.entry().findings) == 1


def test_an_ontology_that_cannot_be_used_says_all_that_is_wrong(shelves: Shelves) -> None:
    shelves.put("[things]\nEntity = 'x'\nFile = 7\n", "ontology/coding.toml")
    entry = shelves.entry("ontology/coding.toml")
    assert [finding.grade for finding in entry.findings] == ["error", "error"]
    assert entry.told == ""


def test_a_name_that_nothing_has_is_refused_with_those_there_are(shelves: Shelves) -> None:
    with pytest.raises(BadUsage, match=r"`nothing\.md`.*default-session-turn\.md"):
        shelves.entry("nothing.md")
    assert shelves.entry("coding.toml").name == "ontology/coding.toml"
    assert chosen(shelves.all(), []) == shelves.all()


def printed(what: RenderableType) -> str:
    console = Console(width=300, no_color=True)
    with console.capture() as shown:
        console.print(what, soft_wrap=True)
    return shown.get()


def test_the_report_names_what_wins_what_it_hides_and_what_is_wrong(shelves: Shelves) -> None:
    mine = shelves.put("Be brief.", DEFAULT_TEMPLATE)
    shelves.put(b"\xff")
    entries = shelves.all()
    listed = printed(report.table(entries))
    assert f"{mine} overrides {built_in() / DEFAULT_TEMPLATE}" in listed
    assert "project (broken)" in listed
    assert "all turns" in listed
    wrong = printed(report.diagnostics(entries))
    assert f"{mine}: warning: names no kind of thing" in wrong
    assert "own.md: error: is not UTF-8 text" in wrong
    assert "7 templates checked: 1 error, 1 warning." in wrong


def test_an_error_fails_the_check_and_a_warning_does_not(shelves: Shelves) -> None:
    shelves.put("Be brief.")
    assert report.exit_code(shelves.all()) == 0
    shelves.put(b"\xff")
    assert report.exit_code(shelves.all()) == 1


def test_what_is_shown_is_the_very_text_that_the_model_gets(shelves: Shelves) -> None:
    shelves.put(f"---\nfocus_areas: [prices]\n---\n{FINE}")
    entry = shelves.entry(preprocessing_prompt="own.md")
    config = ExtractionConfig(preprocessing_prompt="own.md")
    assert report.text(entry) == config.resolve_prompt(shelves.templates)
    shelves.put(b" ")
    with pytest.raises(BadUsage, match=r"own\.md` is empty"):
        report.text(shelves.entry())


def test_the_json_holds_all_of_it(shelves: Shelves) -> None:
    shelves.put("Be brief.")
    [said] = msgspec.to_builtins(templates_output((shelves.entry(),)))["templates"]
    assert said["name"] == "own.md"
    assert said["text"] == "Be brief."
    assert said["diagnostics"][0]["severity"] == "warning"
