"""Refusal codes of managing a Worker's Tools and MCP services."""

_AGAIN = "Look at what is there now, then decide again; nothing was changed."
_CORRECT = "Correct it and try again; nothing was saved."

CODES: dict[str, tuple[str, str]] = {
    # the Manifest
    "tools_changed_since": ("The Tools of {name} changed since this page read them.", _AGAIN),
    "tools_busy": ("Another step for the MCP services of {name} is under way.", "Wait until it has ended; nothing was started."),
    "tool_kept_id": ("The Tool {tool!r} cannot be renamed.", "Save it under the id it has, or declare another Tool and remove this one."),
    "tool_exists": ("There is a Tool {tool!r} already.", "Open that one to change it, or choose another id."),
    "tool_gone": ("The Tool Manifest holds no Tool {tool!r}.", _AGAIN),
    "tool_of_service": ("Tools that begin with `local.mcp.` belong to MCP services; {tool!r} is one.", "Choose its tools again at its service, or give yours another id."),
    "tool_of_rulith": ("{tool!r} is built in and in no Manifest.", "Built-in workspace Tools are switched on and off all together."),
    "tools_mode": ("There is no workspace mode {mode!r}.", "Choose off, read or read-write."),
    # services
    "mcp_services_unreadable": ("The MCP services file {file} cannot be used: {problem}.", "Look at the file, or move it away and connect the services again."),
    "mcp_service_clash": ("Both an MCP service and something else of this Worker have the {what} {name!r}.", "Rename or remove one of the two: neither replaces the other."),
    "mcp_service_field": ("The service's {field} {problem}.", _CORRECT),
    "mcp_service_exists": ("There is a service {name!r} already.", "Change that one, or choose another name."),
    "mcp_service_gone": ("There is no service {name!r}.", _AGAIN),
    "mcp_secrets_elsewhere": ("What is saved for {name!r} belongs to another program or address.", "Give its variables or token again, or say that they are to be cleared."),
    "mcp_probe_failed": ("The server of {name!r} cannot be used: {problem}.", "Try its command or address by hand. No tool was called, and nothing was saved."),
    "mcp_probe_gone": ("That look at the server is older than ten minutes, or the services changed since.", "Look at the server again, then choose its tools."),
    "mcp_tools_chosen": ("The choice of tools {problem}.", "Choose 1 to 32 of the tools that can be used, each once; nothing was saved."),
    # packages
    "npm_missing": ("No npm was found on this computer.", "Install Node.js (it brings npm) and open this page again, or connect a server that you have by its command."),
    "npm_failed": ("The package {package} was not installed: {problem}.", "Nothing of it is kept. Look at the network and at npm itself, then try again."),
    "mcp_package_differs": ("The package {package} is not what was asked for: {problem}.", "Nothing of it is kept. Do not use this package before you know why."),
    "mcp_package_missing": ("The package {package} is not installed yet.", "Install it first; that needs npm."),
    # the registry
    "mcp_registry_offline": ("The MCP Registry at {registry} was not reached: {problem}.", "What is saved works without it. Try again when this computer is on-line, or connect a server by its command or address."),
    "mcp_registry_answer": ("The MCP Registry's answer could not be used: {problem}.", "Try again later, or connect the server by its command or address."),
    "mcp_registry_query": ("The search cannot be made: {problem}.", "Use up to 150 characters."),
    "mcp_registry_changed": ("The entry {server!r} is not what was looked at: {problem}.", "Look at it again before you use it."),
    "mcp_preparation_gone": ("What was prepared from the MCP Registry is older than ten minutes.", "Prepare it again."),
}
