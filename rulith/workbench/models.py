"""Where a profile's model is configured: checked, kept, shown without its key.

The address and the name lie in the profile's settings, the key in the Agent's own vault. A
saved key stays only with the scheme, host and port it was saved for; it is never returned.

Source  the workbench surface, "model settings"
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from rulith.base.errors import Refused
from rulith.disk.profiles import Profile, agent_secrets, role_env, write_role_env

KEY_NAME = "RULITH_MODEL_KEY"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
NAME_CHARS_MAX = 256
KEY_CHARS_MAX = 4096
OUTPUT_TOKENS = (256, 65_536)
OUTPUT_TOKENS_DEFAULT = 6000
FIELDS = ("url", "name", "key", "clearKey", "thinking", "toolsAsText", "maxOutputTokens")
PORTS = {"http": 80, "https": 443}


def model_row(profile: Profile) -> dict[str, object]:
    """What the page may know of the profile's model; `reason` says what it lacks."""
    env = role_env(profile, "agent")
    url, name = env.get("RULITH_MODEL_URL", ""), env.get("RULITH_MODEL", "")
    tokens = env.get("RULITH_MODEL_MAX_OUTPUT_TOKENS", "")
    has_key = bool(agent_secrets(profile).load().get(KEY_NAME))
    reason = ""
    if url and not name:
        reason = "The model has an address and no name."
    elif url and not has_key and urlsplit(url).hostname not in LOOPBACK:
        reason = "The model's endpoint is not on this computer and no API key is saved."
    return {"source": "custom", "url": url, "name": name, "thinking": env.get("RULITH_MODEL_THINKING") or "standard",
            "toolsAsText": env.get("RULITH_MODEL_TOOLS") == "emulated",
            "maxOutputTokens": int(tokens) if tokens.isascii() and tokens.isdigit() else OUTPUT_TOKENS_DEFAULT,
            "keyConfigured": has_key, "configured": bool(url), "ready": bool(url) and not reason, "reason": reason}


def save_model(profile: Profile, given: Mapping[str, object]) -> None:
    """Keep the fields of the dialog, or refuse one and keep nothing. Raises Refused model_field."""
    url, name, key, thinking = (_text(given, each) for each in ("url", "name", "key", "thinking"))
    clear, as_text = given.get("clearKey") is True, given.get("toolsAsText")
    if type(as_text) is not bool:
        raise Refused("model_field", field="toolsAsText", problem="must be true or false")
    if not url and not name and not key:
        _keep(profile, {"RULITH_MODEL_URL": None, "RULITH_MODEL": None, "RULITH_MODEL_THINKING": None,
                        "RULITH_MODEL_TOOLS": None, "RULITH_MODEL_MAX_OUTPUT_TOKENS": None}, None)
        return
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
    kept_key = _key_after(profile, parts, key, clear)
    if not kept_key and parts.hostname not in LOOPBACK:
        raise Refused("model_field", field="key", problem="is needed: the endpoint is not on this computer, and a saved key "
                      "stays with the scheme, host and port it was saved for")
    _keep(profile, {"RULITH_MODEL_URL": url, "RULITH_MODEL": name,
                    "RULITH_MODEL_THINKING": None if thinking == "standard" else thinking,
                    "RULITH_MODEL_TOOLS": "emulated" if as_text else None,
                    "RULITH_MODEL_MAX_OUTPUT_TOKENS": str(_tokens(given.get("maxOutputTokens")))}, kept_key or None)


def _keep(profile: Profile, env: Mapping[str, str | None], key: str | None) -> None:
    """The key first: settings that name an endpoint are never saved before the key that belongs to it."""
    agent_secrets(profile).update({KEY_NAME: key})
    write_role_env(profile, "agent", env)


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


def _key_after(profile: Profile, parts: SplitResult, key: str, clear: bool) -> str:
    """The key that holds after this save: the new one, the saved one of the same place, or none."""
    if key or clear:
        return key
    before = role_env(profile, "agent").get("RULITH_MODEL_URL", "")
    saved = agent_secrets(profile).load().get(KEY_NAME, "")
    return saved if before and _place(urlsplit(before)) == _place(parts) else ""


def _tokens(value: object) -> int:
    low, high = OUTPUT_TOKENS
    if type(value) is not int or not low <= value <= high:
        raise Refused("model_field", field="maxOutputTokens", problem=f"must be a whole number from {low} to {high}")
    return value
