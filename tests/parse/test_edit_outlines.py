"""What an edit changed is found in the archive, which has the texts before and after it."""

from typing import Any

import pytest

from turnetl.base.edit_outline import split_lines
from turnetl.formats.port import RawToolCall, RawTurn
from turnetl.parsing.edit_outlines import add_outlines

CART = '''"""Carts of customers."""

LIMIT = 3


class Cart:
    """A cart of one customer."""

    def total(self, tax):
        """Return the sum of all items."""
        price = sum(self.items)
        return round(price)
'''


def outline(*calls: RawToolCall) -> str:
    """Return the outline of the last call."""
    turn = RawTurn("p", "s", 0, "", 1, 1, 0, 0, tool_calls=list(calls))  # type: ignore[arg-type]
    add_outlines([turn])
    return split_lines(calls[-1].input)[1]


def call(result: str = "", original: str = "", **arguments: Any) -> RawToolCall:
    return RawToolCall("Edit", "x", result, arguments=arguments, original=original)


def edit(old: str, new: str, path: str = "cart.py", original: str = CART) -> RawToolCall:
    return call(original=original, file_path=path, old_string=old, new_string=new)


def test_the_definition_above_an_edit_is_found_in_what_was_read(
    subtests: pytest.Subtests,
) -> None:
    numbered = "\n".join(f"{at:>6}→{line}" for at, line in enumerate(CART.split("\n"), 1))
    change = edit("return round(price)", "return cents(price)", original="")
    expected = " ‖ ~Cart.total · return round(price) ⇒ return cents(price)"
    for source in (
        [call(file_path="cart.py", result=numbered)],
        [RawToolCall("Bash", "cat cart.py", CART, arguments={"command": "cat cart.py"})],
        [call(file_path="cart.py", content=CART)],
    ):
        with subtests.test(source=source[0].name):
            again = RawToolCall("Edit", "x", arguments=change.arguments)
            assert outline(*source, again).partition(" ‖ =2")[0] == expected
    assert outline(edit("return round(price)", "return cents(price)")) == expected


def test_definitions_are_added_removed_renamed_and_changed(subtests: pytest.Subtests) -> None:
    renamed = CART.replace("def total", "def grand_total")
    for path, old, new, expected in [
        ("cart.py", "LIMIT = 3", "LIMIT = 5", "~LIMIT · LIMIT = 3 ⇒ LIMIT = 5"),
        ("cart.py", CART, renamed, ">Cart.total · Cart.grand_total"),
        ("cart.py", "class A:\n    x = 1\n", "", "-A"),
        (
            "a.go",
            "",
            "// Fee is what a bank takes.\nfunc (c *Cart) Fee() int {\n",
            "+(*Cart).Fee · Fee is what a bank takes",
        ),
        ("a.ts", "", "export const load = async (id: string) => {\n}\n", "+load"),
        ("a.test.ts", "", "it('adds the tax', () => {\n})\n", "+adds the tax"),
        ("a.rs", "", "/// Adds the tax.\npub fn tax() {}\n", "+tax · Adds the tax"),
        ("a.java", "", "  public static int tax(int price) {\n  }\n", "+tax"),
        (
            "a.toml",
            "[retry]\nlimit = 3\n",
            "[retry]\nlimit = 5\n",
            "~retry.limit · limit = 3 ⇒ limit = 5",
        ),
        (
            "a.yml",
            "jobs:\n  test:\n    runs: 1\n",
            "jobs:\n  test:\n    runs: 2\n",
            "~jobs.test.runs · runs: 1 ⇒ runs: 2",
        ),
        (
            "package.json",
            "",
            ' "dependencies": {\n  "zod": "^3"\n }',
            '+dependencies.zod ·  ⇒ "zod": "^3"',
        ),
        ("a.md", "# Fees\n\nNone.\n", "# Fees\n\nTwo percent.\n", "~Fees · None. ⇒ Two percent."),
        (
            "a.css",
            ".cart {\n  top: 1px;\n}",
            ".cart {\n  top: 2px;\n}",
            "~.cart · top: 1px; ⇒ top: 2px;",
        ),
        ("a.sql", "", "CREATE TABLE IF NOT EXISTS carts (\n", "+carts"),
        ("a.py", "", "import httpx\nimport os\n", "^httpx"),
        ("a.tsx", "", "import { z } from 'zod/v4'\nimport x from './x'\n", "^zod"),
    ]:
        with subtests.test(path=path, new=new):
            assert outline(edit(old, new, path, original=old)).removeprefix(" ‖ ") == expected


