"""A host sends its person to the Console, who lets it in; and the lines that give an Agent to a program."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from rulith import VERSION

CHROMIUM = "/usr/bin/chromium"
playwright = pytest.importorskip("playwright.async_api")
pytestmark = pytest.mark.skipif(not os.path.exists(CHROMIUM), reason="no chromium on this machine")
VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()


def test_a_person_lets_a_host_in_and_the_browser_goes_back_to_it(play, kit):
    async def story(world):
        came: asyncio.Future = asyncio.get_running_loop().create_future()

        async def hear(reader, writer):
            line = (await reader.readline()).decode()
            if "/callback" in line and not came.done():
                came.set_result(parse_qs(urlsplit(line.split(" ")[1]).query))
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok")
            await writer.drain()
            writer.close()

        program = await asyncio.start_server(hear, "127.0.0.1", 0)
        callback = f"http://127.0.0.1:{program.sockets[0].getsockname()[1]}/callback"
        body = json.dumps({"client_name": "<b>Host</b>", "redirect_uris": [callback]}).encode()
        client = (await kit.http(world.port, "POST", "/register", {"content-type": "application/json"}, body)).json()["client_id"]
        asking = urlencode({"client_id": client, "response_type": "code", "redirect_uri": callback, "code_challenge": CHALLENGE,
                            "code_challenge_method": "S256", "state": "back"})
        errors = []
        async with playwright.async_playwright() as driver:
            browser = await driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            page = await browser.new_page()
            page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
            page.on("pageerror", lambda error: errors.append(str(error)))
            await page.goto(f"http://127.0.0.1:{world.port}/authorize?{asking}")
            await page.wait_for_selector("#code")
            await page.fill("#code", world.gateway.setup_code)
            await page.fill("input[type=password]", "correct horse battery")
            await page.keyboard.press("Enter")
            await page.wait_for_selector("#asking")
            await page.wait_for_selector("h3:text('<b>Host</b>')")            # a name is text, never markup
            assert callback in await page.inner_text("main")
            await shots(page, "access")
            await page.click("text=Let it in")
            query = await asyncio.wait_for(came, 20)
            assert query["state"] == ["back"] and query["code"]
            await page.wait_for_url(lambda url: url.startswith(callback))
            await page.goto(f"http://127.0.0.1:{world.port}/console/#agents")
            await page.wait_for_selector("summary:text('Give it to a program')")
            await page.click("summary:text('Give it to a program')")
            told = await page.inner_text("main")
            for words in ("claude mcp add", "codex mcp add", "httpUrl", '"type": "remote"', '"mcpServers"', "python3 rulith.pyz agent"):
                assert words in told, words
            await shots(page, "agents")
            await page.goto(f"http://127.0.0.1:{world.port}/console/#setup")
            await page.wait_for_selector("#release")
            assert f"rulith.pyz {VERSION}" in await page.inner_text("main")
            await shots(page, "setup")
            await browser.close()
        assert errors == []
        program.close()

    play(story, pollHoldMs=100)


async def shots(page, name: str) -> None:
    """Pictures to look at, where RULITH_TEST_SHOTS names a folder."""
    folder = os.environ.get("RULITH_TEST_SHOTS")
    for kind, size, scheme in (("wide", (1280, 900), "light"), ("phone", (390, 844), "dark")) if folder else ():
        await page.set_viewport_size({"width": size[0], "height": size[1]})
        await page.emulate_media(color_scheme=scheme)
        await page.screenshot(path=f"{folder}/{name}-{kind}.png", full_page=True)
