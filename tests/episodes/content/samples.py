"""Texts of every content type, with phrases to keep and phrases to remove."""

from dataclasses import dataclass

import polars as pl

from turnetl.episodes.content import INPUT_COLUMNS

DOTS = "....................\n" * 20
"""Makes a text long enough to be condensed."""


@dataclass(frozen=True)
class Sample:
    content_type: str
    text: str
    kept: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    role: str = "run"
    failed: bool = False
    cwd: str = "/home/dev/shop"

    def __str__(self) -> str:
        return f"{self.content_type}: {self.text[:30]!r}"


def frame(*samples: Sample) -> pl.DataFrame:
    columns = {
        name: [getattr(sample, name) for sample in samples] for name in INPUT_COLUMNS.names()
    }
    return pl.DataFrame(columns, schema=INPUT_COLUMNS)


PYTHON = Sample(
    "traces",
    """Traceback (most recent call last):
  File "/usr/lib/python3.11/runpy.py", line 196, in _run_module
    return _run_code(code)
  File "/home/dev/shop/src/cart.py", line 41, in total
    return sum(prices.values())
  File "/home/dev/shop/src/tax.py", line 7, in rate
    raise UnknownCountry(code)
  File "/home/dev/shop/.venv/lib/python3.11/site-packages/iso/codes.py", line 9, in find
    return table[code]
           ~~~~~^^^^^^
shop.tax.UnknownCountry: no rate for XK
""",
    kept=("shop.tax.UnknownCountry: no rate for XK", "src/tax.py:7, in rate"),
    removed=("runpy", "codes.py", "cart.py", "/home/dev"),
)
CHAINED = Sample(
    "traces",
    """Traceback (most recent call last):
  File "cart.py", line 3, in load
    json.loads(text)
ValueError: bad digit

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "main.py", line 12, in <module>
    run()
RuntimeError: cart cannot be read
"""
    + DOTS,
    kept=("ValueError: bad digit", "RuntimeError: cart cannot be read", "main.py:12"),
    removed=("During handling", "json.loads"),
    failed=True,
)
JAVASCRIPT = Sample(
    "traces",
    """/home/dev/shop/node_modules/express/lib/router.js:12
        throw err;
TypeError: Cannot read properties of undefined (reading 'price')
    at Object.handle (/home/dev/shop/node_modules/express/lib/router.js:12:7)
    at total (/home/dev/shop/src/cart.ts:41:15)
    at main (/home/dev/shop/src/index.ts:3:1)
    at node:internal/main/run_main_module:28:49
Node.js v20.1.0
""",
    kept=("TypeError: Cannot read properties of undefined (reading 'price')", "src/cart.ts:41:15"),
    removed=("node_modules", "index.ts"),
)
JAVA = Sample(
    "traces",
    """Exception in thread "main" java.lang.IllegalStateException: cart is closed
\tat java.base/java.util.Objects.check(Objects.java:385)
\tat org.springframework.web.Servlet.run(Servlet.java:91)
\tat dev.shop.Cart.total(Cart.java:17)
\tat dev.shop.Main.main(Main.java:5)
Caused by: java.io.IOException: disk full
\tat dev.shop.Store.write(Store.java:30)
\t... 3 more
""",
    kept=(
        "IllegalStateException: cart is closed",
        "java.io.IOException: disk full",
        "Cart.java:17",
    ),
    removed=("springframework", "Objects", "Main.java"),
)
GO = Sample(
    "traces",
    """panic: runtime error: index out of range [3] with length 3

goroutine 1 [running]:
runtime.gopanic(0x0)
\t/usr/local/go/src/runtime/panic.go:884 +0x1a
main.total(...)
\t/home/dev/shop/cart/total.go:17
main.main()
\t/home/dev/shop/main.go:9 +0x1d
exit status 2
""",
    kept=("panic: runtime error: index out of range [3] with length 3", "cart/total.go:17"),
    removed=("panic.go", "main.go:9", "goroutine"),
)
RUST = Sample(
    "traces",
    """thread 'main' panicked at src/cart.rs:41:9:
called `Option::unwrap()` on a `None` value
stack backtrace:
   0: std::panicking::begin_panic_handler
             at /rustc/90b35a6/library/std/src/panicking.rs:645:5
   1: shop::cart::total
             at ./src/cart.rs:41:9
note: run with `RUST_BACKTRACE=full` for more
""",
    kept=("src/cart.rs:41:9", "called `Option::unwrap()` on a `None` value"),
    removed=("begin_panic_handler", "rustc", "note:"),
)
RUBY = Sample(
    "traces",
    """/home/dev/shop/lib/cart.rb:12:in `fetch': key not found: :price (KeyError)
\tfrom /usr/lib/ruby/gems/3.2.0/gems/rack-3.0/lib/rack.rb:4:in `call'
\tfrom /home/dev/shop/lib/cart.rb:12:in `total'
\tfrom /home/dev/shop/lib/shop.rb:90:in `pay'
\tfrom /home/dev/shop/lib/shop.rb:17:in `run'
\tfrom bin/shop:3:in `<main>'
""",
    kept=("lib/cart.rb:12", "key not found: :price (KeyError)"),
    removed=("rack", "<main>"),
)
CSHARP = Sample(
    "traces",
    """Unhandled exception. System.InvalidOperationException: Sequence contains no elements
   at System.Linq.Enumerable.First[TSource](IEnumerable`1 source)
   at Shop.Cart.Total() in /home/dev/shop/src/Cart.cs:line 41
   at Shop.Program.Main(String[] args) in /home/dev/shop/src/Program.cs:line 7
""",
    kept=("System.InvalidOperationException: Sequence contains no elements", "Cart.cs:line 41"),
    removed=("Linq", "Program.cs"),
)

