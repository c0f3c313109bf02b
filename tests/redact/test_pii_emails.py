"""E-mail addresses, in all forms."""

import pytest

from tests.redact.pii_texts import assert_kept, assert_redacted


def test_addresses_are_redacted_in_every_encoding(subtests: pytest.Subtests) -> None:
    for marked in [
        "mailto:«email:kim.lee@shop.de»?subject=a",
        "https://shop.de/login?mail=«email:kim.lee%40shop.de»&b=1",
        "https://shop.de/login?mail=«email:kim.lee%2Bci%40shop.de»&b=1",
        "https://a.de/?u=https%253A%252F%252Fb.de%253Fm%253D«email:kim%2540shop.de»",
        "mail «email:kim&#64;shop.de» or «email:lee&#x40;shop.de» or «email:lee&#0064;shop.de»",
        "mail «email:kim&commat;shop.de»",
        '{"mail": "«email:kim\\u0040shop.de»"}',
        "'«email:kim\\x40shop.de»'",
        "From: «email:kim.lee=40shop.de»",
        "write to «email:kim at shop dot com»",
        "write to «email:kim.lee [at] shop [dot] de»",
        "write to «email:kim(at)shop.de», «email:kim <at> shop <dot> co <dot> uk»",
        "an «email:kim@xn--mller-kva.de»",
        "an «email:kim@xn--80a1acny.xn--p1ai»",
        "an «email:kim@müller.de»",
        "发给«email:kim@例子.中国»。",
        '"kim lee" is «email:"kim lee"@shop.de»',
        '"a,«email:kim@shop.de»,b"',
        "\x1b[32m«email:kim@shop.de»\x1b[0m",
        "«email:kim\u200b@shop.de»",
        "git clone https://«email:kim@dev.azure.com»/shop",
        "jdoe: <«email:k@q.io»>",
    ]:
        with subtests.test(marked=marked):
            assert_redacted(marked)


def test_what_only_looks_like_an_address_stays(subtests: pytest.Subtests) -> None:
    for text in [
        "@app.route('/a') @types/node @media (min-width: 40px) @Override @RestController",
        "user@1.2.3 react@18.3.0-canary.b vite@5.x.beta actions/checkout@v4.1.x pkg@next",
        "HEAD@{1} main@{upstream} stash@{0} HEAD@{2.days.ago}",
        "git@github.com:shop/web.git ssh://git@gitlab.shop.de:2222/a.git",
        "getty@tty1.service docker@host.socket",
        "x = a@b.sum() + A@B.T, f(X@W.transpose(0, 1))",
        "look at example dot com, an array at index dot product",
        "available at shop dot com",
        "width=40px.top and a=40.5 and q=40shop",
        "logo@2x.png sprite@3x.webp",
        "kim@example.com kim%40example.org kim at example dot com",
        "noreply@anthropic.com git%40github.com%3Ashop",
        "yourname@yourdomain.com, test@test.com",
        "a [at] b, (at) home, [dot] product, {at}",
        "https://medium.com/@kim.lee/post",
        "@decorator.with_args(a@b)",
    ]:
        with subtests.test(text=text):
            assert_kept(text)
