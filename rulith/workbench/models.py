"""Where a model is configured, a profile's own or the home's default: checked, kept, shown without its key.

The address and the name of an own model lie in the profile's settings, the key in the
Agent's vault; a default lies in the workbench's file. A saved key stays only with the
scheme, host and port it was saved for; it is never returned, and never goes from the
default to a profile.

Source  the workbench surface, "model settings"
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from rulith.base.canonical import digest
from rulith.base.errors import Refused
from rulith.disk.model_settings import (CUSTOM, EXTERNAL, KEY_NAME, SETTINGS, model_of, model_source, own_model, read_default,
                                        write_default)
from rulith.disk.profiles import Profile, agent_secrets, write_role_env

LOOPBACK = ("127.0.0.1", "localhost", "::1")
NAME_CHARS_MAX = 256
KEY_CHARS_MAX = 4096
OUTPUT_TOKENS = (256, 65_536)
OUTPUT_TOKENS_DEFAULT = 6000
NEEDED = ("url", "name", "key", "clearKey")
KEPT_WHERE_LEFT_OUT = ("thinking", "toolsAsText", "maxOutputTokens")
FIELDS = (*NEEDED, *KEPT_WHERE_LEFT_OUT)
PORTS = {"http": 80, "https": 443}


def model_row(profile: Profile) -> dict[str, object]:
    """What the page may know of the profile's model in effect; `reason` says what it lacks."""
    source = model_source(profile)
    row = {"source": source, **_shown(model_of(profile))}
    if source == EXTERNAL:
        return {**row, "configured": True, "ready": True}       # a program elsewhere brings its own
    return row


def default_row(path: Path) -> dict[str, object]:
    """The home's default as the page reads it. One that cannot be read says so."""
    try:
        row = _shown(read_default(path))
    except Refused as problem:
        row = {**_shown({}), "reason": problem.happened}
    return {**row, "revision": digest(row)[-16:]}


def unreadable_row(problem: Refused) -> dict[str, object]:
    """The row of a profile whose settings cannot be read."""
    return {"source": CUSTOM, **_shown({}), "configured": True, "reason": problem.happened}


def _shown(model: Mapping[str, str]) -> dict[str, object]:
    url, name, tokens, has_key = model.get("url", ""), model.get("name", ""), model.get("maxOutputTokens", ""), bool(model.get("key"))
    reason = ""
    if url and not name:
        reason = "The model has an address and no name."
    elif url and not has_key and urlsplit(url).hostname not in LOOPBACK:
        reason = "The model's endpoint is not on this computer and no API key is saved."
    return {"url": url, "name": name, "thinking": model.get("thinking") or "standard", "toolsAsText": model.get("tools") == "emulated",
            "maxOutputTokens": int(tokens) if tokens.isascii() and tokens.isdigit() else OUTPUT_TOKENS_DEFAULT,
            "keyConfigured": has_key, "configured": bool(url), "ready": bool(url) and not reason, "reason": reason}


def save_model(profile: Profile, given: Mapping[str, object]) -> None:
    """Keep the fields of the dialog as the profile's own model, or refuse one and keep nothing. Raises Refused model_field."""
    _keep(profile, checked(given, own_model(profile)))


def save_default(path: Path, given: Mapping[str, object]) -> None:
    """The same for the home's default. Raises Refused: model_field, defaults_unreadable."""
    write_default(path, checked(given, read_default(path)))


def copy_model(profile: Profile, other: Profile) -> dict[str, object]:
    """Make the model in effect of `other` this profile's own, with its key; one without a key takes the key away.

    Raises Refused model_external where `other` has none to give.
    """
    if EXTERNAL in (model_source(profile), model_source(other)):
        raise Refused("model_external", name=(other if model_source(other) == EXTERNAL else profile).name)
    model = model_of(other)
    _keep(profile, model)
    return {"modelService": model.get("url", ""), "model": model.get("name", ""), "modelKeyCopied": bool(model.get("key"))}


def follow_default(profile: Profile) -> None:
    """Drop the profile's own model with its key: the default is in effect from the next start on."""
    _keep(profile, {})