DIFF = Sample(
    "diffs",
    """diff --git a/src/cart.py b/src/cart.py
index 83db48f..bf2a1c9 100644
--- a/src/cart.py
+++ b/src/cart.py
@@ -10,7 +10,8 @@ def total(self):
     prices = self.prices()
-    return sum(prices)
+    net = sum(prices)
+    return net * TAX
diff --git a/old.py b/old.py
deleted file mode 100644
--- a/old.py
+++ /dev/null
@@ -1,2 +0,0 @@
-import os
-import sys
"""
    + " keep\n" * 60,
    kept=("src/cart.py +2 -1 (def total(self))", "old.py +0 -2"),
    removed=("import os", "index 83db48f", "prices"),
)
PLAIN_DIFF = Sample(
    "diffs",
    "--- a/cart.go\t2026-03-01\n+++ b/cart.go\t2026-03-02\n@@ -1,3 +1,3 @@ func Total() int {\n"
    "-\treturn 0\n+\treturn sum\n" + " // same\n" * 60,
    kept=("cart.go +1 -1", "func Total() int"),
    removed=("return",),
)
STAT = Sample(
    "diffs",
    " src/cart.py | 3 ++-\n 1 file changed, 2 insertions(+), 1 deletion(-)\n" + DIFF.text,
    kept=("1 file changed, 2 insertions(+), 1 deletion(-)", "src/cart.py +2 -1"),
)

JSON_LIST = Sample(
    "json",
    '[{"id":"PR_kwDOQyo98M6itl7rAAAA","number":169,"title":"Round the tax","state":"OPEN",'
    '"url":"https://github.com/shop/shop/pull/169","avatar_url":"https://x.dev/a.png",'
    '"body":"Half a cent\\nis a cent.","labels":['
    + '{"color":"ededed"},' * 30
    + '{"color":"f"}]}]',
    kept=(
        "number: 169",
        "title: Round the tax",
        "state: OPEN",
        "pull/169",
        "Half a cent is a cent.",
    ),
    removed=("PR_kwDOQyo98M6itl7rAAAA", "ededed", "a.png"),
)
JSON_ERROR = Sample(
    "json",
    '{\n  "error": {"code": 422, "message": "Validation failed: name is taken"},\n  "trace": "'
    + "ab " * 100
    + '"\n}',
    kept=("message: Validation failed: name is taken", "code: 422"),
    removed=("ab ab",),
    failed=True,
)

LOG = Sample(
    "logs",
    "".join(
        f"2026-03-02 09:00:{n:02d},120 {level} shop.cart {message}\n"
        for n, (level, message) in enumerate(
            [("INFO", "started")] * 9
            + [("ERROR", "payment refused by bank")] * 3
            + [("WARNING", "slow")] * 2
            + [("ERROR", "no stock for item 7")]
        )
    ),
    kept=("9 info", "2 warnings", "4 errors", "payment refused by bank", "no stock for item 7"),
    removed=("started", "slow"),
)
BRACKETS = Sample(
    "logs",
    "[INFO] up\n[DEBUG] x\n[ERROR] disk full\n[INFO] down\n" * 9,
    kept=("18 info", "9 errors", "disk full"),
    removed=("down",),
)

