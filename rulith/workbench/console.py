"""The Console, passed through on the workbench's own origin.

Adds no credential and takes ours out; logs no body, looks into none. The gateway's own
sign-in is what protects it. Our Origin, once checked, becomes the gateway's, since the
gateway judges by the address it is asked at.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from rulith.base.errors import Refused
from rulith.net.client import HttpClient, NetFailed
from rulith.net.messages import Request, Response, text_response
from rulith.workbench.gate import TOKEN_HEADER, cookies_of

PREFIX = "/console/"
TIMEOUT_S = 60.0             # a passphrase is checked slowly on purpose
# Of one connection, not of the message (RFC 9110 §7.6.1), and what each side sets by itself.
NOT_PASSED = frozenset("connection keep-alive proxy-connection te trailer transfer-encoding upgrade host content-length "
                       "date accept-encoding authorization proxy-authorization cookie origin referer".split()) | {TOKEN_HEADER}
NOT_RETURNED = frozenset("connection keep-alive transfer-encoding content-length date upgrade trailer".split())


async def pass_through(request: Request, client: HttpClient, gateway_url: str, our_cookie: str) -> Response:
    """The gateway's answer to this request. Raises Refused route_unknown; 503 where the gateway is silent."""
    if ".." in request.path or "\\" in request.path:
        raise Refused("route_unknown", method=request.method, path=request.path[:100])
    if not gateway_url:
        return _silent("it is not running yet")
    try:
        answer = await client.request(request.method, gateway_url + request.target, _headers(request, gateway_url, our_cookie),
                                      request.body, timeout_s=TIMEOUT_S)
    except NetFailed as problem:
        return _silent(problem.detail)
    kept = [(name, value) for name, value in answer.headers.items() if name not in NOT_RETURNED]
    return Response(answer.status, kept, answer.body)


def _headers(request: Request, gateway_url: str, our_cookie: str) -> list[tuple[str, str]]:
    rows = [(name, value) for name, value in request.headers.items() if name not in NOT_PASSED]
    theirs = "; ".join(f"{name}={value}" for name, value in cookies_of(request) if name != our_cookie)
    if theirs:
        rows.append(("cookie", theirs))
    if request.headers.get("origin") is not None:
        parts = urlsplit(gateway_url)
        rows.append(("origin", f"{parts.scheme}://{parts.netloc}"))
    return rows


def _silent(problem: str) -> Response:
    return text_response(503, f"The gateway does not answer: {problem}.\nLook at the workbench; it says when the gateway is back.\n",
                         [("cache-control", "no-store"), ("retry-after", "1")])
