"""The part of `rulith capability` that talks with a gateway and with the person at the terminal.

The yes is bound to the digest of the file that was shown and of the Release that it replaces.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rulith.base.errors import Refused
from rulith.board.differences import capability_changes, changes_text
from rulith.disk.home import Home
from rulith.local.console import ConsoleSession
from rulith.local.documents import EXIT_ERRORS, EXIT_OK, is_yes, shown_changes, tell, tell_json
from rulith.local.visit import GatewayVisit


def show_difference(home: Home, document: Mapping, release: Mapping, *, as_json: bool) -> int:
    """Print what installing `document` would change."""
    with GatewayVisit(home) as visit:
        before = visit.document(f"capability?id={release['id']}", "capability_not_installed")
    changes = capability_changes(before["document"] if before else None, document)
    if as_json:
        tell_json({"release": dict(release), "installed": {name: before[name] for name in ("version", "digest")} if before else None,
                   "changes": [each.json() for each in changes]})
        return EXIT_OK
    tell([_heading(release, before), *_difference(release, before, changes_text(changes))])
    return EXIT_OK


def _heading(release: Mapping, before: Mapping | None) -> str:
    if before is None:
        return f"{release['id']} {release['version']}, not installed yet"
    moved = f"{before['version']} → " if before["digest"] != release["digest"] else ""
    return f"{release['id']} {moved}{release['version']}"


def _difference(release: Mapping, before: Mapping | None, lines: Iterable[str]) -> list[str]:
    if before and before["digest"] == release["digest"]:
        return ["This very Release is installed; nothing differs."]
    return list(lines) or ["Only how the file is written differs."]


def install(home: Home, text: str, release: Mapping) -> int:
    """Sign in, show, ask, install; say what is still to be set up. The caller has seen that this is a terminal."""
    with GatewayVisit(home) as visit:
        return visit.signed_in(lambda console: _show_and_install(visit, console, text, release))


def _show_and_install(visit: GatewayVisit, console: ConsoleSession, text: str, release: Mapping) -> int:
    found = visit.asked(console, "capability-check", {"text": text})["result"]
    before, conflicts = found.get("installed"), found.get("conflicts", ())
    if found["problems"]:
        raise Refused("capability_invalid", count=len(found["problems"]), listing="\n".join(f"{each['place']}: {each['problem']}" for each in found["problems"]))
    tell([_heading(release, before), *_difference(release, before, shown_changes(found["changes"]))])
    if before and before["digest"] == release["digest"]:
        return EXIT_OK
    if conflicts:
        tell(["", "It cannot be installed now:", *conflicts])
        return EXIT_ERRORS
    if found["waits"]:
        tell(["", f"Open Cases stay on the Release they opened with; new ones wait until these are closed: {', '.join(found['waits'])}"])
    if not is_yes(f"\nInstall {release['id']} {release['version']} for every Agent of this gateway? Type yes: "):
        tell(["Nothing was installed."])
        return EXIT_ERRORS
    body = {"text": text, "digest": release["digest"], "replaces": before["digest"] if before else ""}
    answer = visit.asked(console, "capability-install", body)
    tell([f"Installed {release['id']} {release['version']}.", *_still_lacking(answer["admin"], release, visit.gateway.url)])
    return EXIT_OK


def _still_lacking(admin: Mapping, release: Mapping, url: str) -> list[str]:
    """What keeps its Actions from running, one line each, and where a person sets that up."""
    held = next((each for each in admin["capabilities"] if each["id"] == release["id"]), {"actions": []})
    names = {each["id"]: each["name"] for each in admin["agents"]}
    lines = [f"  {action['id'].removeprefix(release['id'] + '.')} (for {names.get(lack['agentId'], lack['agentId'])}): {lack['problem']}"
             for action in held.get("actions", ()) for lack in action.get("lacks", ())]
    if not lines:
        return ["All of its Actions can run."]
    return ["Before its Actions can run:", *lines, f"Bind Sources and lock Tools in the Console: {url}/console/#sources and {url}/console/#tools"]