PYTEST = Sample(
    "errors",
    DOTS + "E       assert 3 == 4\nFAILED tests/test_cart.py::test_total - assert 3 == 4\n"
    "1 failed, 30 passed in 2.10s\n",
    kept=("E assert 3 == 4", "tests/test_cart.py::test_total", "1 failed, 30 passed in 2.10s"),
    removed=("....",),
    failed=True,
)
NPM = Sample(
    "commands",
    "npm warn deprecated inflight\n" + "idealTree: sill\n" * 40 + "added 12 packages in 3s\n"
    "+ left-pad@1.3.0\n",
    kept=("added 12 packages in 3s", "left-pad@1.3.0"),
    removed=("sill",),
)
COMMIT = Sample(
    "commands",
    "hint: a\n" * 50 + "[main 1a2b3c4] Round the tax\n 2 files changed, 9 insertions(+)\n"
    "To github.com:shop/shop.git\n   1111111..1a2b3c4  main -> main\n"
    "remote: https://github.com/shop/shop/pull/new/tax\n",
    kept=("[main 1a2b3c4] Round the tax", "2 files changed", "main -> main", "pull/new/tax"),
    removed=("hint",),
)
COMPILER = Sample(
    "commands",
    "note\n" * 60 + "src/cart.ts:41:7: 'price' is never read\ncart.go:3:1: undefined: Total\n",
    kept=("src/cart.ts:41:7", "undefined: Total"),
    removed=("note",),
)
CACHED = Sample(
    "commands",
    "".join(f"ok  \tshop/{n}\t(cached)\n" for n in range(30)) + "ok  \tshop/cart\t0.3s\n",
    kept=("shop/cart 0.3s",),
    removed=("(cached)",),
)
SILENT = Sample(
    "commands",
    "accuracy of run 3\n" + "epoch\n" * 60 + "0.93\n",
    kept=("accuracy of run 3", "0.93"),
    removed=("epoch",),
)
TIMESTAMPS = Sample(
    "commands",
    "2026-03-02T09:00:00.1234567Z step\n" * 20 + "2026-03-02T09:00:01.1234567Z Error: no token\n",
    kept=("Error: no token",),
    removed=("1234567Z",),
)
JEST = Sample(
    "traces",
    "PASS src/a.test.ts\nFAIL src/cart.test.ts\n  ● cart adds tax\n\n    Expected: 120\n"
    "    Received: 100\n\n      at Object.<anonymous> (src/cart.test.ts:12:20)\n"
    + "quiet\n" * 50
    + "Tests:       1 failed, 9 passed, 10 total\n",
    kept=(
        *("FAIL src/cart.test.ts", "cart adds tax", "Expected: 120", "Received: 100"),
        *("src/cart.test.ts:12:20", "1 failed, 9 passed, 10 total"),
    ),
    removed=("quiet",),
)
CSHARP_TEST = Sample(
    "traces",
    "  Determining projects\n" * 30 + "  Failed Total_Adds [12 ms]\n"
    "     at Shop.Tests.Total_Adds() in /home/dev/shop/CartTests.cs:line 14\n"
    "Failed!  - Failed:     1, Passed:     9\n",
    kept=("Failed Total_Adds", "CartTests.cs:line 14", "Failed: 1, Passed: 9"),
    removed=("Determining",),
)
COMPILERS = tuple(
    Sample("commands", "quiet\n" * 90 + line, kept=(line.strip(),), removed=("quiet",))
    for line in (
        "src/cart.ts(12,7): error TS2322: Type 'a' is no 'b'.\n",
        "error[E0382]: borrow of moved value: `cart`\n",
        "Execution failed for task ':compileJava'.\n",
        "  12:7  error  'x' is never used\n".replace("  ", " "),
        "Failed asserting that 4 matches expected 3.\n",
        "Tests: 10, Assertions: 12, Failures: 1.\n",
        "Plan: 1 to add, 0 to change, 0 to destroy.\n",
        "web: string is used 3 times, make it a constant (goconst)\n",
    )
)
BROAD_CAUSE = Sample(
    "errors",
    "the file you asked for is missing\n" + "try again\n" * 40,
    kept=("the file you asked for is missing",),
    removed=("try again",),
    role="other",
    failed=True,
)

