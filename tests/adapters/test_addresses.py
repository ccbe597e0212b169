"""Which addresses a Source's name may stand for, judged after resolution (the design, §7, outbound HTTP)."""

import asyncio
import socket

import pytest

from rulith.adapters.addresses import AddressBook, is_own, kind_of
from rulith.adapters.outbound import Outbound
from rulith.net.client import NetFailed
from tests.adapters.far_server import answer, far_server


@pytest.mark.parametrize("address, kind", [
    ("93.184.216.34", "public"), ("2606:2800:220:1::1", "public"), ("10.0.0.7", "private"), ("172.16.0.1", "private"),
    ("192.168.1.1", "private"), ("100.64.0.1", "private"), ("fd00::1", "private"), ("127.0.0.1", "own"), ("127.9.9.9", "own"), ("::1", "own"),
    ("169.254.169.254", "near"), ("fe80::1%eth0", "near"), ("0.0.0.0", "near"), ("::", "near"), ("224.0.0.1", "near"), ("ff02::1", "near"),
    ("255.255.255.255", "near"), ("240.0.0.1", "near"), ("::ffff:127.0.0.1", "own"), ("::ffff:169.254.169.254", "near"),
    ("64:ff9b::7f00:1", "own"), ("64:ff9b::a9fe:a9fe", "near"), ("2002:7f00:1::", "own"), ("not an address", "near"),
])
def test_an_address_is_known_for_what_it_is(address, kind):
    assert kind_of(address) == kind


def test_a_name_never_stands_for_this_machine_or_its_neighbours():
    allows = AddressBook().rule("shop.example")
    assert not any(allows(each) for each in ("127.0.0.1", "::1", "169.254.169.254", "0.0.0.0", "224.0.0.1", "::ffff:127.0.0.1"))
    assert allows("93.184.216.34")


def test_a_name_that_was_public_never_turns_private():
    book = AddressBook()
    assert book.rule("shop.example")("93.184.216.34") and not book.rule("Shop.Example.")("10.0.0.7")
    assert book.rule("intranet.example")("10.0.0.7") and book.rule("intranet.example")("10.0.0.8")
    assert book.rule("intranet.example")("93.184.216.34")


def test_what_the_owner_wrote_as_an_address_is_that_address():
    book = AddressBook()
    assert book.rule("127.0.0.1")("127.0.0.1") and not book.rule("127.0.0.1")("10.0.0.7")
    assert book.rule("10.0.0.7")("10.0.0.7") and book.rule("[::1]")("::1")
    assert book.rule("localhost")("127.0.0.1") and not book.rule("localhost")("10.0.0.7")
    assert is_own("localhost") and is_own("127.0.0.1") and is_own("[::1]") and not is_own("shop.example") and not is_own("10.0.0.7")


def test_a_name_that_resolves_to_this_machine_reaches_no_server():
    """The DNS is not the owner: a rebound name meets a refusal before a byte is sent."""

    async def run():
        async with far_server(lambda request: answer()) as far:
            port = int(far.url.rpartition(":")[2])
            loop = asyncio.get_running_loop()

            async def rebound(host, wanted, **_):
                return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", wanted))]

            loop.getaddrinfo = rebound
            client = Outbound({}).client(f"http://shop.example:{port}/")
            with pytest.raises(NetFailed) as caught:
                await client.request("GET", f"http://shop.example:{port}/")
            await client.close()
            return caught.value, far

    failed, far = asyncio.run(run())
    assert failed.cause == "address" and not failed.sent and far.connections == 0
