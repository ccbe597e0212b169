"""The Console's API as a program on the person's own terminal uses it.

Carries a passphrase to the gateway of this home once, holds the sign-in in memory, and
forgets it. Decides nothing; what the gateway refuses comes back in its own words.

Source  the design's rules on the person's authority (§5).
"""

from __future__ import annotations

import json
from http.cookies import CookieError, SimpleCookie

from rulith.base.errors import Refused
from rulith.net.client import ClientResponse, HttpClient, NetFailed

COOKIE, TOKEN_HEADER = "rulith_console", "x-rulith-console"
TIMEOUT_S = 60.0             # a passphrase is checked slowly on purpose


class ConsoleSession:
    """One sign-in at the gateway at `url`."""

    def __init__(self, client: HttpClient, url: str) -> None:
        self._client = client
        self._api = f"{url}/console/api/"
        self._cookie = self._token = ""

    async def sign_in(self, passphrase: str, name: str = "") -> dict:
        """The gateway's answer: `{ok: true}`, or `{ok: false, errorCode, teaching}`. `name` where several people sign in there."""
        answer = await self.post("sign-in", {"passphrase": passphrase, **({"name": name} if name else {})})
        self._token = str(answer.pop("token", ""))
        return answer

    async def sign_out(self) -> None:
        if self._token:
            await self.post("sign-out", {})
            self._cookie = self._token = ""

    async def post(self, route: str, body: dict) -> dict:
        """The answer of one act. Raises Refused: gateway_not_ready, gateway_answer."""
        headers = {"content-type": "application/json", TOKEN_HEADER: self._token, "cookie": f"{COOKIE}={self._cookie}"}
        try:
            answer = await self._client.request("POST", self._api + route, headers, json.dumps(body).encode("utf-8"), timeout_s=TIMEOUT_S)
        except NetFailed as problem:
            if problem.sent:
                raise Refused("act_unanswered", route=route) from None
            raise Refused("gateway_not_ready", problem=problem.detail) from None
        self._keep_cookie(answer)
        try:
            value = json.loads(answer.body)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict) or "ok" not in value:
            raise Refused("gateway_answer", path=f"/console/api/{route}", problem=f"status {answer.status}")
        return value

    def _keep_cookie(self, answer: ClientResponse) -> None:
        try:
            found = SimpleCookie(answer.headers.get("set-cookie") or "").get(COOKIE)
        except CookieError:
            found = None
        if found is not None:
            self._cookie = found.value


def accepted(answer: dict) -> dict:
    """The answer itself. Raises Refused gateway_refused with the gateway's words where it is a refusal."""
    if answer["ok"] is not True:
        raise Refused("gateway_refused", happened=str(answer.get("teaching")), todo="")
    return answer
