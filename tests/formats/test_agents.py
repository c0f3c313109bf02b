"""Agents with a small reader each: what is particular in their archives.

Each sample in tests/archives/<format> shows one difficulty; the contract of all formats is in
`test_contract`.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.formats.usage import tokens
from turnetl import formats
from turnetl.base.model import ClosedBy
from turnetl.base.reason import SkipReason
from turnetl.formats.port import ParsedArchive, RawTurn
from turnetl.parsing.side_files import SIDE_FILES
from turnetl.views.sources import not_recorded

ARCHIVES = Path(__file__).parents[1] / "archives"
AGENTS = {
    format_.name
    for format_ in formats.FORMATS
    if format_.reader.startswith("agents.") or format_.name == formats.CODEX_HISTORY
}


def read(name: str) -> ParsedArchive:
    """Read `<format>/<file>` as the format that recognises it."""
    data = (ARCHIVES / name).read_bytes()
    format_ = formats.sniff(data)
    assert format_ is not None
    assert format_.name == name.partition("/")[0]
    return format_.read(data)


def calls(turn: RawTurn) -> list[tuple[str, str, str, bool]]:
    return [(call.name, call.input, call.result, call.is_error) for call in turn.tool_calls]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


PROMPTS = {
    "copilot/tools.jsonl": [
        "Why does the till round down?",
        "Mend it, and ask me which way to round.",
    ],
    "copilot/subagent.jsonl": ["Find every place that prints a receipt.", "[receipt.png]"],
    "copilot_chat/session.json": ["Why is the shelf empty?", "Mend it", "[image]"],
    "copilot_chat/log.jsonl": ["Why is the shelf empty?", "Mend it"],
    "pi/tools.jsonl": ["Sort the shoes by size.", "No, by colour.", "[image]"],
    "pi/droid.jsonl": ["Print the price on @tag.py"],
    "pi/droid_worker.jsonl": [],
    "pi/openclaw.jsonl": ["How many boxes are left?"],
    "pi/trace.jsonl": ["When do we open?"],
    "atif/trajectory.json": ["Count the atlases", "Sell one"],
    "atif/short.json": ["Is the shop open?"],
    "cursor/tools.jsonl": ["Count the books that are in stock", "And the ones that are lent?"],
    "cursor/plain.jsonl": ["Is the shop open?"],
    "cursor/timed.jsonl": ["Weigh the parcels", "And the boxes?", "Send them"],
    "qwen/tools.jsonl": ["Why is @cart.py slow?", "Read them once."],
    "kiro/tools.jsonl": ["Which shelf is full?", "[image]"],
    "kiro/lines.jsonl": ["Move the maps\n\nto shelf 5."] * 2,
    "chatgpt/export.json": [
        "Which book sells best?",
        "[image]\n\nDraw its sales",
        "When do we open?",
    ],
    "chatgpt/indented.json": ["Which book sells best?", "[image]\n\nDraw its sales"],
    "claude_ai/export.json": [
        "Shorten this label.\n\nBooks of the nineteenth century\n\n[labels.csv]",
        "[shelf.png]",
        "Is it raining?",
    ],
    "cline/tasks.json": ["fix it"],
    "cline/xml.json": ["Add a till"],
    "cline/bare.json": ["Name the shop"],
    "cline/roo.json": ["Add a till", "Now print the receipt"],
    "cline/session.json": ["Weigh the parcels", "Try sudo"],
    "cline/delegated.json": [],
    "antigravity/tools.jsonl": ["List the shelves", "Add it"],
    "antigravity/short.jsonl": ["Is a shelf free?"],
    "amp/thread.json": ["Price the maps", "[image]"],
    "amp/short.json": ["Count them"],
    "kimi/tools.jsonl": ["Why is the box open?", "Make one"],
    "kimi/torn.jsonl": ["Close it"],
    "aider/.aider.chat.history.md": [
        "Sum the cart,\n\nwith a discount",
        "/ask why is the total negative?",
        "Mend it",
        "Mend it",
    ],
    "goose/tools.jsonl": ["Weigh the parcels", "Send it"],
    "goose/plain.jsonl": [f"Parcel {number}?" for number in range(1, 6)],
    "continue/session.json": ["Show the opening hours", "From nine to six"],
    "windsurf/tools.jsonl": ["Draw a sign", "Hang it up"],
    "grok/tools.jsonl": ["Count the boxes", "Buy some"],
    "grok/short.jsonl": ["Hi"],
    "deepseek/session.jsonl": ["How many readers may enter?", "Paint one"],
    "deepseek/delegated.jsonl": [],
    "goose/database.jsonl": ["Prompt 1"],
    "goose/subagent.jsonl": [],
    "cursor/subagent.jsonl": [],
    "zed/subagent.json": [],
    "kiro/database.jsonl": ["Prompt 1", "Stop"],
    "cursor/database.jsonl": ["Prompt 1", "[image]"],
    "hermes/session.jsonl": ["Prompt 1", "And the lid?"],
    "hermes/delegated.jsonl": [],
    "zed/thread.json": [
        "Why does \n\n[file:///home/dev/shop/till.py]\n\nfail?",
        "[image]",
    ],
    "zed/segments.json": ["Sum the cart"],
    "codex_history/sessions.jsonl": [
        "Add a price to each book",
        "Which tests are slow?",
        "/review the last commit",
        "continue",
        "continue",
    ],
}
CALLS = {
    "zed/thread.json": [("terminal", "pytest -q", "1 failed", True)],
    "zed/segments.json": [("read_file", "cart.py", "x = 1", False)],
    "hermes/session.jsonl": [("read", "a.py", "x = 1", False)],
    "kiro/database.jsonl": [("fs_read", "a.py", "x = 1", False)],
    "cursor/database.jsonl": [("read_file", "a.py", "x = 1", False)],
    "copilot/tools.jsonl": [
        ("view", "/home/dev/bookshop/till.py", "return int(total * 100)", False),
        ("bash", "pytest -q tests/test_till.py", "1 failed: test_rounding", True),
    ],
    "copilot_chat/log.jsonl": [
        (
            "read_file",
            "/home/dev/bookshop/shelf.py",
            "for n in range(1, 9):\n    print(n)",
            False,
        ),
        ("run_in_terminal", "pytest -q", "ERROR while calling tool: no shell", True),
    ],
    "pi/tools.jsonl": [
        ("read", "shoes.py", "SIZES = ['9', '10']", False),
        ("bash", "python shoes.py", "TypeError: '<' not supported", True),
    ],
    "pi/droid.jsonl": [
        (
            "Edit",
            "/home/dev/bookshop/tag.py :: - print('tag') + print(price)",
            "NameError: price",
            True,
        )
    ],
    "pi/trace.jsonl": [("read", "hours.txt", "nine to six", False)],
    "atif/trajectory.json": [
        ("bash", "ls atlases", "north\nsouth", False),
        ("apply_patch", "*** Begin", "no such file", True),
    ],
    "cursor/tools.jsonl": [
        ("Read", "src/stock.ts", "", False),
        ("Shell", "npm test -- stock", "", False),
    ],
    "qwen/tools.jsonl": [
        ("run_shell_command", "python -m cProfile cart.py", "12 s in prices", False),
        ("read_file", "/home/dev/shop/prices.py", "File not found: prices.py", True),
    ],
    "kiro/tools.jsonl": [
        (
            "shell",
            "python shelves.py",
            "shelf 3: 40\n\nKeyError: 'shelf 4'\nexit status: 1",
            False,
        ),
        ("read", "shelves.toml", "No such file", True),
    ],
    "claude_ai/export.json": [("repl", '{"code":"len(\'x\')"}', "RangeError", True)],
    "cline/xml.json": [
        ("read_file", "till.py", "total = 0", False),
        ("attempt_completion", '{"result":"Added."}', "", False),
    ],
    "cline/session.json": [("run_commands", "./weigh.sh", "permission denied", True)],
    "antigravity/tools.jsonl": [
        (
            "list_dir",
            '{"DirectoryPath":"/home/dev/bookshop","toolSummary":"Shelves"}',
            "shelves.py",
            False,
        ),
        ("run_command", "python shelves.py", "KeyError: 'shelf 4'", True),
    ],
    "amp/thread.json": [
        ("Read", "/home/dev/book shop/maps.csv", "1: name,price", False),
        ("Bash", "make prices", "No rule to make target", True),
    ],
    "kimi/tools.jsonl": [("Bash", "./lid.sh", "no such file", True)],
    "aider/.aider.chat.history.md": [("edit", "cart.py", "Applied edit to cart.py", False)],
    "goose/tools.jsonl": [
        ("developer__shell", "./weigh.sh", "3 kg", False),
        ("developer__text_editor", "parcels.txt", "File not found", True),
    ],
    "continue/session.json": [
        ("Read", "index.html", "<p>Closed</p>", False),
        ("Bash", "make", "No rule", True),
    ],
    "windsurf/tools.jsonl": [
        ("view_file", "/home/dev/shop/sign.txt", "Open", False),
        ("code_action", "/home/dev/shop/sign.txt :: - Open + Open until six", "", False),
        ("run_command", "make sign", "No rule", True),
    ],
    "grok/tools.jsonl": [("run_terminal_command", "./count.sh", "no boxes", True)],
    "deepseek/session.jsonl": [
        ("read", "/home/dev/bookshop/sign.txt", "no such file", True),
    ],
}
"""The calls of the first turn."""
DESCRIBED = {
    "copilot/tools.jsonl": (
        "7a1e0000-0000-4000-8000-000000000001",
        "/home/dev/bookshop",
        "gpt-5-mini",
        at("2026-04-02T08:00:10"),
        at("2026-04-02T08:00:18"),
    ),
    "copilot_chat/log.jsonl": (
        "8f000000-0000-4000-8000-000000000001",
        "/home/dev/bookshop",
        "gpt-5-mini",
        at("2026-06-01T08:03:20"),
        at("2026-06-01T08:03:29"),
    ),
    "pi/tools.jsonl": (
        "0a000000-0000-4000-8000-000000000001",
        "/home/dev/shoebox",
        "claude-sonnet-4-5",
        at("2026-05-04T09:00:05"),
        at("2026-05-04T09:00:15"),
    ),
    "pi/trace.jsonl": (
        "b1000000-0000-4000-8000-000000000001",
        None,
        "gpt-5",
        at("2026-07-01T08:00:00"),
        at("2026-07-01T08:00:04"),
    ),
    "atif/trajectory.json": (
        "9a000000-0000-4000-8000-000000000001",
        "/home/dev/bookshop",
        "gpt-5",
        at("2026-07-01T08:00:01"),
        at("2026-07-01T08:00:06"),
    ),
    "cursor/tools.jsonl": (None, None, None, None, None),
    "qwen/tools.jsonl": (
        "c4a7d2f0-0000-4000-8000-000000000001",
        "/home/dev/shop",
        "qwen3-coder-plus",
        at("2026-06-01T09:00:00"),
        at("2026-06-01T09:00:12"),
    ),
    "kiro/tools.jsonl": (
        None,
        None,
        None,
        at("2026-06-01T08:00:00"),
        at("2026-06-01T08:00:00"),
    ),
    "chatgpt/export.json": (
        "6b000000-0000-4000-8000-000000000001",
        None,
        "gpt-5",
        at("2026-06-02T08:00:01"),
        at("2026-06-02T08:00:09"),
    ),
    "claude_ai/export.json": (
        "7c000000-0000-4000-8000-000000000100",
        None,
        None,
        at("2026-06-02T08:00:01"),
        at("2026-06-02T08:00:05"),
    ),
    "codex_history/sessions.jsonl": (
        "0199a213-0000-7800-8000-000000000001",
        None,
        None,
        at("2026-06-01T08:00:00"),
        at("2026-06-01T08:00:00"),
    ),
    "cline/roo.json": (
        None,
        "/home/dev/shop",
        None,
        at("2026-06-01T08:00:00"),
        at("2026-06-01T08:01:40"),
    ),
    "cline/session.json": (
        "session_0001",
        None,
        "claude-sonnet-4-5",
        at("2026-06-05T08:00:00"),
        at("2026-06-05T08:00:09"),
    ),
    "antigravity/tools.jsonl": (
        None,
        None,
        "Gemini 3.5 Flash (High)",
        at("2026-06-10T08:00:00"),
        at("2026-06-10T08:00:09"),
    ),
    "amp/thread.json": (
        "T-01900000-0000-7000-8000-000000000001",
        "/home/dev/book shop",
        "claude-opus-4-6",
        at("2026-06-09T08:00:01"),
        at("2026-06-09T08:00:09"),
    ),
    "kimi/tools.jsonl": (
        None,
        "/home/dev/shoebox",
        "kimi-for-coding",
        at("2026-06-10T08:00:01"),
        at("2026-06-10T08:00:03"),
    ),
    "aider/.aider.chat.history.md": (
        None,
        None,
        "claude-sonnet-4-5",
        at("2026-06-15T09:00:00"),
        at("2026-06-15T09:00:00"),
    ),
    "goose/tools.jsonl": (
        "20260618_1",
        "/home/dev/shop",
        None,
        at("2026-06-18T08:00:00"),
        at("2026-06-18T08:00:06"),
    ),
    "continue/session.json": (
        "4c000000-0000-4000-8000-000000000001",
        "/home/dev/shop",
        None,
        None,
        None,
    ),
    "windsurf/tools.jsonl": (None, "/home/dev/shop", None, None, None),
    "grok/tools.jsonl": (
        "5d000000-0000-4000-8000-000000000001",
        None,
        None,
        at("2026-06-21T00:00:00"),
        at("2026-06-21T00:00:06"),
    ),
    "deepseek/session.jsonl": (
        "session-6e000000-0000-4000-8000-000000000001",
        "/home/dev/bookshop",
        None,
        at("2026-06-22T03:46:41"),
        at("2026-06-22T03:46:44"),
    ),
}
"""Session (None: derived), folder, model, start and end of the first turn."""


@pytest.mark.parametrize("name", PROMPTS)
def test_a_prompt_is_what_the_user_wrote(name: str) -> None:
    assert [turn.user_text for turn in read(name).turns] == PROMPTS[name]


@pytest.mark.parametrize("name", CALLS)
def test_a_call_has_its_result_and_error(name: str) -> None:
    assert calls(read(name).turns[0]) == CALLS[name]


@pytest.mark.parametrize("name", DESCRIBED)
def test_a_turn_has_what_the_agent_records_of_it(name: str) -> None:
    turn = read(name).turns[0]
    session = None if turn.session_id.startswith("derived-") else turn.session_id
    expected = session, turn.cwd, turn.model, turn.started_at, turn.ended_at
    assert expected == DESCRIBED[name]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pi/tools.jsonl", [(12, 300, 1000, 90, None), (5, 0, 1300, 10, None)]),
        ("atif/trajectory.json", [(300, None, 200, 80, 12), (600, None, None, 4, None)]),
        ("amp/thread.json", [(3, 1601, 13248, 70, None), (1, None, None, 5, None)]),
        ("kimi/tools.jsonl", [(120, 0, 900, 30, None)]),
        # The candidates have the reasoning in the first message, and not in the second.
        ("qwen/tools.jsonl", [(200, None, 1000, 50, 20), (1300, None, None, 25, 20)]),
    ],
)
def test_tokens_have_one_meaning(name: str, expected: list[tuple[int | None, ...]]) -> None:
    assert tokens(read(name).turns[0]) == expected


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("copilot/subagent.jsonl", 2),
        ("pi/droid_worker.jsonl", 2),
        ("qwen/tools.jsonl", 1),
        ("goose/subagent.jsonl", 2),
        ("hermes/delegated.jsonl", 2),
        ("cursor/subagent.jsonl", 2),
        ("atif/trajectory.json", 2),
        ("amp/short.json", 1),
        ("kimi/tools.jsonl", 1),
        ("cline/delegated.json", 2),
        ("deepseek/delegated.jsonl", 2),
    ],
)
def test_rows_of_a_subagent_are_counted_and_in_no_turn(name: str, rows: int) -> None:
    counts = read(name).counts
    assert counts.sidechain_rows == rows
    embedded = name in ("amp/short.json", "atif/trajectory.json")
    assert counts.skipped[SkipReason.SIDECHAIN] == (0 if embedded else rows)


@pytest.mark.parametrize(
    ("name", "closed"),
    [
        ("copilot/tools.jsonl", [ClosedBy.NEXT_PROMPT, ClosedBy.INTERRUPTED]),
        ("copilot_chat/log.jsonl", [ClosedBy.NEXT_PROMPT, ClosedBy.INTERRUPTED]),
        ("pi/tools.jsonl", [ClosedBy.NEXT_PROMPT, ClosedBy.INTERRUPTED, None]),
        ("cursor/tools.jsonl", [ClosedBy.NEXT_PROMPT, ClosedBy.INTERRUPTED]),
        ("amp/thread.json", [ClosedBy.INTERRUPTED, None]),
        ("kimi/tools.jsonl", [ClosedBy.NEXT_PROMPT, ClosedBy.INTERRUPTED]),
    ],
)
def test_an_interruption_closes_a_turn(name: str, closed: list[ClosedBy | None]) -> None:
    assert [turn.closed_by for turn in read(name).turns] == closed


def test_what_the_user_says_while_the_agent_works_is_in_the_turn() -> None:
    assert read("qwen/tools.jsonl").turns[0].steering == ["prices is a package"]
    copilot = read("copilot/tools.jsonl").turns[1]
    assert copilot.user_answers == ["Half even, as the bank does"]


def test_a_prompt_for_a_subagent_is_kept_with_its_call() -> None:
    (turn, _) = read("copilot/subagent.jsonl").turns
    assert turn.subagent_prompts == ["List calls of print_receipt"]
    assert calls(turn)[0][2] == "One place: till.py:9"


def test_a_resumed_session_of_copilot_changes_folder_and_branch() -> None:
    turn = read("copilot/subagent.jsonl").turns[1]
    assert (turn.cwd, turn.git_branch) == ("/home/dev/bookshop/web", "receipts")


def test_a_log_of_changes_gives_the_turns_of_the_chat_that_it_ends_in() -> None:
    logged, chat = read("copilot_chat/log.jsonl"), read("copilot_chat/session.json").turns
    assert [(turn.first_line, turn.last_line) for turn in logged.turns] == [(3, 7), (8, 8)]
    for one, other in zip(logged.turns, chat, strict=False):
        assert (one.native_id, one.assistant_texts) == (other.native_id, other.assistant_texts)
        assert calls(one) == calls(other)
    assert chat[0].assistant_texts == ["I look at `shelf.py`.", "It counts from one."]
    first, second = calls(chat[1])
    assert first == ("run_in_terminal", "sed -i s/1/0/ shelf.py", "denied", True)
    assert second[0::2] == ("runSubagent", "nine")
    assert chat[1].subagent_prompts == ["Count the books"]
    assert logged.counts.sidechain_rows == 1
    assert logged.counts.skipped == {
        SkipReason.STATE: 3,
        SkipReason.OTHER: 1,
        SkipReason.NO_TEXT: 1,
    }


def test_cursors_mark_of_hidden_reasoning_is_no_answer() -> None:
    turn = read("cursor/tools.jsonl").turns[0]
    assert turn.assistant_texts == ["I look at the stock.", "There are twelve."]


def test_the_time_that_newer_versions_of_cursor_write_into_a_prompt_is_read() -> None:
    assert [turn.started_at for turn in read("cursor/timed.jsonl").turns] == [
        at("2026-09-03T18:21:00"),
        at("2026-09-04T15:35:00"),
        None,
    ]


def test_a_fork_of_pi_repeats_a_turn_with_its_id() -> None:
    data = (ARCHIVES / "pi/tools.jsonl").read_bytes()
    fork = data.replace(b"0a000000-0000-4000-8000-000000000001", b"another")
    pi = formats.by_name("pi")
    assert pi is not None
    first, second = pi.read(data).turns, pi.read(fork).turns
    assert [turn.native_id for turn in first] == [turn.native_id for turn in second]
    assert first[0].session_id != second[0].session_id


def test_other_branches_of_a_chat_are_counted_and_in_no_turn() -> None:
    parsed = read("chatgpt/indented.json")
    assert [turn.assistant_texts for turn in parsed.turns] == [["The cookbook."], ["Here it is."]]
    lines = (ARCHIVES / "chatgpt/indented.json").read_text(encoding="utf-8").splitlines()
    # The response and the prompt that were written again have 24 lines each.
    assert parsed.counts.skipped[SkipReason.SUPERSEDED] == 48
    assert calls(parsed.turns[1]) == [("python", "plot(sales)", "done", False)]
    assert [lines[turn.first_line - 1].strip() for turn in parsed.turns] == [
        '"u1": {',
        '"u2b": {',
    ]


def test_a_chat_without_its_current_node_is_read_to_its_last_message() -> None:
    assert read("chatgpt/export.json").turns[2].assistant_texts == ["At nine."]


def test_each_conversation_of_an_export_is_a_session() -> None:
    for name in ("chatgpt/export.json", "claude_ai/export.json"):
        first, second, third = read(name).turns
        assert first.session_id == second.session_id != third.session_id
        assert (first.closed_by, second.closed_by) == (ClosedBy.NEXT_PROMPT, None)


def test_a_line_of_the_history_that_is_no_prompt_is_counted_under_its_reason() -> None:
    assert read("codex_history/sessions.jsonl").counts.skipped == {
        SkipReason.LOCAL_COMMAND: 1,
        SkipReason.SHELL_COMMAND: 1,
        SkipReason.DUPLICATE: 1,
        SkipReason.INVALID_JSON: 1,
    }


def test_what_the_user_tells_roo_within_a_result_is_an_answer_or_the_next_prompt() -> None:
    first, second = read("cline/roo.json").turns
    assert first.user_answers == ["not without the fixtures", "Euro"]
    assert first.assistant_texts == ["I read the till first.", "Added a till."]
    assert [call.is_error for call in first.tool_calls] == [False, True, False, False]
    assert second.user_text == "Now print the receipt"
    assert read("cline/roo.json").counts.skipped[SkipReason.CONTEXT] == 1


def test_calls_that_old_versions_of_cline_write_as_xml_are_no_text() -> None:
    assert read("cline/xml.json").turns[0].assistant_texts == ["I look.", "Added."]


@pytest.mark.parametrize("name", ["cursor/plain.jsonl", "cline/tasks.json"])
def test_sessions_without_id_and_time_differ_by_their_first_response(name: str) -> None:
    data = (ARCHIVES / name).read_bytes()
    format_ = formats.by_name(name.partition("/")[0])
    assert format_ is not None
    other = data.replace(b"Until six", b"Until seven").replace(b"Done", b"Not done")
    (first,), (second,) = format_.read(data).turns, format_.read(other).turns
    assert first.user_text == second.user_text
    assert first.native_id != second.native_id


def recorded(parsed: ParsedArchive) -> Iterator[str]:
    """Yield what an archive records, in the words of `RECORDED`."""
    if parsed.counts.sidechain_rows:
        yield "subagents"
    if parsed.cwd:
        yield "folder"
    for turn in parsed.turns:
        made = turn.tool_calls
        facts = {
            "answers": turn.assistant_texts,
            "calls": made,
            "results": any(call.result for call in made),
            "errors": any(call.is_error for call in made),
            "times": turn.started_at,
            "tokens": turn.usage,
            "subagents": turn.subagent_prompts,
            "session": not turn.session_id.startswith("derived-"),
            "folder": turn.cwd,
            "model": turn.model,
        }
        yield from (name for name, is_there in facts.items() if is_there)


def test_an_agent_records_what_its_format_declares(subtests: pytest.Subtests) -> None:
    for format_ in formats.FORMATS:
        with subtests.test(name=format_.name):
            samples = (path.read_bytes() for path in (ARCHIVES / format_.name).iterdir())
            shown = {name for data in samples for name in recorded(format_.read(data))}
            for side in SIDE_FILES.get(format_.name, ()):
                shown |= {*(["folder"] if side.folder else []), *(["model"] if side.model else [])}
            assert shown <= {*format_.records}
            if format_.name in AGENTS:
                assert shown == {*format_.records}


def test_the_table_of_the_documentation_is_the_declaration() -> None:
    page = (ARCHIVES.parents[1] / "docs" / "formats.md").read_text(encoding="utf-8")
    told = {one.name: text for one in formats.FORMATS if (text := not_recorded(one))}
    table = "".join(f"| `{name}` | {text} |\n" for name, text in told.items())
    assert f"| format | not recorded |\n|---|---|\n{table}\n" in page, table


def test_pieces_of_a_text_are_one_answer() -> None:
    assert read("grok/tools.jsonl").turns[0].assistant_texts == ["I count.", "There are none."]
    assert read("grok/short.jsonl").turns[0].assistant_texts == ["What now?"]


def test_each_chat_of_aider_is_a_session_whose_first_prompt_has_its_time() -> None:
    parsed = read("aider/.aider.chat.history.md")
    first, second, third, other = parsed.turns
    assert first.session_id == third.session_id != other.session_id
    assert [second.started_at, third.started_at] == [None, None]
    assert other.started_at == at("2026-06-16T10:00:00")
    assert second.assistant_texts == [
        "The discount is larger than the cart.\n# A heading of the answer"
    ]
    assert [(turn.first_line, turn.last_line) for turn in parsed.turns] == [
        (11, 23),
        (26, 29),
        (34, 34),
        (38, 40),
    ]


def test_commands_of_aider_and_what_they_print_are_in_no_turn() -> None:
    skipped = read("aider/.aider.chat.history.md").counts.skipped
    assert (skipped[SkipReason.LOCAL_COMMAND], skipped[SkipReason.SHELL_COMMAND]) == (2, 2)


def test_tokens_of_a_subagent_are_counted_apart() -> None:
    row = {"type": "assistant", "sessionId": "s1", "agentId": "explore-1", "model": "small"}
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 2, "totalTokenCount": 11}
    answer = row | {"uuid": "u1", "message": {"parts": []}, "usageMetadata": usage}
    data = (ARCHIVES / "qwen/short.jsonl").read_bytes() + json.dumps(answer).encode()
    qwen = formats.by_name("qwen")
    assert qwen is not None
    (total,) = qwen.read(data).subagent_usage or ()
    assert (total.model, total.input_tokens, total.output_tokens) == ("small", 9, 2)


def test_the_model_of_a_turn_is_that_of_its_first_response() -> None:
    assert [turn.model for turn in read("pi/tools.jsonl").turns] == [
        "claude-sonnet-4-5",
        "gpt-5",
        "gpt-5",
    ]


LINES = sorted(path for path in ARCHIVES.glob("*/*.jsonl") if path.parent.name in AGENTS)


def test_ids_stay_while_an_archive_grows(subtests: pytest.Subtests) -> None:
    for path in LINES:
        with subtests.test(path=path):
            format_, lines = formats.by_name(path.parent.name), path.read_bytes().splitlines(True)
            assert format_ is not None
            ids = [turn.native_id for turn in format_.read(b"".join(lines)).turns]
            for end in range(len(lines)):
                turns = format_.read(b"".join(lines[:end])).turns
                # Without id and time, the first response is a part of the id.
                if turns and (turns[0].started_at or turns[0].assistant_texts):
                    assert [turn.native_id for turn in turns] == ids[: len(turns)]


def test_rows_that_were_saved_as_one_array_give_the_same_turns(subtests: pytest.Subtests) -> None:
    for path in LINES:
        with subtests.test(path=path):
            format_, rows = formats.by_name(path.parent.name), path.read_bytes().splitlines()
            assert format_ is not None
            whole = [row for row in rows if row.strip() and is_json(row)]
            array = b"[" + b",\n".join(whole) + b"]"
            assert formats.sniff(array) is format_
            read_as_lines = format_.read(b"\n".join(whole)).turns
            assert [turn.native_id for turn in format_.read(array).turns] == [
                turn.native_id for turn in read_as_lines
            ]


def is_json(row: bytes) -> bool:
    try:
        json.loads(row)
    except ValueError:
        return False
    return True
