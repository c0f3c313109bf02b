"""The lines of an archive: numbers, offsets and blank lines."""

from hypothesis import given
from hypothesis import strategies as st

from turnetl.formats.kit.json_archives import count_lines, iter_filled_lines, iter_lines

ARCHIVES = st.lists(st.sampled_from(["{}", "a b", "", " ", "\t", "\r", "\n", "\n\n", "\v\f"])).map(
    lambda parts: "".join(parts).encode()
)


@given(ARCHIVES)
def test_a_filled_line_has_the_number_and_the_offset_that_it_has_among_all_lines(
    data: bytes,
) -> None:
    lines = list(iter_lines(data))
    filled = [(number, start, data[start:end]) for number, start, end in iter_filled_lines(data)]
    expected = [line for line in lines if line[2].strip()]
    if lines and not lines[-1][2].strip() and not data.endswith(b"\n"):
        expected.append(lines[-1])
    assert filled == expected
    for index, (_, start, _) in enumerate(lines):
        assert count_lines(data, start) == len(lines) - index
    assert count_lines(data) == len(lines)
    assert count_lines(data, len(data)) == 0


def test_millions_of_blank_lines_are_one_step() -> None:
    data = b"{}\n" + b"\r\n" * 5_000_000 + b"{}"
    assert [number for number, _, _ in iter_filled_lines(data)] == [1, 5_000_002]
