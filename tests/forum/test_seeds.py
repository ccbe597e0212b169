"""What every council begins with: tags with their verdicts, and ways to start agents. Duty: the council surface, "Seeds"."""

from __future__ import annotations

import json

TAGS = {"HELP_REQUEST": ("sky", ["ANSWERED", "NEEDS_INFO"]), "ADVERSARIAL_REVIEW": ("rose", ["CONFIRMED", "CLEARED", "UNCERTAIN"]),
        "DESIGN_REVIEW": ("violet", ["APPROVED", "CONCERNS", "REJECTED"]), "SECURITY_REVIEW": ("amber", ["CONFIRMED", "CLEARED", "UNCERTAIN"]),
        "ARCHITECTURE_DECISION": ("emerald", ["APPROVED", "CONCERNS", "REJECTED"]), "SPEC_CLARIFICATION": ("cyan", ["ANSWERED", "NEEDS_INFO"]),
        "PERF": ("orange", ["CONFIRMED", "CLEARED", "UNCERTAIN"]), "FYI": ("slate", [])}
PROFILES = {"claude-code": ("claude", "config_file_flag"), "codex": ("codex", "env"), "gemini-cli": ("gemini", "env"), "cursor-agent": ("cursor-agent", "env"),
            "kimi-cli": ("kimi", "env"), "qwen-code": ("qwen", "env"), "shell": ("sh", "env"), "deepseek": ("", "none"), "grok": ("", "none"), "glm": ("", "none"),
            "external": ("", "none")}


def test_the_tags_with_their_colours_and_words_are_there_in_one_order(served):
    async def story(talk):
        told = await talk.does("list_tags")
        assert [(row["tag"], row["color"], row["verdicts"]) for row in told] == [(key, *about) for key, about in TAGS.items()]
        assert [row["tag"] for row in told if not row["expects_replies"]] == ["FYI"] and not any(row["verdict_required"] for row in told)
        assert all(row["expects"] and row["label"] for row in told)
    served(story)


def test_the_ways_to_start_agents_are_there_and_none_lends_writing_or_makes_text_a_command(served):
    async def story(talk):
        told = {row["key"]: row for row in await talk.does("list_profiles")}
        assert {key: (row["launch_cmd"], row["mcp_install_mode"]) for key, row in told.items()} == PROFILES and all(row["builtin"] for row in told.values())
        arguments = {key: json.loads(row["launch_args"]) for key, row in told.items()}
        assert arguments["codex"] == ["exec", "--skip-git-repo-check", "{prompt}"] and arguments["kimi-cli"] == ["--print", "{prompt}"]
        assert {"-p", "{prompt}", "--mcp-config", "{mcp_config}", "mcp__rivendell", "--output-format", "json"} <= set(arguments["claude-code"])
        assert "acceptEdits" not in arguments["claude-code"] and arguments["shell"] == []
    served(story)


def test_a_start_refreshes_what_is_built_in_but_what_starts_it_and_leaves_the_persons_own(council):
    db = council.forum.db
    with db.change():
        db.update("tag", "PERF", by="key", label="old", instruction="old", verdict_options='["OLD"]')
        db.update("profile", "codex", by="key", label="old")
    council.act("upsert_profile", key="gemini-cli", label="mine", launch_cmd="/opt/gemini", launch_args=["--fast", "{prompt}"])
    council.act("upsert_profile", key="Own One", label="Own", launch_cmd="own", launch_args=["{prompt}"], notes="n")
    council.forum.db.close()
    council.open()
    (perf,) = [row for row in council.act("list_tags") if row["tag"] == "PERF"]
    assert perf["label"] == "Performance" and perf["verdicts"] == TAGS["PERF"][1] and perf["expects"] != "old"
    told = {row["key"]: row for row in council.act("list_profiles")}
    assert told["codex"]["label"] == "Codex" and (told["gemini-cli"]["label"], told["gemini-cli"]["launch_cmd"]) == ("Gemini CLI", "/opt/gemini")
    assert json.loads(told["gemini-cli"]["launch_args"]) == ["--fast", "{prompt}"]
    assert (told["own-one"]["label"], told["own-one"]["launch_cmd"], told["own-one"]["notes"], told["own-one"]["builtin"]) == ("Own", "own", "n", 0)
