"""The Agent's settings: an environment mapping in, checked values out.

The mapping is the process environment, or what the parent handed over on stdin, or a
profile's settings with its secrets; this module does not care which. A number that makes
no sense warns and the default stands; a model is configured only by RULITH_MODEL or
RULITH_MODEL_URL, so that a key lying in the environment discloses nothing.

Source  the MCP surface, "Environment"; the design, "Which model"
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from rulith.base.errors import Refused
from rulith.base.json_text import read_json
from rulith.dialects.endpoint import ANTHROPIC, Endpoint, endpoint_of
from rulith.runtime.budget import Caps, read_caps
from rulith.runtime.deliveries import Custodian
from rulith.runtime.options import Options, check_case_type, read_business_key

DEFAULT_GATEWAY = "http://127.0.0.1:7781"
DEFAULT_MODEL = "claude-sonnet-5"
DEFAULT_MODEL_URL = "https://api.anthropic.com/v1/messages"
EXPLORATION = "exploration"
OUTPUT_TOKENS_BOUNDS = (256, 65_536)
SHADOW_OUTPUT_TOKENS = 6000
BUDGET_FILE, QUIRKS_FILE = "agent-budget.json", "model-quirks.json"      # in the folder of a profile
_SERVE_KEY = re.compile(r"[A-Za-z0-9_-]{16,128}", re.ASCII)
_LOOPBACK = ("127.0.0.1", "localhost", "::1")

Warn = Callable[[str], None]


@dataclass(frozen=True)
class ModelSettings:
    endpoint: Endpoint
    model: str
    key: str | None = field(repr=False)
    max_tokens: int = 6000
    emulated: bool = False
    thinking: str | None = None


@dataclass(frozen=True)
class ServeSettings:
    port: int = 7799
    key: str = field(default="", repr=False)       # empty: one is made up for this run
    runs_max: int = 200
    slots_max: int = 64


@dataclass(frozen=True)
class HistorySettings:
    """Where conversations are kept, and as whose; an owner without agentId is this Agent."""

    folder: str
    owner: dict[str, str]


@dataclass(frozen=True)
class BudgetSettings:
    caps: Caps
    prices_path: str = ""
    path: str = ""


@dataclass(frozen=True)
class Settings:
    url: str
    token: str = field(repr=False)
    model: ModelSettings | None = None
    case_type: str = ""
    business_key: dict | None = None
    case_id: str = ""
    max_rounds: int = 12
    keep_messages: int = 24
    call_timeout_s: float = 75.0
    wait_s: float = 600.0
    poll_s: float = 2.0
    resume_attempts: int = 2
    resume_backoff_s: float = 0.25
    lock_path: str = ""          # the profile's lock, when a parent names it
    serve: ServeSettings | None = None
    history: HistorySettings | None = None
    budget: BudgetSettings | None = None
    shadow: ModelSettings | None = None
    quirks_path: str = ""        # where it is remembered what model services want
    legacy_path: str = ""        # an earlier edition's record; empty for none
    custodian: Custodian | None = None


def read_settings(env: Mapping[str, str], options: Options, *, default_url: str, warn: Warn) -> Settings:
    """Raises Refused: token_missing, plain_http_refused, usage, setting_refused, model_address, model_key_missing."""
    token = env.get("RULITH_TOKEN", "").strip()
    if not token:
        raise Refused("token_missing")
    key_text = env.get("RULITH_BUSINESS_KEY_JSON", "")
    key = options.business_key
    if key is None and key_text.strip():
        key = read_business_key(key_text, "RULITH_BUSINESS_KEY_JSON")

    def number(name: str, default: int, low: int, high: int) -> int:
        return _number(env, name, default, low, high, warn)

    serving = options.serve or env.get("RULITH_SERVE", "").strip() == "on"
    model = read_model(env)
    return Settings(
        url=gateway_url(env.get("RULITH_URL") or default_url, insecure=options.insecure_http),
        token=token,
        model=model,
        case_type=options.case_type or check_case_type(env.get("RULITH_CASE_TYPE", "").strip(), "RULITH_CASE_TYPE"),
        business_key=key,
        case_id=options.case_id or env.get("RULITH_RESUME_CASE", "").strip(),
        max_rounds=number("RULITH_MAX_ROUNDS", 12, 1, 1000),
        keep_messages=number("RULITH_KEEP_MESSAGES", 24, 2, 10_000),
        call_timeout_s=number("RULITH_MCP_TIMEOUT_MS", 75_000, 100, 3_600_000) / 1000,
        wait_s=number("RULITH_HOST_WAIT_MS", 600_000, 0, 86_400_000) / 1000,
        poll_s=number("RULITH_HOST_POLL_MS", 2_000, 50, 60_000) / 1000,
        resume_attempts=number("RULITH_SSE_RESUME_ATTEMPTS", 2, 0, 10),
        resume_backoff_s=number("RULITH_SSE_RESUME_BACKOFF_MS", 250, 10, 60_000) / 1000,
        lock_path=env.get("RULITH_AGENT_LOCK", ""),
        serve=ServeSettings(number("RULITH_SERVE_PORT", 7799, 1, 65_535), _serve_key(env), number("RULITH_SERVE_RUNS", 200, 1, 100_000),
                            number("RULITH_SERVE_SLOTS_MAX", 64, 1, 10_000)) if serving else None,
        history=_history(env) if serving else None,
        budget=read_budget(env, options),
        shadow=read_shadow(env, model) if options.shadow else None,
        legacy_path=_legacy(env),
        quirks_path=env.get("RULITH_MODEL_QUIRKS_FILE", "").strip() or _of_profile(env, QUIRKS_FILE),
        custodian=_custodian(env),
    )


def _custodian(env: Mapping[str, str]) -> Custodian | None:
    """Who keeps content on this machine; all three settings name one. Raises Refused setting_refused."""
    url, key, connection = (env.get(f"RULITH_MATERIALS_DELIVER_{name}", "").strip() for name in ("URL", "KEY", "CONNECTION"))
    if not (url and key and connection):
        return None
    try:
        host = urlsplit(url).hostname
    except ValueError:
        host = None
    if host not in _LOOPBACK:
        raise Refused("setting_refused", name="RULITH_MATERIALS_DELIVER_URL", value=url[:200], problem="it is not on this machine")
    model = env.get("RULITH_MODEL_URL", "").strip() or (DEFAULT_MODEL_URL if env.get("RULITH_MODEL", "").strip() else "")
    return Custodian(url, key, connection, model)


def _legacy(env: Mapping[str, str]) -> str:
    path = env.get("RULITH_SESSION_FILE", "").strip() or _of_profile(env, "agent-sessions.json")
    return "" if path == "off" else path


def _of_profile(env: Mapping[str, str], name: str) -> str:
    """A file of the profile whose lock a parent names; empty without one."""
    lock = env.get("RULITH_AGENT_LOCK", "").strip()
    return os.path.join(os.path.dirname(lock), name) if lock else ""


def _serve_key(env: Mapping[str, str]) -> str:
    key = env.get("RULITH_SERVE_KEY", "").strip()
    if key and not _SERVE_KEY.fullmatch(key):
        raise Refused("setting_refused", name="RULITH_SERVE_KEY", value="(not shown)", problem="it is not 16 to 128 of A-Z a-z 0-9 _ -")
    return key


def _history(env: Mapping[str, str]) -> HistorySettings | None:
    folder, text = env.get("RULITH_CONVERSATION_DIR", "").strip(), env.get("RULITH_CONVERSATION_OWNER", "").strip()
    if not folder:
        return None
    owner: object = {"origin": "", "accountId": "", "agentId": ""}
    if text:
        try:
            owner = read_json(text, "RULITH_CONVERSATION_OWNER")
        except Refused:
            owner = None
        if not isinstance(owner, dict) or set(owner) != {"origin", "accountId", "agentId"} or not all(isinstance(each, str) for each in owner.values()):
            raise Refused("setting_refused", name="RULITH_CONVERSATION_OWNER", value=text[:200],
                          problem="it is not a JSON object of the texts origin, accountId and agentId")
    assert isinstance(owner, dict)
    return HistorySettings(folder, owner)


def read_budget(env: Mapping[str, str], options: Options) -> BudgetSettings | None:
    """The caps on what models use, or None. Raises Refused: setting_refused, and what `read_caps` refuses."""
    text = options.budget or env.get("RULITH_BUDGET", "").strip()
    caps = read_caps(text, "--budget" if options.budget else "RULITH_BUDGET")
    if caps is None:
        return None
    path = env.get("RULITH_BUDGET_FILE", "").strip() or _of_profile(env, BUDGET_FILE)
    if not path and caps.per != "run":
        raise Refused("setting_refused", name="RULITH_BUDGET", value=text[:200],
                      problem="without a profile RULITH_BUDGET_FILE names where to remember what was used, or per=run forgets it")
    return BudgetSettings(caps, env.get("RULITH_PRICES", "").strip(), path)


def read_shadow(env: Mapping[str, str], main: ModelSettings | None) -> ModelSettings | None:
    """The model of the shadow review: the main one, but for what RULITH_SHADOW_* says differently."""
    if main is None:
        return None
    name, address = env.get("RULITH_SHADOW_MODEL", "").strip() or main.model, env.get("RULITH_SHADOW_URL", "").strip()
    endpoint = endpoint_of(address) if address else main.endpoint
    key = env.get("RULITH_SHADOW_KEY", "").strip() or (main.key if endpoint.url == main.endpoint.url else None)
    if not key and not endpoint.is_loopback:
        raise Refused("model_key_missing", address=endpoint.shown)
    return ModelSettings(endpoint, name, key or None, SHADOW_OUTPUT_TOKENS)


def gateway_url(text: str, *, insecure: bool) -> str:
    """The gateway's base address. Raises Refused setting_refused, plain_http_refused."""
    url = text.strip().rstrip("/")
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable or parts.username is not None or parts.query or parts.fragment:
        raise Refused("setting_refused", name="RULITH_URL", value=url.split("@")[-1][:200],
                      problem="it is not a plain http or https address")
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK and not insecure:
        raise Refused("plain_http_refused", url=url)
    return url


