"""`turnetl show` as users type it, with the ids that a search prints."""

import shutil
from pathlib import Path

import pytest

from tests.cli.archives import conversation, tool_call, tool_result, write_archive
from tests.cli.command import run_in_process
from tests.cli.test_assumed_time import MARCH

SESSION = "6beda5ed-5df4-42a1-99b8-0364221dca9b"
RESUME = f"cd /home/dev/bookshop && claude --resume {SESSION}"


@pytest.fixture(scope="module")
def folder(filled_samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the graph of the samples; it is read only."""
    return shutil.copytree(filled_samples, tmp_path_factory.mktemp("shown"), dirs_exist_ok=True)


@pytest.fixture(scope="module")
def turn_id(folder: Path) -> str:
    arguments = ("search", "why do the checkout tests fail", "-n", "1", "--json")
    return str(run_in_process(*arguments, folder=folder).json["hits"][0]["id"])


def test_a_turn_is_shown_with_prompt_steps_outcomes_and_answer(folder: Path, turn_id: str) -> None:
    result = run_in_process("show", turn_id, folder=folder)
    assert result.exit_code == 0
    headings = [
        line for line in result.stdout.splitlines() if line in ("Prompt", "Steps", "Answer")
    ]
    assert headings == ["Prompt", "Steps", "Answer"]
    assert "\n    the checkout tests fail since I pulled this morning." in result.stdout
    assert "Bash pytest -q tests/test_checkout.py  failed\n" in result.stdout
    assert "more lines (--full)" in result.stdout
    assert f"resume: {RESUME}\n" in result.stdout
    assert not any(line.endswith(" ") for line in result.stdout.splitlines())


def test_full_folds_no_outcome(folder: Path, turn_id: str) -> None:
    folded = run_in_process("show", turn_id, folder=folder).stdout
    full = run_in_process("show", turn_id, "--full", folder=folder).stdout
    assert "(--full)" not in full
    assert len(full.splitlines()) > len(folded.splitlines())


def test_the_object_of_a_turn_has_what_the_view_has(folder: Path, turn_id: str) -> None:
    shown = run_in_process("show", turn_id, "--json", folder=folder).json
    assert (shown["kind"], shown["source"], shown["resume"]) == ("turn", "lake", RESUME)
    assert shown["turn"]["files"] == ["src/bookshop/cart.py"]
    assert [step["is_error"] for step in shown["steps"]][:2] == [True, False]
    assert (shown["previous"], shown["next"]["session_id"]) == (None, SESSION)


def test_neighbours_are_the_turns_before_and_after(folder: Path, turn_id: str) -> None:
    following = run_in_process("show", turn_id, "--json", folder=folder).json["next"]
    stdout = run_in_process("show", turn_id, "--neighbours", folder=folder).stdout
    assert following["id"] in stdout
    assert "Previous turn\n    none\n" in stdout


def test_without_a_lake_the_text_is_that_of_the_graph(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / ".turnetl", tmp_path / ".turnetl")
    shutil.rmtree(tmp_path / ".turnetl/lake/episodes")
    shutil.rmtree(tmp_path / ".turnetl/lake/turns")
    shown = run_in_process("show", SESSION, "--json", folder=tmp_path).json
    turn = run_in_process("show", shown["turns"][0]["turn_id"], "--json", folder=tmp_path).json
    assert turn["source"] == "graph"
    assert turn["prompt"].startswith("the checkout tests fail")
    assert turn["steps"][0]["tool"] == "Bash"
    assert turn["steps"][0]["is_error"]


def test_a_session_is_shown_with_its_turns(folder: Path) -> None:
    result = run_in_process("show", SESSION[:8], folder=folder)
    assert result.stdout.startswith(f"session {SESSION}")
    assert "files: src/bookshop/cart.py" in result.stdout
    assert RESUME in result.stdout


def test_an_entity_is_shown_by_its_name_or_id(subtests: pytest.Subtests, folder: Path) -> None:
    for name in ("src/bookshop/cart.py", "KeyError: 'price'", "keyerror: 'PRICE'"):
        with subtests.test(name=name):
            by_name = run_in_process("show", name, "--json", folder=folder).json
            entity = by_name["entity"]["entity_id"]
            assert run_in_process("show", entity, "--json", folder=folder).json == by_name
            assert by_name["turn_count"] == len(by_name["turns"]) > 0


def test_the_turns_of_an_entity_are_those_that_name_it_in_their_text(tmp_path: Path) -> None:
    rows = [
        *conversation("Read `src/cart.py`", at=MARCH),
        tool_call("e", "Edit", MARCH, file_path="src/cart.py", old_string="x = 1", new_string="x"),
        tool_result("r", "e", "done", MARCH),
        *conversation("What is src/cart.py for?", "Not src/cart.pyc", session="s2", at=MARCH),
    ]
    archive = write_archive(tmp_path / "a.jsonl", rows)
    run_in_process("backfill", str(archive), folder=tmp_path)
    shown = run_in_process("entity", "src/cart.py", "--json", folder=tmp_path).json
    prompts = [one["turn"]["prompt"] for one in shown["turns"]]
    assert sorted(prompts) == ["Read `src/cart.py`", "What is src/cart.py for?"]


def test_a_line_of_a_shorter_copy_leads_to_the_turn_that_was_kept(tmp_path: Path) -> None:
    rows = conversation("Add a cart", "Add a tax", at=MARCH)
    long, short = (tmp_path / "archives" / name for name in ("a_long.jsonl", "b_short.jsonl"))
    write_archive(long, rows)
    write_archive(short, ["{}", *rows[:2]])
    run_in_process("backfill", str(tmp_path / "archives"), folder=tmp_path)
    of_copy = run_in_process("show", f"{short}:2", "--json", folder=tmp_path).json
    assert of_copy["turn"]["prompt"] == "Add a cart"
    kept = run_in_process("show", f"{long}:1", "--json", folder=tmp_path).json
    assert of_copy["turn"]["turn_id"] == kept["turn"]["turn_id"]


def test_the_turns_of_an_entity_are_limited_to_the_last(folder: Path) -> None:
    shown = run_in_process("show", "src/bookshop/cart.py", "-n", "1", "--json", folder=folder).json
    assert (len(shown["turns"]), shown["turn_count"]) == (1, 2)


def test_a_fact_is_shown_with_the_turns_that_state_it(folder: Path, turn_id: str) -> None:
    facts = run_in_process("show", turn_id, "--json", folder=folder).json["facts"]
    shown = run_in_process("show", facts[0]["id"], "--json", folder=folder).json
    assert shown["fact"] == facts[0]
    assert [turn["id"] for turn in shown["turns"]] == [turn_id]
    assert run_in_process("show", facts[0]["id"], folder=folder).stdout.startswith(facts[0]["text"])


def test_an_ambiguous_id_lists_what_it_may_be(folder: Path) -> None:
    result = run_in_process("show", "1", folder=folder)
    assert result.exit_code == 2
    first, second, *_ = result.messages
    assert first.startswith("turnetl: `1` is several")
    assert second.startswith("turnetl:   turn 1")


def test_an_unknown_or_empty_id_is_named_with_what_prints_ids(
    subtests: pytest.Subtests, folder: Path
) -> None:
    empty = "no id and no name is given: `turnetl search` and `turnetl timeline` print ids"
    for text in ("zzzz", "%", "[bold]", "", " "):
        with subtests.test(text=text):
            result = run_in_process("show", text, "--json", folder=folder)
            assert result.exit_code == 2
            (message,) = result.messages
            unknown = f"nothing has the id or the name `{text}`: "
            assert message.startswith(f"turnetl: {unknown if text.strip() else empty}")


def test_raw_prints_the_lines_of_the_archive(folder: Path, turn_id: str) -> None:
    turn = run_in_process("show", turn_id, "--json", folder=folder).json["turn"]
    lines = Path(turn["archive"]).read_text().split("\n")
    expected = lines[turn["first_line"] - 1 : turn["last_line"]]
    assert (
        run_in_process("show", turn_id, "--raw", folder=folder).stdout.split("\n")[:-1] == expected
    )
    unredacted = run_in_process("show", turn_id, "--raw", "--unredacted", "--json", folder=folder)
    assert unredacted.json["lines"] == expected
    assert not unredacted.json["redacted"]


@pytest.mark.full
def test_raw_needs_the_archive(tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "a.jsonl", conversation("add a cart", at=MARCH))
    assert run_in_process("backfill", archive, folder=tmp_path).exit_code == 0
    (hit,) = run_in_process("search", "cart", "--json", folder=tmp_path).json["hits"]
    archive.unlink()
    result = run_in_process("show", hit["id"], "--raw", folder=tmp_path)
    assert result.exit_code == 1
    assert "a.jsonl" in result.messages[0]


@pytest.mark.parametrize("option", [("--full",), ("--neighbours",), ("-n", "1")])
def test_an_option_without_effect_is_refused(
    option: tuple[str, ...], folder: Path, turn_id: str
) -> None:
    other = turn_id if option[0] == "-n" else "cart.py"
    kind = "a turn" if option[0] == "-n" else "an entity"
    for arguments in ((turn_id, "--raw"), (other,), (SESSION,)):
        result = run_in_process("show", *arguments, *option, folder=folder)
        assert (result.exit_code, result.stdout, len(result.messages)) == (2, "", 1)
    (message,) = run_in_process("show", other, *option, folder=folder).messages
    assert message.endswith(f"`{other}` is {kind}: leave it out")


def test_a_file_is_shown_by_every_path_that_file_takes(
    subtests: pytest.Subtests, folder: Path
) -> None:
    for path in (
        "cart.py",
        "bookshop/cart.py",
        "./src/bookshop/cart.py",
        "../bookshop/src/bookshop/cart.py",
        "/home/dev/bookshop/src/bookshop/cart.py",
    ):
        with subtests.test(path=path):
            shown = run_in_process("show", path, "--json", folder=folder).json
            assert shown == run_in_process("file", path, "--json", folder=folder).json
            assert shown["entity"]["name"] == "src/bookshop/cart.py"


def test_only_a_turn_has_lines_and_unredacted_is_an_option_of_raw(folder: Path) -> None:
    for option in ("--raw", "--unredacted"):
        result = run_in_process("show", SESSION, option, folder=folder)
        assert (result.exit_code, len(result.messages)) == (2, 1), option


def test_without_a_graph_the_message_says_how_to_make_one(tmp_path: Path) -> None:
    result = run_in_process("show", "66185fa7", folder=tmp_path)
    assert result.exit_code == 1
    assert "run `turnetl backfill`" in result.messages[0]


@pytest.mark.full
def test_escapes_and_markup_of_an_archive_are_displayed(tmp_path: Path) -> None:
    prompt = "[bold]stop[/bold] \x1b]0;owned\x07 \u202egpj.exe [link=file:///x]here[/link]"
    archive = write_archive(tmp_path / "a.jsonl", conversation(prompt, at=MARCH))
    assert run_in_process("backfill", archive, folder=tmp_path).exit_code == 0
    hits = run_in_process("search", "stop", "--json", folder=tmp_path).json["hits"]
    shown = run_in_process("show", hits[0]["id"], folder=tmp_path).stdout
    assert "[bold]stop[/bold] \\x1b]0;owned" in shown
    for stdout in (shown, run_in_process("search", "stop", folder=tmp_path).stdout):
        assert "\\u202egpj.exe [link=file:///x]here[/link]" in stdout
        assert "\x1b" not in stdout
        assert "\u202e" not in stdout


@pytest.mark.full
def test_a_preference_and_its_fact_are_shown(tmp_path: Path) -> None:
    prompt = "I prefer tabs over spaces in all Makefiles."
    archive = write_archive(tmp_path / "a.jsonl", conversation(prompt, at=MARCH))
    assert run_in_process("backfill", archive, folder=tmp_path).exit_code == 0
    (hit,) = run_in_process("search", "--label", "Preference", "--json", folder=tmp_path).json[
        "hits"
    ]
    assert hit["relation"] == "PREFERS"
    facts = run_in_process("show", hit["id"], "--json", folder=tmp_path).json["facts"]
    (fact_id,) = (fact["id"] for fact in facts if fact["relation"] == "PREFERS")
    shown = run_in_process("show", fact_id, "--json", folder=tmp_path).json
    (preference,) = (
        end["name"] for end in (shown["source"], shown["target"]) if end["labels"] == ["Preference"]
    )
    for text in (preference, fact_id):
        assert hit["fact"] in run_in_process("show", text, folder=tmp_path).stdout
