"""docs/console-api.md tells every route of the Console, who may use it and what it takes, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

from rulith.base.errors import CODES
from rulith.gateway.console_admin import BODIES as ADMIN
from rulith.gateway.console_api import BODIES, ROUTES

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "console-api.md").read_text("utf-8")
ROW = re.compile(r"^\| `(GET|POST) ([\w-]+)` \| (\w+) \|([^|]*)\| ((?:[^|]|\\\|)*)\|([^|]*)\|$", re.MULTILINE)
TOLD = {(method, route): (role, re.findall(r"`([^`]+)`", body), re.findall(r"`([^`]+)`", codes)) for method, route, role, body, _, codes in ROW.findall(PAGE)}


def test_the_page_lists_the_routes_of_the_code_with_their_roles():
    assert {key: role for key, (role, _, _) in TOLD.items()} == {key: role or "anybody" for key, role in ROUTES.items()}


def test_the_page_lists_the_members_of_every_body():
    for (method, route), (_, body, _) in TOLD.items():
        known = BODIES[route] if route in BODIES else tuple(ADMIN.get(route, ()))
        assert body == (list(known) if method == "POST" else []), route


def test_every_code_on_the_page_is_one_of_the_contract():
    named = {code for _, _, codes in TOLD.values() for code in codes} | set(re.findall(r"^\| \d+ `(\w+)`", PAGE, re.MULTILINE))
    assert named - set(CODES) == set()
