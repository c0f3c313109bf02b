"""Addresses of machines: IPv4, IPv6 and MAC."""

import pytest

from tests.redact.pii_texts import assert_kept, assert_redacted


def test_addresses_are_redacted_in_every_notation(subtests: pytest.Subtests) -> None:
    for marked in [
        "inet «ip:10.20.30.40»/24 brd «ip:10.20.30.255»",
        "http://[«ip:2a01:4f8:c17:b0f::2»]:8080/x «ip:2a01:4f8:c17:b0f::»/64",
        "fe80 scope: «ip:fe80::1c2d:3eff:fe4f:5a6b»%eth0",
        "«ip:2a01:4f8:0:1:2:3:4:5», «ip:fd12:3456:789a::1»",
        "«ip:::ffff:10.20.30.40» and «ip:::ffff:0a14:1e28»",
        "«ip:64:ff9b::10.20.30.40» via «ip:64:ff9b::a14:1e28»",
        "ip=«ip:169090600» and http://«ip:169090600»/x and ip: «ip:0x0A141E28»",
        "http://«ip:0xAC141E28»/a «ip:0x0a.0x14.0x1e.0x28»",
        "ip: «ip:012.024.036.050»",
        "host ip-«ip:10-20-30-40».ec2.internal",
        "«ip:192.168.001.020»",
        "HWaddr «mac:00:16:36:12:34:56» link/ether «mac:3c:22:fb:12:34:a6» brd ff:ff:ff:ff:ff:ff",
        "Physical Address: «mac:3C-22-FB-12-34-A6»",
        "arp «mac:3c22.fb12.34a6» ARPA",
        '{"mac": "«mac:3C:22:FB:12:34:A6»"}',
    ]:
        with subtests.test(marked=marked):
            assert_redacted(marked)


def test_versions_times_and_examples_stay(subtests: pytest.Subtests) -> None:
    for text in [
        "127.0.0.1 ::1 ::ffff:127.0.0.1 0.0.0.0 255.255.255.0 192.0.2.1 2001:db8::1 3fff::1",
        "v10.0.0.1 version 10.0.0.1 shop-10.0.0.1.tgz Chrome/120.0.0.0 ==10.0.0.1",
        "12:34:56 2024:01:01:10 12:34:56:78 00:11:22:33:44:55 aa:bb:cc:dd:ee:ff 00:00:00:00:00:00",
        "MD5 fingerprint 3c:22:fb:12:34:a6:3c:22:fb:12:34:a6:3c:22:fb:12",
        "SHA256:3C:22:FB:12:34:A6:00:AA",
        "550e8400-e29b-41d4-a716-446655440000",
        "std::vector ad::be::ef abcd::efgh a::b fe::new",
        "addr=0x7fff5fbff8c0 id=169090600 count: 3232235777 ts 1700000000",
        "http://localhost:8080 http://1700000000000.io",
        "1.2.3.4 1.3.6.1.4.1.311 §10.2.3.4.5 2026.11.15",
        "1234.5678.9012 2024.0101.1200 face.cafe.beef",
        "01-02-03-04-05-06 chmod 0644 0755.0644",
        "01:00:5e:00:00:fb 33:33:00:00:00:01 00:00:5e:00:53:01",
    ]:
        with subtests.test(text=text):
            assert_kept(text)
