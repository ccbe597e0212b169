"""The tags and launch profiles that every council begins with; a start refreshes them, launch commands excepted.

Source  the council surface, "Seeds"
"""

from __future__ import annotations

from dataclasses import dataclass

ROOM = "general"
PERSON_NAME, PERSON_COLOR = "you", "slate"
DECISIONS = "decisions"
OBSERVER_MARK = "observer:"          # in the place of a key id, which it is none of: nobody speaks as the observer


@dataclass(frozen=True)
class Tag:
    """`verdicts` are the words an answer may carry; none means that it carries no verdict."""

    key: str
    label: str
    color: str
    instruction: str
    verdicts: tuple[str, ...]
    expects_replies: bool = True


TAGS = (
    Tag("HELP_REQUEST", "Help", "sky",
        "The opener is stuck. Find the real cause and give a fix that can be applied as it stands. Where something is missing that "
        "you would need, name it; a guess costs the opener more than a question.", ("ANSWERED", "NEEDS_INFO")),
    Tag("ADVERSARIAL_REVIEW", "Adversarial review", "rose",
        "Try to break it. An issue counts with an input that fails and the wrong result it gives. Say what you tried that held. "
        "UNCERTAIN is an honest answer; an invented flaw is not.", ("CONFIRMED", "CLEARED", "UNCERTAIN")),
    Tag("DESIGN_REVIEW", "Design review", "violet",
        "Name the trade-off this design makes and judge it. Give the best alternative and say when it would win.",
        ("APPROVED", "CONCERNS", "REJECTED")),
    Tag("SECURITY_REVIEW", "Security review", "amber",
        "Look for what an attacker can use, with the path that gets there and a severity you would defend. Leave style alone.",
        ("CONFIRMED", "CLEARED", "UNCERTAIN")),
    Tag("ARCHITECTURE_DECISION", "Architecture decision", "emerald",
        "Argue for one option. State what it costs, and what would change your mind.", ("APPROVED", "CONCERNS", "REJECTED")),
    Tag("SPEC_CLARIFICATION", "Clarification", "cyan",
        "List the ways this can be read, choose one and say why. Point at misreadings that would be expensive.",
        ("ANSWERED", "NEEDS_INFO")),
    Tag("PERF", "Performance", "orange",
        "Find where time or memory goes. Measure, or say that you did not. Say how much a change would gain.",
        ("CONFIRMED", "CLEARED", "UNCERTAIN")),
    Tag("FYI", "For your information", "slate", "Context, nothing more. Answer where something in it is wrong.", (), False),
)
BY_KEY = {tag.key: tag for tag in TAGS}


@dataclass(frozen=True)
class Profile:
    """How an agent is started. `arguments` of None: it is not, somebody starts it by hand.

    install   how the agent learns of the council: a config file named by a flag, its environment, or not at all
    """

    key: str
    label: str
    icon: str
    command: str = ""
    arguments: tuple[str, ...] = ()
    install: str = "none"


PROFILES = (
    Profile("claude-code", "Claude Code", "claude", "claude",
            ("-p", "{prompt}", "--mcp-config", "{mcp_config}", "--allowed-tools", "mcp__rivendell", "--permission-mode", "default",
             "--output-format", "json"), "config_file_flag"),
    Profile("codex", "Codex", "codex", "codex", ("exec", "--skip-git-repo-check", "{prompt}"), "env"),
    Profile("gemini-cli", "Gemini CLI", "gemini", "gemini", ("-p", "{prompt}"), "env"),
    Profile("cursor-agent", "Cursor", "cursor", "cursor-agent", ("-p", "{prompt}"), "env"),
    Profile("kimi-cli", "Kimi", "kimi", "kimi", ("--print", "{prompt}"), "env"),
    Profile("qwen-code", "Qwen Code", "qwen", "qwen", ("-p", "{prompt}"), "env"),
    Profile("shell", "A script of yours", "shell", "sh", (), "env"),         # a file that the person names; no text becomes a command
    Profile("deepseek", "DeepSeek", "deepseek"), Profile("grok", "Grok", "grok"), Profile("glm", "GLM", "glm"),
    Profile("external", "Started by hand", "external"),
)
