"""Who may open the shell and who may read: the gate, by request heads alone."""

import pytest

from rulith.base.clock import ManualClock
from rulith.base.errors import Refused
from rulith.workbench.gate import SEATS_MAX, TICKET_LIFE_S, Gate

from tests.workbench.scripted_bench import KEY, head

ORIGIN = "http://127.0.0.1:7780"


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def gate(clock):
    numbers = iter(range(10**6))
    made = Gate(KEY, lambda prefix: f"secret-{next(numbers)}", clock)
    made.listen_on(7780)
    return made


def cookie_of(gate, target=f"/?k={KEY}"):
    return gate.seat(head("GET", target)).partition(";")[0]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:7780", "127.0.0.1.evil.example", "0.0.0.0:7780", "", "127.0.0.1:7780:1", "[::2]:7780"])
def test_a_name_that_is_not_this_computer_is_refused_so_dns_rebinding_reads_nothing(gate, host):
    with pytest.raises(Refused) as refusal:
        gate.check_place(head("GET", "/", host=host))
    assert refusal.value.code == "host_not_loopback"


@pytest.mark.parametrize("host", ["127.0.0.1:7780", "localhost:7780", "LOCALHOST", "[::1]:7780", "127.0.0.1:9000"])
def test_every_loopback_name_and_any_port_is_this_computer(gate, host):
    gate.check_place(head("GET", "/", host=host))


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9999", "https://127.0.0.1:7780", "http://127.0.0.1:7780.evil.example"])
def test_a_page_of_any_other_origin_is_refused_even_one_of_another_port(gate, origin):
    with pytest.raises(Refused) as refusal:
        gate.check_place(head("GET", "/api/state", origin=origin))
    assert refusal.value.code == "origin_foreign"


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_request_that_the_browser_calls_another_sites_is_refused(gate, site):
    with pytest.raises(Refused):
        gate.check_asker(head("GET", "/api/state", sec_fetch_site=site))


def test_our_own_page_and_no_page_are_let_in(gate):
    gate.check_asker(head("GET", "/api/state", sec_fetch_site="same-origin"))
    gate.check_asker(head("GET", "/api/state", sec_fetch_site="none"))
    gate.check_asker(head("GET", "/api/state"))


def test_the_printed_key_opens_the_page_and_a_wrong_one_does_not(gate):
    assert gate.seat(head("GET", f"/?k={KEY}")).startswith("rulith-page-7780=")
    assert gate.seat(head("GET", f"/?k={KEY}x")) is None
    assert gate.seat(head("GET", "/")) is None


def test_the_cookie_is_for_scripts_and_other_sites_out_of_reach(gate):
    attributes = gate.seat(head("GET", f"/?k={KEY}")).split("; ")[1:]
    assert set(attributes) == {"Path=/", "HttpOnly", "SameSite=Strict"}


def test_a_ticket_works_once(gate):
    ticket = gate.ticket()
    assert gate.seat(head("GET", f"/?t={ticket}")) is not None
    assert gate.seat(head("GET", f"/?t={ticket}")) is None


def test_a_ticket_that_lay_too_long_works_no_more(gate, clock):
    ticket = gate.ticket()
    clock.advance(TICKET_LIFE_S)
    assert gate.seat(head("GET", f"/?t={ticket}")) is None


def test_the_cookie_alone_is_no_token(gate):
    with pytest.raises(Refused) as refusal:
        gate.check_token(head("GET", "/api/state", cookie=cookie_of(gate)))
    assert refusal.value.code == "token_unknown"


def test_the_exchange_gives_a_token_to_our_page(gate):
    gate.check_taker(head("POST", "/api/token", cookie=cookie_of(gate), origin=ORIGIN))
    token = gate.token()
    gate.check_token(head("GET", "/api/state", x_rulith_manager=token))


def test_the_exchange_gives_nothing_to_a_stranger_with_a_made_up_cookie(gate):
    with pytest.raises(Refused) as refusal:
        gate.check_taker(head("POST", "/api/token", cookie="rulith-page-7780=guess", origin=ORIGIN))
    assert refusal.value.code == "page_locked"


def test_the_exchange_wants_the_origin_that_every_browser_sends(gate):
    with pytest.raises(Refused) as refusal:
        gate.check_taker(head("POST", "/api/token", cookie=cookie_of(gate)))
    assert refusal.value.code == "origin_foreign"


def test_a_program_that_knows_the_printed_key_gets_a_token_without_a_cookie(gate):
    gate.check_taker(head("POST", "/api/token", x_rulith_manager=KEY))
    token = gate.token()
    assert gate.has_token(head("GET", "/api/state", x_rulith_manager=token))


def test_the_printed_key_itself_is_no_token(gate):
    assert not gate.has_token(head("GET", "/api/state", x_rulith_manager=KEY))


def test_seats_are_bounded_and_the_oldest_gives_way(gate):
    first = cookie_of(gate)
    for _ in range(SEATS_MAX):
        cookie_of(gate)
    assert not gate.has_cookie(head("GET", "/", cookie=first))


def test_the_cookie_is_found_among_others(gate):
    assert gate.has_cookie(head("GET", "/", cookie=f"a=b; {cookie_of(gate)}; rulith_console=x"))


@pytest.mark.parametrize("key", ["", "short", "k" * 129, "with blank in it 1", "schlüssel-schlüssel"])
def test_a_key_that_would_not_fit_an_address_is_refused_at_start(key, clock):
    with pytest.raises(Refused) as refusal:
        Gate(key, str, clock)
    assert refusal.value.code == "workbench_key"