def checked(given: Mapping[str, object], before: Mapping[str, str]) -> dict[str, str]:
    """The members to keep of what was given, over those kept `before`; none where the model is taken away. Raises Refused model_field."""
    url, name, key = (_text(given, each) for each in ("url", "name", "key"))
    thinking = _text(given, "thinking") if "thinking" in given else before.get("thinking") or "standard"
    clear, as_text = given.get("clearKey"), given.get("toolsAsText", before.get("tools") == "emulated")
    for field, value in (("clearKey", clear), ("toolsAsText", as_text)):
        if type(value) is not bool:
            raise Refused("model_field", field=field, problem="must be true or false")
    if not url and not name and not key:
        return {}
    parts = _address(url)
    if not name or len(name) > NAME_CHARS_MAX or not name.isprintable():
        raise Refused("model_field", field="name", problem=f"must be 1 to {NAME_CHARS_MAX} printable characters")
    if key and clear:
        raise Refused("model_field", field="key", problem="is given and to be removed at once")
    if len(key) > KEY_CHARS_MAX or not key.isascii() or not key.isprintable() or " " in key:
        raise Refused("model_field", field="key", problem=f"must be up to {KEY_CHARS_MAX} ASCII characters without blanks")
    if thinking not in ("standard", "enabled", "disabled"):
        raise Refused("model_field", field="thinking", problem="is one of standard, enabled, disabled")
    if thinking != "standard" and parts.path.endswith("/messages"):
        raise Refused("model_field", field="thinking", problem="can be set on …/chat/completions endpoints only")
    kept_key = _key_after(before, parts, key, clear)
    if not kept_key and parts.hostname not in LOOPBACK:
        raise Refused("model_field", field="key", problem="is needed: the endpoint is not on this computer, and a saved key "
                      "stays with the scheme, host and port it was saved for")
    tokens = _tokens(given["maxOutputTokens"]) if "maxOutputTokens" in given else before.get("maxOutputTokens", str(OUTPUT_TOKENS_DEFAULT))
    return {"url": url, "name": name, "thinking": "" if thinking == "standard" else thinking, "tools": "emulated" if as_text else "",
            "maxOutputTokens": str(tokens), "key": kept_key}


def _keep(profile: Profile, model: Mapping[str, str]) -> None:
    """The key before the address, and between two keys no address: wherever this is cut short, no service is given another one's key."""
    if own_model(profile).get("key", model.get("key")) != model.get("key"):
        write_role_env(profile, "agent", {SETTINGS["url"]: None})
    agent_secrets(profile).update({KEY_NAME: model.get("key") or None})
    write_role_env(profile, "agent", {setting: model.get(member) or None for member, setting in SETTINGS.items()})


def _text(given: Mapping[str, object], field: str) -> str:
    value = given.get(field)
    if not isinstance(value, str):
        raise Refused("model_field", field=field, problem="must be text")
    return value


def _address(url: str) -> SplitResult:
    """The endpoint's parts. Raises Refused model_field."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise Refused("model_field", field="url", problem="is not an address") from None
    if parts.scheme not in PORTS or not parts.hostname or not url.isascii() or not url.isprintable() or " " in url:
        raise Refused("model_field", field="url", problem="must start with https:// (or http:// on this computer) and name a host")
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise Refused("model_field", field="url", problem="may use http:// only on 127.0.0.1, localhost or [::1]: the key would travel in the clear")
    if "@" in parts.netloc or parts.query or parts.fragment or "?" in url or "#" in url:
        raise Refused("model_field", field="url", problem="must hold no user name, query or fragment")
    path = parts.path.rstrip("/")
    if path and not path.endswith(("/messages", "/chat/completions", "/v1")):
        raise Refused("model_field", field="url", problem="must end in /messages, /chat/completions or /v1, or have no path")
    assert port is None or 0 <= port <= 65_535
    return parts


def _place(parts: SplitResult) -> tuple[str, str | None, int]:
    return parts.scheme, parts.hostname, parts.port or PORTS.get(parts.scheme, 0)


def _key_after(before: Mapping[str, str], parts: SplitResult, key: str, clear: bool) -> str:
    """The key that holds after this save: the new one, the saved one of the same place, or none."""
    if key or clear:
        return key
    url = before.get("url", "")
    return before.get("key", "") if url and _place(urlsplit(url)) == _place(parts) else ""


def _tokens(value: object) -> int:
    low, high = OUTPUT_TOKENS
    if type(value) is not int or not low <= value <= high:
        raise Refused("model_field", field="maxOutputTokens", problem=f"must be a whole number from {low} to {high}")
    return value
