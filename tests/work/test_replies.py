"""What one HTTP answer means to a Worker."""

import pytest

from rulith.work.replies import Accepted, Denied, Rejected, Silent, is_newer, judge_reply


@pytest.mark.parametrize("status, raw, meaning", [
    (200, b'{"accepted":true}', Accepted),
    (200, b'{"accepted":false,"errorCode":"worker_lease_held","teaching":"wait"}', Denied),
    (409, b'{"errorCode":"worker_lease_lost"}', Denied),
    (409, b'{"errors":[{"code":"worker_lease_lost"}]}', Denied),
    (400, b"<html>", Denied),
    (200, b'{"accepted":false}', Silent),
    (200, b'{"accepted":"yes"}', Silent),
    (200, b'{"accepted":true', Silent),
    (200, b"<html>", Silent),
    (200, b"[]", Silent),
    (200, b"", Silent),
    (429, b'{"accepted":false,"errorCode":"slow_down"}', Silent),
    (500, b'{"accepted":false,"errorCode":"bug"}', Silent),
    (503, b"", Silent),
    (301, b"", Silent),
    (401, b"", Rejected),
    (401, b'{"accepted":true}', Rejected),
])
def test_every_answer_has_one_of_four_meanings(status, raw, meaning):
    assert type(judge_reply(status, raw)) is meaning


def test_a_denial_carries_its_code_and_a_4xx_without_one_none():
    assert judge_reply(200, b'{"accepted":false,"errorCode":"worker_lease_held"}').code == "worker_lease_held"
    assert judge_reply(409, b'{"errors":["worker_lease_lost"]}').code == "worker_lease_lost"
    assert judge_reply(404, b"").code is None


def test_a_peers_prose_is_flattened_and_cut():
    reply = judge_reply(200, ('{"accepted":false,"errorCode":"no","teaching":"a\\nb\\u001b[31m' + "x" * 1000 + '"}').encode())
    assert "\n" not in reply.teaching and "\x1b" not in reply.teaching and len(reply.teaching) <= 400


@pytest.mark.parametrize("client, wanted", [
    ('{"package":"rulith","version":"1.2.3"}', "1.2.3"),
    ('{"package":"rulith","version":"1.2"}', None),
    ('{"package":"rulith","version":"1.2.3; rm -rf /"}', None),
    ('{"package":"rulith","version":"01.2.3"}', None),
    ('{"package":"other","version":"1.2.3"}', None),
    ("7", None),
])
def test_a_wanted_release_is_taken_only_when_it_is_a_version_of_ours(client, wanted):
    assert judge_reply(401, f'{{"requiredClient":{client}}}'.encode()).wanted == wanted


def test_only_a_later_release_is_newer():
    assert is_newer("0.2.0", "0.1.9") and is_newer("0.10.0", "0.9.0")
    assert not is_newer("0.1.0", "0.1.0") and not is_newer("0.0.9", "0.1.0") and not is_newer("1.0.0", "dev")
