"""What may be started for an agent and what its watcher's end means. Duty: the council surface, "Supervisor", and the rule that a run gets no permission it does not have by itself."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from rulith.base.errors import Refused
from rulith.council.awake import CEILING, End, HOUR_S, after_end, config_text, granting, in_last_hour, joined_path, read_launch
from rulith.council.seeds import PROFILES


def profile(command: str = "claude", *arguments: str, key: str = "mine", mode: str = "env") -> dict:
    return {"key": key, "label": "Mine", "launch_cmd": command, "launch_args": json.dumps(arguments), "mcp_install_mode": mode}


def refused(code: str, *about, **named) -> str:
    with pytest.raises(Refused) as refusal:
        read_launch(profile(*about, **named))
    assert refusal.value.code == code
    return refusal.value.teaching


def test_every_profile_that_comes_with_the_council_starts_or_says_that_it_does_not():
    for each in PROFILES:
        about = {"key": each.key, "label": each.label, "launch_cmd": each.command, "launch_args": json.dumps(each.arguments), "mcp_install_mode": each.install}
        if each.key == "kimi-cli":
            assert "--print" in refused("council_grants", each.command, *each.arguments), "it runs every tool unasked then, by its own manual"
        elif each.command and each.key != "shell":
            assert "{prompt}" in read_launch(about).arguments
        else:
            with pytest.raises(Refused) as refusal:
                read_launch(about)
            assert refusal.value.code == "council_launch" and each.label in refusal.value.teaching


def test_no_program_and_no_profile_start_nothing():
    assert "no program" in refused("council_launch", "  ")
    assert "no program" in refused("council_launch", "claude", key="external")
    with pytest.raises(Refused) as refusal:
        read_launch(None)
    assert refusal.value.code == "council_no_profile" and "none" not in refusal.value.teaching and "launch profile" in refusal.value.teaching


def test_places_are_filled_once_and_those_of_the_watcher_stay():
    launch = read_launch(profile("/bin/x", "{prompt}", "--at={cwd}", "{mcp_url}{agent_name}", "{threads} {list}", "{not a place}"))
    values = {"cwd": "/p/{mcp_url}", "mcp_url": "http://h/mcp", "agent_name": "{cwd}", "mcp_config": "/f"}
    assert launch.filled(values) == ["/bin/x", "{prompt}", "--at=/p/{mcp_url}", "http://h/mcp{cwd}", "{threads} {list}", "{not a place}"]
    assert not launch.needs_config and read_launch(profile("x", "{mcp_config}")).needs_config and read_launch(profile("x", mode="config_file_flag")).needs_config


@pytest.mark.parametrize("about, said", [
    (("x", "{api_key}"), "list of processes"), (("x", "{secret}"), "{secret}"), (("{cwd}/x", "y"), "its program"), (("x", "a\0b"), "NUL"),
    (("x", *["y"] * 65), "too many"), (("sh",), "without a script"), (("/bin/bash", "-l"), "without a script"), (("sh", "-c", "{prompt}"), "its own text"),
    (("bash", "-lc", "run {list}"), "its own text"), (("C:\\Windows\\cmd.exe", "/c", "run", "{prompt}"), "its own text"),
    (("env", "X=1", "/bin/sh", "-ec", "{prompt}"), "its own text"), (("bash", "-ce", "{threads}"), "its own text"),
    (("pwsh.exe", "-Command", "{agent_name}"), "its own text"),
])
def test_what_cannot_be_started_safely_is_refused_with_the_reason(about, said):
    assert said in refused("council_launch", *about)


def test_a_script_is_started_with_what_it_is_told():
    assert read_launch(profile("sh", "work.sh", "{threads}")).filled({}) == ["sh", "work.sh", "{threads}"]


@pytest.mark.parametrize("arguments", [
    ("--dangerously-skip-permissions",), ("--allow-dangerously-skip-permissions",), ("--dangerously-bypass-approvals-and-sandbox",), ("--yolo",), ("-y",), ("--force",),
    ("--full-auto",), ("--permission-mode", "bypassPermissions"), ("--permission-mode=bypassPermissions",), ("--permission-mode",), ("--approval-mode", "yolo"),
    ("--approvalMode=auto_edit",), ("--sandbox", "danger-full-access"), ("-s", "workspace-write"), ("-a", "never"), ("--allowed-tools", "Bash"),
    ("--allowedTools", "mcp__rivendell", "Edit"), ("--allowed-tools=mcp__rivendell,Write",), ("-c", "sandbox_mode=danger-full-access"), ("--config", "approval_policy='never'"),
    ("--afk",), ("--auto",), ("--auto", "high"), ("--settings", "x.json"), ("--add-dir", "/"), ("--trust-all-tools",), ("--allow-all-tools",), ("run --yolo now",), ("--Dangerously-Skip-Permissions",),
])
def test_an_argument_that_lends_writing_or_skips_questions_is_refused(arguments):
    assert arguments[0].split()[0] in refused("council_grants", "claude", "-p", "{prompt}", *arguments) or len(arguments[0].split()) > 1


@pytest.mark.parametrize("arguments", [
    ("--permission-mode", "default"), ("--permission-mode", "plan"), ("--allowed-tools", "mcp__rivendell"), ("--allowed-tools", "Read,Grep", "mcp__rivendell__reply"),
    ("--sandbox", "read-only"), ("--sandbox",), ("--skip-git-repo-check",), ("--output-format", "json"), ("-c", "model=o3"), ("--model", "opus"), ("--approve-mcps",),
    ("-a", "-p", "{prompt}"), ("-a", "on-request"), ("--allow-tool", "rivendell"), ("--disallowed-tools", "Bash"),
])
def test_an_argument_that_lends_nothing_is_taken(arguments):
    assert granting(arguments) == [] and read_launch(profile("claude", *arguments)).arguments == arguments


@pytest.mark.parametrize("about", [("kimi", "--print"), ("/opt/kimi", "--quiet", "-p", "{prompt}"), ("uv", "run", "kimi", "--print"), ("KIMI.EXE", "--print")])
def test_a_way_of_running_that_skips_questions_is_refused_of_the_program_whose_it_is(about):
    assert about[-1] in refused("council_grants", *about) or "--quiet" in about


def test_edits_that_were_accepted_unasked_are_asked_for():
    assert read_launch(profile("claude", "--permission-mode", "acceptEdits")).arguments == ("--permission-mode", "default")
    assert read_launch(profile("claude", "--permission-mode=acceptEdits")).arguments == ("--permission-mode=default",)


def test_a_name_that_reads_as_such_an_argument_lends_nothing_either():
    launch = read_launch(profile("x", "{agent_name}", "--name={agent_name}"))
    assert launch.filled({"agent_name": "ann"}) == ["x", "ann", "--name=ann"]
    for name in ("--yolo", "-y", "a --dangerously-skip-permissions"):
        with pytest.raises(Refused) as refusal:
            launch.filled({"agent_name": name})
        assert refusal.value.code == "council_grants"


def test_the_config_file_names_the_address_and_the_credential():
    assert json.loads(config_text("http://127.0.0.1:8787/mcp", "rvdlive_x"))["mcpServers"]["rivendell"] == {
        "type": "http", "url": "http://127.0.0.1:8787/mcp", "headers": {"Authorization": "Bearer rvdlive_x"}}


def test_a_path_has_each_folder_once_and_none_of_the_project():
    assert joined_path(":", "/a:/b", "/b::bin:./x:/c", "/a") == "/a:/b:/c"
    assert joined_path(";", "C:\\a;b", "D:/c") == "C:\\a;D:/c"


def test_three_quick_ends_in_a_row_are_the_last_and_a_longer_life_forgives():
    assert after_end(1, 3.0, 0) == (End.AGAIN, 1) and after_end(0, 19.9, 1) == (End.AGAIN, 2) and after_end(-9, 0.0, 2) == (End.BROKEN, 0)
    assert after_end(1, 20.0, 2) == (End.AGAIN, 0)
    assert after_end(3, 500.0, 0) == (End.LOOPS, 0) == after_end(3, 0.1, 2)


@given(st.lists(st.floats(0, 20_000), max_size=80), st.floats(0, 20_000))
def test_starts_count_for_an_hour_and_a_clock_set_back_never_frees_them_early(starts, now_s):
    counted = in_last_hour(starts, now_s)
    within = [each for each in starts if now_s - each < HOUR_S]
    assert len(counted) == min(len(within), CEILING + 1) and all(now_s - each < HOUR_S and each <= now_s for each in counted)