def test_a_comment_in_a_code_block_of_a_document_is_no_heading() -> None:
    change = edit("# the old way\npip install shop", "# the new way\nuv add shop", "a.md", "")
    # A mark with the name of a language ends no block.
    for start in ("```sh\n", "```md\n```go\n"):
        text = f"# Install\n\n{start}# the old way\npip install shop\n```\n"
        read = call(file_path="a.md", result=text)
        found = outline(read, RawToolCall("Edit", "x", arguments=change.arguments))
        assert {part[1:].partition(" · ")[0] for part in found.split(" ‖ ")[1:]} == {"Install"}


CHANGES = [
    (
        "a.py",
        "class Config:\n    timeout: int = 3\n",
        "timeout: int = 3",
        "timeout: int = 5",
        "~Config.timeout · timeout: int = 3 ⇒ timeout: int = 5",
    ),
    (
        "b.py",
        "class A:\n    def load(self, path):\n        return read(path)\n\n\nx = 1\n",
        "path):\n        return read",
        "path, *, strict=False):\n        check(path)\n        return read",
        "~A.load ·  ⇒ (strict=False ‖ ~A.load · +check",
    ),
    (
        "c.py",
        "def f(x):\n    return g(x)\n\n\nx = 1\n",
        "g(x)",
        'g(x)\n    except KeyError as e:\n        if x is None:\n            raise ValueError("x")',
        '~f ·  ⇒ except KeyError as e ‖ ~f ·  ⇒ if x is None: raise ValueError("x")',
    ),
    (
        "a.ts",
        "export interface Options {\n  url: string;\n}\n",
        "url: string;",
        "url: string;\n  proxy?: string;",
        "+Options.proxy",
    ),
    (
        "b.ts",
        "export class Client {\n  private timeout = 30;\n}",
        "= 30",
        "= 60",
        "~Client.timeout · private timeout = 30; ⇒ private timeout = 60;",
    ),
    (
        "a.go",
        "type Config struct {\n\tTimeout int\n\tname string\n}\n",
        "name string",
        "name []byte",
        "~Config.name · name string ⇒ name []byte",
    ),
    (
        "b.go",
        "func (c *Config) Save(a int) error {\n\treturn write(c)\n}",
        "a int) error",
        "a, b int) (int, error)",
        "~(*Config).Save ·  ⇒ (b int ‖ ~(*Config).Save · -> error ⇒ -> (int, error)",
    ),
    (
        "a.rs",
        "impl Store {\n    pub fn save(&self, key: &str) {\n    }\n}",
        "key: &str",
        "key: &str, ttl: u64",
        "~Store::save ·  ⇒ (ttl: u64",
    ),
    ("b.rs", "pub enum Kind {\n    Small,\n}", "Small,", "Small,\n    Huge,", "+Kind::Huge"),
    (
        "A.java",
        "public class Cart {\n    private static final int LIMIT = 3;\n}",
        "= 3",
        "= 5",
        "~Cart.LIMIT · private static final int LIMIT = 3; ⇒ private static final int LIMIT = 5;",
    ),
    (
        "B.java",
        "public class Cart {\n    public int total(int tax) {\n    }\n}",
        "int tax",
        "int tax, Locale locale",
        "~Cart.total ·  ⇒ (Locale locale",
    ),
    (
        "a.kt",
        "class Cart {\n    fun total(tax: Int = 2): Int {\n    }\n}",
        "= 2",
        "= 7",
        "~Cart.total · (tax: Int = 2 ⇒ (tax: Int = 7",
    ),
    (
        "a.swift",
        "struct Cart {\n    let limit: Int = 3\n}",
        "= 3",
        "= 5",
        "~Cart.limit · let limit: Int = 3 ⇒ let limit: Int = 5",
    ),
    (
        "a.cpp",
        "int Store::save(int key) {\n    return write(key);\n}",
        "return",
        'if (key < 0) {\n        throw range_error("key");\n    }\n    return',
        '~Store::save ·  ⇒ if (key < 0): throw range_error("key");',
    ),
    (
        "a.h",
        "struct Config {\n    int timeout;\n};",
        "int",
        "long",
        "~Config::timeout · int timeout; ⇒ long timeout;",
    ),
    (
        "a.cs",
        "public class Cart {\n    public int Limit { get; set; } = 3;\n}",
        "= 3",
        "= 5",
        "~Cart.Limit · public int Limit { get; set; } = 3; ⇒ public int Limit { get; set; } = 5;",
    ),
    (
        "a.rb",
        "class Cart\n  def total(tax)\n    sum(tax)\n  end\nend",
        "sum(tax)",
        "sum(tax, :up)",
        "~Cart#total · sum(tax) ⇒ sum(tax, :up)",
    ),
    (
        "a.php",
        "class Cart {\n    public function total(int $tax): int {\n    }\n}",
        "$tax)",
        "$tax, bool $up = true)",
        "~Cart::total ·  ⇒ (bool $up = true",
    ),
    ("a.sh", "LIMIT=3\n", "3", "5", "~LIMIT · LIMIT=3 ⇒ LIMIT=5"),
    (
        "a.sql",
        "CREATE TABLE carts (\n  id INTEGER,\n  total REAL\n);",
        "REAL",
        "INTEGER",
        "~carts.total · total REAL ⇒ total INTEGER",
    ),
    (
        "a.json",
        '{\n  "options": {\n    "strict": false\n  }\n}',
        "false",
        "true",
        '~options.strict · "strict": false ⇒ "strict": true',
    ),
]
"""File, its text, what is replaced, by what, and what is told."""


