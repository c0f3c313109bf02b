"""Fast paths of the kit, each beside the simple way to the same result."""

import json
import re
from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from turnetl.formats.kit.json_archives import first_elements
from turnetl.formats.kit.json_scanner import JsonScanner
from turnetl.formats.kit.tool_input import (
    ADDED_CHARS,
    changed_lines,
    line_changes,
    summarize_changes,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
LINES = st.sampled_from(
    ["", "  ", "}", "# Cart", "def total():", "class Cart:", "return 1", "_", "-----BEGIN KEY", "é"]
) | st.text("ABC (", max_size=300)


@given(st.lists(VALUES, max_size=6), st.sampled_from([None, 1, 2]), st.integers(0, 8), st.data())
def test_the_first_elements_are_those_that_a_scan_finds_even_of_a_truncated_array(
    values: list[object], indent: int | None, limit: int, data: st.DataObject
) -> None:
    whole = json.dumps(values, indent=indent).encode()
    encoded = whole[: data.draw(st.integers(1, len(whole)))]

    found = list(first_elements(encoded, limit))

    scanner = JsonScanner(encoded)
    assert scanner.skip(b"[")
    assert found == [raw for _, raw in islice(scanner.values(b"]"), limit)]


@given(st.lists(LINES, max_size=10), st.lists(LINES, max_size=10))
def test_both_sides_of_a_change_are_the_lines_that_only_one_text_has(
    before: list[str], after: list[str]
) -> None:
    old, new = "\n".join(before), "\n".join(after)

    removed, added = line_changes(old, new)

    assert list(removed) == list(changed_lines(old, but_not_in=new))
    assert list(added) == list(changed_lines(new, but_not_in=old))


@given(st.lists(LINES, max_size=40))
def test_a_summary_has_the_first_line_then_definitions_then_others_as_far_as_they_fit(
    lines: list[str],
) -> None:
    changed = list(changed_lines("\n".join(lines), but_not_in=""))

    summary = summarize_changes([], changed)

    distinct = list(dict.fromkeys(line for line in changed if re.search(r"\w", line)))
    if any("-----BEGIN" in line for line in distinct):
        distinct = distinct[:1]
    definitions = ("def ", "class ", "#", "type ", "enum ", "impl ", "trait ", "export ")
    by_rank = sorted(distinct[1:], key=lambda line: not line.startswith(definitions))
    selected, remaining = set(distinct[:1]), ADDED_CHARS - len("".join(distinct[:1]))
    for line in by_rank:
        if len(line) < remaining:
            selected.add(line)
            remaining -= len(line) + 1
    expected = "\n".join(line for line in distinct if line in selected)
    assert summary == (f"+ {expected}" if expected else "")