def read_model(env: Mapping[str, str]) -> ModelSettings | None:
    """The configured model, or None. Raises Refused setting_refused, model_address, model_key_missing."""
    name, address = env.get("RULITH_MODEL", "").strip(), env.get("RULITH_MODEL_URL", "").strip()
    if not name and not address:
        return None
    endpoint = endpoint_of(address or DEFAULT_MODEL_URL)
    key = env.get("RULITH_MODEL_KEY", "").strip()
    if not key and endpoint.wire == ANTHROPIC:
        key = env.get("ANTHROPIC_API_KEY", "").strip()       # its owner's wire only, wherever it is
    if not key and not endpoint.is_loopback:
        raise Refused("model_key_missing", address=endpoint.shown)
    low, high = OUTPUT_TOKENS_BOUNDS
    text = env.get("RULITH_MODEL_MAX_OUTPUT_TOKENS", "").strip() or "6000"
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and low <= int(text) <= high):
        raise Refused("setting_refused", name="RULITH_MODEL_MAX_OUTPUT_TOKENS", value=text[:40],
                      problem=f"it is not a whole number from {low} to {high}")
    tools = _one_of(env, "RULITH_MODEL_TOOLS", ("emulated",))
    thinking = _one_of(env, "RULITH_MODEL_THINKING", ("enabled", "disabled"))
    if thinking and endpoint.wire == ANTHROPIC:
        raise Refused("setting_refused", name="RULITH_MODEL_THINKING", value=thinking,
                      problem="the Anthropic dialect takes no thinking switch here")
    return ModelSettings(endpoint, name or DEFAULT_MODEL, key or None, int(text), tools == "emulated", thinking or None)


def _one_of(env: Mapping[str, str], name: str, words: tuple[str, ...]) -> str:
    value = env.get(name, "").strip()
    if value and value not in words:
        raise Refused("setting_refused", name=name, value=value[:40], problem=f"only {' and '.join(words)} mean something")
    return value


def _number(env: Mapping[str, str], name: str, default: int, low: int, high: int, warn: Warn) -> int:
    text = env.get(name, "").strip()
    if not text:
        return default
    if text.isascii() and text.isdigit() and len(text) <= 12 and low <= int(text) <= high:
        return int(text)
    warn(f"{name} is {text[:40]!r}, not a whole number from {low} to {high}; {default} is used")
    return default
