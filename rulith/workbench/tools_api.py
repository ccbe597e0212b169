"""The page's routes for a Worker's Tools and MCP services: `worker-tools/…` and `mcp-services/…` of one Agent.

Source  the workbench surface, "Instance host HTTP", §15
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from rulith.base.errors import Refused
from rulith.disk.mcp_services import folder_of
from rulith.net.messages import Request
from rulith.workbench import tools
from rulith.workbench.bench import Workbench
from rulith.workbench.instances import Instance
from rulith.workbench.materials import members
from rulith.workbench.tools_forms import MEMBERS, MODES, PRESETS, service_forms
from rulith.workbench.tools_npm import FILESYSTEM, REGISTRY, Npm
from rulith.workbench.tools_registry import BASE, DOWNLOADS, Registry
from rulith.workbench.tools_services import Services, started

Route = Callable[[Request, Instance], Awaitable[object]]
STATUS = {"tools_changed_since": 409, "tools_busy": 409, "mcp_registry_offline": 503, "mcp_registry_answer": 502}
PROBED = ("directory", "command", "args", "cwd", "env", "clearSecrets", "url", "token", "preparationId")


class ToolRoutes:
    """Made once by the API; holds looks and preparations of this run."""

    def __init__(self, bench: Workbench) -> None:
        environ = bench.environ
        self.bench = bench
        self.npm = Npm(environ, environ.get("RULITH_NPM_REGISTRY") or REGISTRY)
        self.registry = Registry(bench.abroad, bench.clock, environ.get("RULITH_MCP_REGISTRY") or BASE, environ.get("RULITH_NPM_DOWNLOADS") or DOWNLOADS)
        self.services = Services(bench, self.npm)
        self.gets: dict[str, Route] = {"worker-tools/state": self._state, "mcp-services/state": self._state, "mcp-services/search": self._search,
                                       "mcp-services/detail": self._detail, "mcp-services/downloads": self._downloads}
        self.posts: dict[str, Route] = {"worker-tools/save": self._changing(tools.save, ("id", "definition", "revision"), ("originalId",)),
                                        "worker-tools/remove": self._changing(tools.remove, ("id", "revision")),
                                        "worker-tools/workspace": self._changing(tools.set_mode, ("mode", "revision")),
                                        "mcp-services/install": self._install, "mcp-services/prepare": self._prepare, "mcp-services/probe": self._probe,
                                        "mcp-services/apply": self._apply, "mcp-services/remove": self._remove}

    async def state(self, instance: Instance) -> dict:
        locks = await tools.locks_of(self.bench, instance)
        desk = tools.Desk(instance.profile)
        rows, problem = tools.rows_of(desk, locks)
        try:
            sources = desk.sources()
        except Refused as refused:
            sources, problem = {}, problem or {"code": refused.code, "message": refused.teaching}
        notes = ["The Worker reads the change once its call has ended."] if instance.reload.is_due else []
        if locks is None:
            notes.append("The gateway is silent, so nobody can say what is locked.")
        npm, installed = self.npm.row(), self.npm.installed(folder_of(instance.profile), FILESYSTEM) is not None
        return {"tools": rows, "problem": problem, "revision": desk.revision, "workspaceMode": desk.mode, "manifestFile": str(desk.manifest_file),
                "vaultFile": str(desk.vault_file), "sources": [{"name": name, "type": entry.get("type", "file")} for name, entry in sources.items()],
                "services": self.services.rows(desk), "presets": PRESETS, "reloading": instance.reload.is_due, "npm": npm,
                "filesystem": {"package": str(FILESYSTEM), "installed": installed}, "registry": self.registry.base, "locksKnown": locks is not None,
                "notes": notes, "modes": MODES, "members": MEMBERS, "forms": service_forms(npm, str(FILESYSTEM), is_installed=installed)}

    async def _state(self, request: Request, instance: Instance) -> object:
        return await self.state(instance)

    def _changing(self, act, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> Route:
        async def change(request: Request, instance: Instance) -> object:
            act(tools.Desk(instance.profile), members(request, required, optional))
            tools.changed(self.bench, instance)
            return await self.state(instance)
        return change

    async def _search(self, request: Request, instance: Instance) -> object:
        return await self.registry.search(request.query.get("search", ""), request.query.get("cursor", ""))

    async def _detail(self, request: Request, instance: Instance) -> object:
        return await self.registry.detail(request.query.get("name", ""), request.query.get("version", ""))

    async def _downloads(self, request: Request, instance: Instance) -> object:
        return await self.registry.downloads(request.query.get("package", ""))

    async def _install(self, request: Request, instance: Instance) -> object:
        members(request, ())
        return await self.services.once(instance, self.services.install(instance))

    async def _prepare(self, request: Request, instance: Instance) -> object:
        given = members(request, ("serverName", "version", "optionId", "reviewToken", "values"))
        return await self.services.once(instance, self._prepared(instance, given))

    async def _prepared(self, instance: Instance, given: dict) -> dict:
        option, package, values = await self.registry.prepare(given)
        record: dict[str, object] = {"registry": {name: given[name] for name in ("serverName", "version", "optionId")}}
        if package is not None:
            entry = await self.npm.install(folder_of(instance.profile), package)
            record.update(package={"entry": entry}, source=started(folder_of(instance.profile), entry, values["args"], values["env"]))
        else:
            source = {"type": "mcp", "transport": "streamable-http", "url": option["url"]}
            record["source"] = {**source, "headers": values["headers"]} if values["headers"] else source
        return {"preparationId": self.services.prepare(record)}

    async def _probe(self, request: Request, instance: Instance) -> object:
        given = members(request, ("name", "isNew", "mode"), PROBED)
        return await self.services.once(instance, self.services.probe(instance, given))

    async def _apply(self, request: Request, instance: Instance) -> object:
        return self.services.apply(instance, members(request, ("probeId", "tools")))

    async def _remove(self, request: Request, instance: Instance) -> object:
        self.services.remove(instance, members(request, ("name", "revision")))
        return await self.state(instance)
