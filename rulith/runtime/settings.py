"""The Agent's settings: an environment mapping in, checked values out.

The mapping is the process environment, or what the parent handed over on stdin, or a
profile's settings with its secrets; this module does not care which. A number that makes
no sense warns and the default stands; a model is configured only by RULITH_MODEL or
RULITH_MODEL_URL, so that a key lying in the environment discloses nothing.

Source  the MCP surface, "Environment"; the design, "Which model"
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from rulith.base.errors import Refused
from rulith.dialects.endpoint import ANTHROPIC, Endpoint, endpoint_of
from rulith.runtime.options import Options, check_case_type, read_business_key

DEFAULT_GATEWAY = "http://127.0.0.1:7781"
DEFAULT_MODEL = "claude-sonnet-5"
DEFAULT_MODEL_URL = "https://api.anthropic.com/v1/messages"
EXPLORATION = "exploration"
OUTPUT_TOKENS_BOUNDS = (256, 65_536)
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

    return Settings(
        url=gateway_url(env.get("RULITH_URL") or default_url, insecure=options.insecure_http),
        token=token,
        model=read_model(env),
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
    )


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