def test_members_parameters_conditions_and_calls_are_named_in_each_language(
    subtests: pytest.Subtests,
) -> None:
    for path, text, old, new, expected in CHANGES:
        with subtests.test(path=path):
            assert outline(edit(old, new, path, original=text)) == f" ‖ {expected}"


def test_all_edits_of_a_turn_are_told_together_from_the_whole_text(
    subtests: pytest.Subtests,
) -> None:
    price, rounded = "price = sum(self.items)", "price = cents(sum(self.items))"
    for name, edits, expected in [
        (
            "added and changed",
            [("LIMIT = 3", "LIMIT = 3\nMOST = 1"), ("MOST = 1", "MOST = 2")],
            " ‖ +MOST ·  ⇒ MOST = 2",
        ),
        ("taken back", [(price, rounded), (rounded, price)], ""),
        (
            "in two steps",
            [("LIMIT = 3", "LIMIT = 4"), ("LIMIT = 4", "LIMIT = 5")],
            " ‖ ~LIMIT · LIMIT = 3 ⇒ LIMIT = 5",
        ),
        (
            "a call that moved",
            [(f"        {price}\n", ""), ("return round", f"{price}\n        return round")],
            "",
        ),
    ]:
        with subtests.test(name=name):
            calls = [edit(old, new, original="") for old, new in edits]
            told = outline(call(file_path="cart.py", result=CART), *calls)
            assert told.partition(" ‖ =2 cart.py")[2] == expected


def test_what_was_changed_before_a_checkout_is_not_told_together_with_what_follows() -> None:
    restored = RawToolCall("Bash", "git checkout -- cart.py", arguments={"command": "x"})
    first, second = edit("LIMIT = 3", "LIMIT = 4"), edit("LIMIT = 3", "LIMIT = 5")
    assert outline(first, restored, second) == " ‖ ~LIMIT · LIMIT = 3 ⇒ LIMIT = 5"


def test_comments_and_layout_are_no_change_of_a_definition() -> None:
    for old, new in [
        ('"""A cart of one customer."""', '"""A cart."""'),
        ("return round(price)", "return round(\n            price,\n        )"),
        ("return round(price)", "return round(price)  # cents"),
    ]:
        told = outline(edit(old, new)).removeprefix(" ‖ ").partition(" · ")[2]
        assert not told or told.startswith("# ")


def test_a_change_of_indentation_and_of_a_generated_file_is_none() -> None:
    assert outline(edit("    a()\n    b()\n", "  a()\n  b()\n")) == ""
    assert outline(edit('"a": 1', '"a": 2', "package-lock.json", original="")) == ""


def test_a_new_file_says_what_it_is_and_holds_and_a_patch_names_its_files() -> None:
    assert outline(call(result="File created successfully", file_path="cart.py", content=CART)) == (
        " ‖ + · Carts of customers ‖ +LIMIT ·  ⇒ LIMIT = 3 ‖ +Cart · A cart of one customer"
    )
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n@@ def total(x):\n-    return 1\n+    return 2\n"
        "*** Delete File: b.py\n*** End Patch"
    )
    assert outline(RawToolCall("apply_patch", "x", arguments={"input": patch})) == (
        " ‖ @a.py ‖ ~total · return 1 ⇒ return 2 ‖ @b.py ‖ -"
    )


def test_lines_stay_whole_until_secrets_are_redacted() -> None:
    change = edit('key = "first"', 'key = "second"', original='def load():\n    key = "first"\n')
    turn = RawTurn("p", "s", 0, "", 1, 1, 0, 0, tool_calls=[change])  # type: ignore[arg-type]
    add_outlines([turn])
    assert change.input.split("\n") == ["x", '‖ ~load · key = "first"', 'key = "second"']


def test_hostile_text_costs_no_more_than_its_length() -> None:
    texts = ["(" * 50_000, "a b " * 20_000, "def x(\n" * 4_000, '"' * 50_000, "  " * 50_000]
    for text in texts:
        for path in ("a.py", "a.ts", "a.java", "a.json", "a.md", "a.sql"):
            assert len(outline(edit(text, f"{text}\nx", path, original=text))) < len(text)