REJECTED = Sample(
    "rejected",
    "The user doesn't want to proceed with this tool use. STOP what you are doing and wait.",
    kept=("tool use rejected by the user",),
    removed=("STOP",),
    role="edit",
    failed=True,
)
FILE = Sample(
    "displayed",
    "def failed():\n    raise Error('3 failed')\n" * 9,
    removed=("failed",),
    role="read",
)
NO_FILE = Sample(
    "search_result",
    "ls: nowhere: No such file or directory\n" + "lib\n" * 60,
    kept=("No such file or directory",),
    removed=("lib",),
    role="search",
)
MATCHES = Sample(
    "search_result",
    "src/shop/cart.py:12:def total(cart):\nsrc/shop/cart.py-13-    tax = 0\n"
    + "".join(f"src/shop/tax.py:{n}:    total(cart)  # not found\n" for n in range(7, 99)),
    kept=("src/shop/cart.py:12:def total(cart):; shop/tax.py:7; shop/tax.py:8",),
    removed=("tax.py:50", "not found", "cart.py-13"),
    role="search",
)
MATCHES_IN_ONE_FILE = Sample(
    "search_result",
    "".join(f"{n}:    total(cart)  # dear\n" for n in range(7, 99)),
    kept=("7: total(cart) # dear; 8; 9",),
    removed=("50",),
    role="search",
)
FILES = Sample(
    "search_result",
    "Found 40 files\n" + "".join(f"src/shop/n{n}.py\n" for n in range(40)),
    kept=("src/shop/n0.py; shop/n1.py",),
    removed=("n30",),
    role="search",
)
COUNT = Sample("displayed", "17\n", kept=("17",), role="search")
CREATED = Sample(
    "file_change",
    "File created successfully at: /home/dev/shop/a.py",
    kept=("created",),
    removed=("successfully",),
    role="edit",
)
ADDED = Sample(
    "file_change",
    "Success. Updated the following files:\nA src/cart.py\n",
    kept=("created",),
    removed=("Success",),
    role="edit",
)
UPDATED = Sample(
    "file_change",
    "The file a.py has been updated. Here's the result\n1 import os",
    removed=("updated", "import"),
    role="edit",
)
EDITS = Sample(
    "file_change", "Applied 6 edits to a.py:\n1. Replaced x", kept=("6 edits",), role="edit"
)
SHORT = Sample("short", "Switched to branch\n  'tax'\n", kept=("Switched to branch; 'tax'",))
REPORT = Sample(
    "reports",
    "The cart is\nempty. " + "It was looked at from all sides. " * 90,
    kept=("The cart is empty.",),
    role="report",
)
LAUNCHED = Sample(
    "reports",
    "Async agent launched successfully.\nagentId: a1f\noutput_file: a1f.output",
    kept=("launched a1f",),
    removed=("successfully", "output"),
    role="report",
)
WORKFLOW = Sample(
    "commands",
    "".join(f"Lint\tRun\t2026-02-02T04:33:{n}.12Z  skip: false\n" for n in range(10, 50))
    + "Lint\tRun\t2026-02-02T04:33:51.12Z src/cart.go:224:3: QF1003: use a switch\n"
    + "Lint\tRun\t2026-02-02T04:33:52.12Z ##[error]issues found\n",
    kept=("src/cart.go:224:3: QF1003: use a switch", "##[error]issues found"),
    removed=("skip",),
)
OTHER = Sample("others", "Weather: rain\n" * 90, kept=("Weather: rain",), role="other")

SIGNATURES = Sample(
    "code",
    """import os

class Cart:
    def total(self) -> int:
        return sum(self.prices)

export const tax = (net: number) => net * 0.2;
func (c *Cart) Close() error {
pub fn open(path: &str) -> Cart {
interface Priced {
public static int rate(String land) {
struct Line {
"""
    + "    total += 1\n" * 40,
    kept=(
        *("52 lines", "class Cart", "def total(self) -> int", "export const tax"),
        *("func (c *Cart) Close()", "pub fn open(path: &str) -> Cart", "interface Priced"),
        "rate(String land)",
    ),
    removed=("total += 1", "import os"),
    role="code",
)
SCRIPT = Sample(
    "code",
    "docker compose up\nmake seed\n"
    + "curl localhost\n" * 40
    + "deploy --dry-run etc/shop.toml CART_LIMIT checkOut https://shop.example/a SHOP-12\n",
    kept=(
        *("43 lines", "docker compose up", "make seed", "--dry-run", "etc/shop.toml", "SHOP-12"),
        *("CART_LIMIT", "checkOut", "https://shop.example/a"),
    ),
    removed=("localhost; curl",),
    role="code",
)

SAMPLES = (*(value for value in globals().values() if isinstance(value, Sample)), *COMPILERS)
