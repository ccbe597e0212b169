"""The page's settings of this home: budgets, logs, the check of `rulith doctor`, a backup, the gateway anew.

What a verb of the command line does, that verb does here too, as a process of its own: one
law for a press and a terminal. A log is shown from its end, without what opens anything.

Source  the workbench surface, "settings"; the design, "budgets"
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from rulith.base.errors import Refused
from rulith.base.limits import BACKUP_VERB_S, DOCTOR_S, LOG_NAMES_MAX, LOG_TAIL_BYTES
from rulith.disk.archive import kept_archive
from rulith.disk.atomic import make_folder, read_json
from rulith.disk.home_settings import BUDGET, ROUNDS, SETTINGS_FILE, STEPS_AWAY, change_home_settings, read_home_settings
from rulith.disk.model_settings import read_default
from rulith.disk.profiles import DEFAULTS, agent_secrets, device_secrets, role_env, worker_secrets, write_role_env
from rulith.net.messages import Request
from rulith.procs.archive import checkout_root, role_command
from rulith.procs.children import run_command
from rulith.procs.roles import inherited_environment
from rulith.workbench.bench import Workbench
from rulith.workbench.materials import members
from rulith.workbench.supervision import Is

PREFIX = "/api/settings"
STATUS = {"log_unknown": 404, "verb_unanswered": 502, "gateway_elsewhere": 409, "budget_moved": 409}
LIMITS = ("rounds", "tokens", "money", "per")
PERIODS = ("day", "month", "run")
WHOLE, AMOUNT = re.compile(r"[0-9]{1,15}", re.ASCII), re.compile(r"[0-9]{1,9}(\.[0-9]{1,6})?", re.ASCII)
ROUNDS_MAX = 1000
LOG_NAME = re.compile(r"(gateway|council|worker-[\w-]{1,80}|agent-[\w-]{1,80})\.log(\.1|\.old)?", re.ASCII)
BACKUP_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}", re.ASCII)
# Whatever looks like a credential, known or not.
SECRET = re.compile(r"\brlt_[a-z]+_[\w-]{4,}|\bsk-[\w-]{8,}|(?<=Bearer )[^\s\"']+|(?<=[?&]k=)[\w-]+")
SECRET_CHARS_MIN = 6
HIDDEN = "[hidden]"


class Settings:
    """Made once by the API."""

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench
        self.path = bench.home.workbench / SETTINGS_FILE
        bench.steps_away = bool(self._shared()[0].get(STEPS_AWAY))
        self._changing = asyncio.Lock()                   # what was shown holds until it is changed
        self._archive = kept_archive(bench.home)          # now: the running file may be replaced
        self.posts: dict[str, Callable[[Request], Awaitable[dict]]] = {
            "/doctor": self._doctor, "/backup": self._backup, "/gateway": self._gateway, "/budget": self._budget, "/steps": self._steps}

    async def answer(self, request: Request) -> dict:
        """`GET /api/settings`, `GET …/log?name=` and `POST …`: what the API knows as a route."""
        path = request.path.removeprefix(PREFIX)
        if request.method == "GET" and path == "":
            return await asyncio.to_thread(self._state)
        if request.method == "GET" and path == "/log":
            return await asyncio.to_thread(self._log, request.query.get("name", ""))
        return await self.posts[path](request)

    # --- reading

    def _state(self) -> dict:
        home, (shared, problem) = self.bench.home, self._shared()
        own: dict[str, dict[str, str]] = {}
        for each in list(self.bench.instances.values()):
            try:
                own[each.id] = role_env(each.profile, "agent")
            except Refused as refusal:
                problem = problem or refusal.teaching
        places = [("Everything", home.path), ("Ledger", home.ledger), ("Agents and their workspaces", home.instances),
                  ("Backups", self._backups), ("Logs", home.logs), ("Prices", home.path / "prices.json")]
        return {"budget": limits_of(shared), "budgets": {key: limits_of(env) for key, env in own.items()}, "prices": self._prices(),
                "stepsAway": bool(shared.get(STEPS_AWAY)), "problem": problem, "logs": self._logs(),
                "places": [{"name": name, "path": str(path)} for name, path in places]}

    def _shared(self) -> tuple[dict[str, str], str]:
        """The settings of the home, and why they cannot be read."""
        try:
            return read_home_settings(self.path), ""
        except Refused as refusal:
            return {}, refusal.teaching

    @property
    def _backups(self) -> Path:
        return self.bench.home.path / "backups"

    def _prices(self) -> dict[str, object]:
        """Whether money can be counted: the table's rows, or why there is none."""
        path = self.bench.home.path / "prices.json"
        if not path.exists():
            return {"models": 0, "currency": "", "problem": f"there is no {path}"}
        try:
            value = read_json(path)
        except Refused as problem:
            return {"models": 0, "currency": "", "problem": problem.happened.rstrip(".")}
        rows = value.get("models") if isinstance(value, dict) and value.get("format") == "rulith-prices/1" else None
        if not isinstance(rows, list):
            return {"models": 0, "currency": "", "problem": f"{path} is no table of prices"}
        return {"models": len(rows), "currency": str(value.get("currency", ""))[:20], "problem": ""}

    def _logs(self) -> list[dict[str, object]]:
        folder = self.bench.home.logs
        found = sorted(each for each in (os.listdir(folder) if folder.is_dir() else ()) if LOG_NAME.fullmatch(each))[:LOG_NAMES_MAX]
        names = {each.id: each.name for each in list(self.bench.instances.values())}
        return [{"name": each, "words": _whose(each, names), "bytes": (folder / each).stat().st_size} for each in found]

    def _log(self, name: str) -> dict:
        """The end of one log, whole lines. Raises Refused: log_unknown, what a vault refuses (then nothing is known to hide)."""
        path = self.bench.home.logs / name
        if not LOG_NAME.fullmatch(name) or path.is_symlink() or not path.is_file():
            raise Refused("log_unknown", name=name[:80])
        try:
            with open(path, "rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - LOG_TAIL_BYTES))
                content = file.read(LOG_TAIL_BYTES)
        except OSError as problem:
            raise Refused("file_unusable", path=str(path), problem=problem.strerror or problem) from None
        if size > LOG_TAIL_BYTES:
            content = content.partition(b"\n")[2]          # from the next line on: half a secret would not be known as one
        return {"name": name, "text": hidden(content.decode("utf-8", "replace"), self._secrets()), "bytes": size, "shown": len(content)}

    def _secrets(self) -> Iterator[str]:
        """Every credential of this home that a role could have written."""
        home = self.bench.home
        yield from device_secrets(home).load().values()
        yield read_default(home.workbench / DEFAULTS).get("key", "")
        for instance in list(self.bench.instances.values()):
            yield from agent_secrets(instance.profile).load().values()
            yield from worker_secrets(instance.profile).load().values()
            for name in ("worker-secrets.json", "mcp/services.json"):
                place = instance.profile.directory / name
                if place.is_file():
                    yield from _texts(read_json(place, 4 * 2**20), is_secret=name == "worker-secrets.json")

    # --- acting

    async def _verb(self, verb: str, *args: str, timeout_s: float) -> tuple[int, str, str]:
        """(exit status, what it printed, its last words on stderr) of a verb of the command line on this home."""
        env = inherited_environment(self.bench.environ)
        if self._archive is None:
            env |= {"PYTHONPATH": str(checkout_root()), "PYTHONSAFEPATH": "1"}
        ended = await run_command([*role_command(verb, self._archive), *args, "--home", str(self.bench.home.path)], env=env, timeout_s=timeout_s)
        if ended.timed_out or ended.stdout_overflow:
            raise Refused("verb_unanswered", verb=verb, problem="its time was up" if ended.timed_out else "it wrote without end")
        return ended.status, ended.stdout.decode("utf-8", "replace"), ended.stderr_tail.decode("utf-8", "replace").strip()

    async def _doctor(self, request: Request) -> dict:
        repair = members(request, (), ("repair",)).get("repair", False)
        if type(repair) is not bool:
            raise Refused("settings_operation", operation=str(repair)[:40])
        status, said, wrong = await self._verb("doctor", "--json", *(["--repair"] if repair else []), timeout_s=DOCTOR_S)
        try:
            answer = json.loads(said)
            return {"checks": answer["checks"], "isWell": answer["ok"]}
        except (ValueError, KeyError, TypeError):
            raise Refused("verb_unanswered", verb="doctor", problem=(wrong.splitlines() or [f"it ended with {status}"])[-1][:300].rstrip(".")) from None

    async def _backup(self, request: Request) -> dict:
        name = members(request, ("name",))["name"]
        if not isinstance(name, str) or not BACKUP_NAME.fullmatch(name):
            raise Refused("backup_name", name=str(name)[:80])
        place = make_folder(self._backups) / name
        status, said, wrong = await self._verb("gateway", "backup", str(place), timeout_s=BACKUP_VERB_S)
        if status != 0:
            raise Refused("verb_unanswered", verb="gateway backup", problem=(wrong or f"it ended with {status}")[:500].rstrip("."))
        rows = dict(line.split(None, 1) for line in said.splitlines() if len(line.split(None, 1)) == 2)
        return {"file": str(place), "digest": rows.get("Digest", ""), "rows": rows.get("Rows", "")}

    async def _gateway(self, request: Request) -> dict:
        """End our gateway and start it anew; what was under way is known to its ledger."""
        operation, gateway = members(request, ("operation",))["operation"], self.bench.gateway
        if operation != "restart":
            raise Refused("settings_operation", operation=str(operation)[:40])
        if not self.bench.gateway_row()["owned"]:
            raise Refused("gateway_elsewhere")
        (gateway.restart if gateway.state in (Is.STARTING, Is.ONLINE) else gateway.start)()
        return {"gateway": self.bench.gateway_row()}

    async def _budget(self, request: Request) -> dict:
        """The limits of one profile, or of every one that has none of its own (`profile` null); all empty: no limit here.

        Raises Refused: budget_field, budget_prices, budget_moved (they are not those `expected`), what the disk refuses.
        """
        given = members(request, ("profile", *LIMITS, "maxRounds"), ("expected",))
        changes, profile = self._checked(given), None
        told = list(self.bench.instances.values())
        if given["profile"] is not None:
            told = [self.bench.instance(str(given["profile"]))]
            profile = told[0].profile

        def keep() -> None:
            now = limits_of(read_home_settings(self.path) if profile is None else role_env(profile, "agent"))
            if given.get("expected", now) != now:
                raise Refused("budget_moved", words=_words(now), now=now)
            if profile is None:
                change_home_settings(self.path, changes)
            else:
                write_role_env(profile, "agent", changes)
        async with self._changing:
            await asyncio.to_thread(keep)
        for instance in told:
            instance.talker.reload()
        self._tell()
        return await asyncio.to_thread(self._state)

    def _tell(self) -> None:
        """Every tab reads them again."""
        self.bench.feed.put("settings")
        self.bench.changed()

    def _checked(self, given: dict) -> dict[str, str | None]:
        """What an Agent is to be given. Raises Refused: budget_field, budget_prices."""
        for name in (*LIMITS, "maxRounds"):
            if not isinstance(given[name], str):
                raise Refused("budget_field", field=name, problem="must be text")
        for name in ("rounds", "tokens", "maxRounds"):
            if given[name] and not WHOLE.fullmatch(given[name]):
                raise Refused("budget_field", field=name, problem="must be a whole number")
        if given["money"] and not AMOUNT.fullmatch(given["money"]):
            raise Refused("budget_field", field="money", problem="must be an amount such as 1.50")
        if given["per"] not in PERIODS:
            raise Refused("budget_field", field="per", problem=f"is one of {', '.join(PERIODS)}")
        if given["maxRounds"] and not 1 <= int(given["maxRounds"]) <= ROUNDS_MAX:
            raise Refused("budget_field", field="maxRounds", problem=f"must be from 1 to {ROUNDS_MAX}")
        if given["money"] and (problem := self._prices()["problem"]):
            raise Refused("budget_prices", problem=problem)
        caps = [f"{name}={given[name]}" for name in ("rounds", "tokens", "money") if given[name]]
        return {BUDGET: ",".join([*caps, f"per={given['per']}"]) if caps else None, ROUNDS: given["maxRounds"] or None}

    async def _steps(self, request: Request) -> dict:
        """Put the first steps away, or show them again."""
        away = members(request, ("away",))["away"]
        if type(away) is not bool:
            raise Refused("settings_operation", operation=str(away)[:40])
        await asyncio.to_thread(change_home_settings, self.path, {STEPS_AWAY: "yes" if away else None})
        self.bench.steps_away = away
        self._tell()
        return {"stepsAway": away}


def limits_of(env: dict[str, str]) -> dict[str, str]:
    """A budget as the form shows it; the empty text is no limit."""
    pairs = (part.partition("=") for part in env.get(BUDGET, "").split(","))
    parts = {name.strip(): value.strip() for name, _, value in pairs}
    return {**{name: parts.get(name, "day" if name == "per" else "") for name in LIMITS}, "maxRounds": env.get(ROUNDS, "")}


def _words(limits: dict[str, str]) -> str:
    caps = [f"{limits[name]} {words}" for name, words in (("tokens", "tokens"), ("rounds", "calls"), ("money", "in money")) if limits[name]]
    return f"{', '.join(caps) or 'no limit'} each {limits['per']}, {limits['maxRounds'] or 'the usual'} replies in a turn"


def hidden(text: str, secrets: Iterator[str]) -> str:
    """`text` without any of `secrets` and without what looks like one."""
    for secret in sorted({each for each in secrets if len(each) >= SECRET_CHARS_MIN}, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return SECRET.sub(HIDDEN, text)


def _texts(value: object, *, is_secret: bool) -> Iterator[str]:
    """Every text in `value`; where not all of it is secret, those below a member that holds such."""
    if isinstance(value, str) and is_secret:
        yield value
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from _texts(each, is_secret=is_secret or name in ("env", "token", "headers", "secrets"))
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each, is_secret=is_secret)


def _whose(name: str, names: dict[str, str]) -> str:
    role, _, rest = name.partition(".log")[0].partition("-")
    who = {"gateway": "Gateway", "council": "Council"}.get(role) or f"{names.get(rest, rest)}: {role.capitalize()}"
    return who + (", before" if not name.endswith(".log") else "")
