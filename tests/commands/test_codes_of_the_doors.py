"""Refusals of the doors that no other test names: options, homes, locks, children that do not start."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys

import pytest

from rulith import worker
from rulith.base.clock import SystemClock
from rulith.base.codes import CODES
from rulith.base.errors import Refused
from rulith.base.log import read_log_form
from rulith.commands import demo, explain, gateway, gateway_copies, stop
from rulith.disk.home import Home
from rulith.disk.locks import KernelLock
from rulith.disk.profiles import create_profile, worker_secrets
from rulith.disk.runfile import write_runfile
from rulith.gateway.copies import restore
from rulith.host import _only_workbench
from rulith.host import read_options as start_options
from rulith.local.console import ConsoleSession
from rulith.local.documents import read_options as document_options
from rulith.local.documents import run_door
from rulith.local.gateway import find_gateway
from rulith.local.visit import GatewayVisit
from rulith.net.client import NetFailed
from rulith.procs import archive, child, roles
from rulith.runtime import local_home
from rulith.wire.worker_hop import check_upload
from rulith.work.settings import read_settings as worker_settings


def code_of(act, *given, **named) -> str:
    with pytest.raises(Refused) as refused:
        act(*given, **named)
    assert refused.value.teaching
    return refused.value.code


def says(code: str, text: str) -> bool:
    """Whether a text has the words of this code: the longest piece of them that no fact fills in."""
    return max(re.split(r"\{.*?\}", CODES[code][0]), key=len) in text


def run_async(act, *given, **named):
    return asyncio.run(act(*given, **named))


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path / "home").prepare()


@pytest.mark.parametrize("words, environ, code", [
    (["--wrong"], {}, "option_unknown"), (["--home"], {}, "option_value"), (["--home", "--port"], {}, "option_value"),
    (["--port", "0"], {}, "port_not_a_number"), (["--port=x"], {}, "port_not_a_number"), ([], {"RULITH_MANAGER_PORT": "70000"}, "port_not_a_number"),
])
def test_wrong_words_of_start_are_named(words, environ, code):
    assert code_of(start_options, words, environ) == code


@pytest.mark.parametrize("words", [[], ["paint"], ["check"], ["check", "a", "b"], ["install", "a", "--json"]])
def test_wrong_words_of_a_file_door_are_option_usage(words):
    assert code_of(document_options, "capability", ("check", "install"), words) == "option_usage"


def test_an_installation_without_a_terminal_is_terminal_needed(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(sys, "stdin", open(os.devnull))
    assert run_door("capability", ["install", str(tmp_path / "x")], lambda parsed: (None, ()), {"install": None}) != 0
    assert says("terminal_needed", capsys.readouterr().err)


def test_a_wrong_log_form_is_log_form():
    assert code_of(read_log_form, {"RULITH_LOG": "xml"}) == "log_form"


def test_a_home_without_a_ledger_is_home_without_ledger(home):
    assert code_of(GatewayVisit, home) == "home_without_ledger"


def test_a_gateway_without_a_passphrase_is_passphrase_not_chosen(home, monkeypatch):
    home.ledger.parent.mkdir(exist_ok=True)
    home.ledger.write_bytes(b"x")
    visit = GatewayVisit(home)
    visit.gateway = type("Gateway", (), {"url": "http://127.0.0.1:1", "process": None})()
    monkeypatch.setattr(visit, "state", lambda: {"passphraseSet": False, "nameNeeded": False})
    try:
        assert code_of(visit.signed_in, lambda console: 0) == "passphrase_not_chosen"
    finally:
        visit._loop.close()


def test_an_act_whose_answer_is_lost_is_act_unanswered():
    class Cut:
        async def request(self, *given, **named):
            raise NetFailed("closed", "it broke", sent=True)

    assert code_of(run_async, ConsoleSession(Cut(), "http://127.0.0.1:1").post, "decide", {}) == "act_unanswered"


def test_a_run_file_that_leads_off_this_machine_is_gateway_not_started(home):
    write_runfile(home.gateway_json, url="http://192.0.2.1:7781", port=7781)
    assert code_of(find_gateway, home) == "gateway_not_started"


def test_a_second_gateway_of_a_home_is_gateway_running(home):
    write_runfile(home.gateway_json, url="http://127.0.0.1:1", port=1)
    assert code_of(run_async, gateway._run, home, None, None) == "gateway_running"
    assert code_of(run_async, restore, home, home.ledger, SystemClock()) == "gateway_running"
    with pytest.raises(Refused, match=re.escape(f"`rulith stop --home {home.path}`")):
        run_async(restore, home, home.ledger, SystemClock())


def test_a_backup_that_is_none_is_backup_unusable(home, tmp_path):
    (tmp_path / "copy").write_bytes(b"no ledger at all" * 100)
    assert code_of(run_async, restore, home, tmp_path / "copy", SystemClock()) == "backup_unusable"


def test_a_backup_that_the_running_gateway_does_not_make_is_backup_not_made(home, tmp_path):
    assert code_of(run_async, gateway_copies._ask, home, {"pid": 1, "url": "http://127.0.0.1:1"}, tmp_path / "copy") == "backup_not_made"


def test_a_demo_folder_that_is_a_file_is_demo_folder(tmp_path):
    (tmp_path / "file").write_text("x")
    assert code_of(demo._prepare, tmp_path / "file") == "demo_folder"


def test_two_demos_in_one_folder_are_demo_under_way(home, monkeypatch):
    monkeypatch.setattr(demo, "TURN_TRIES", 1)
    monkeypatch.setattr(demo, "TURN_PAUSE_S", 0)
    first = KernelLock(home.run / "demo.lock")
    assert first.take()
    try:
        assert code_of(run_async, demo._turn, home) == "demo_under_way"
    finally:
        first.release()


def test_an_output_that_takes_nothing_is_output_lost(monkeypatch):
    class Full:
        def write(self, text):
            raise OSError(28, "No space left on device")

        flush = write

    monkeypatch.setattr(sys, "stdout", Full())
    assert code_of(demo.say, "a line") == "output_lost"


def test_a_file_that_is_no_receipt_is_no_receipt_file(tmp_path, capsys):
    path = tmp_path / "x.json"
    path.write_text("{}")
    assert explain.main([str(path)]) != 0
    assert says("no_receipt_file", capsys.readouterr().err)


def test_two_workbenches_of_a_home_are_workbench_running(home):
    with _only_workbench(home):
        assert code_of(_only_workbench, home) == "workbench_running"


def test_stopping_a_home_where_nothing_runs_is_nothing_running(home, monkeypatch, capsys):
    monkeypatch.setenv("RULITH_HOME", str(home.path))
    assert stop.main([]) == 0
    assert says("nothing_running", capsys.readouterr().out)


def test_what_does_not_end_is_stop_unfinished(home, monkeypatch, capsys):
    monkeypatch.setenv("RULITH_HOME", str(home.path))
    monkeypatch.setattr(stop, "running", lambda home: [[{"role": "worker", "pid": 1}]])
    monkeypatch.setattr(stop, "end", lambda group: group)
    assert stop.main([]) != 0
    assert says("stop_unfinished", capsys.readouterr().err)


def test_a_worker_without_its_connection_is_worker_setting_missing(tmp_path):
    assert code_of(worker_settings, {}, tmp_path) == "worker_setting_missing"


def test_a_worker_root_that_is_not_there_is_worker_root_missing(tmp_path):
    environ = {"RULITH_CONNECTION": "conn_1", "RULITH_CONNECTION_KEY": "k", "RULITH_HOME": str(tmp_path), "RULITH_WORKER_ROOT": "nowhere"}
    assert code_of(worker_settings, environ, tmp_path) == "worker_root_missing"


def test_a_named_manifest_that_is_not_there_is_tool_manifest_missing(tmp_path):
    """A mistyped name is no wish for built-in Tools alone; where nothing is named, they are what runs."""
    environ = {"RULITH_CONNECTION": "conn_1", "RULITH_CONNECTION_KEY": "k", "RULITH_HOME": str(tmp_path)}
    named = worker_settings({**environ, "RULITH_TOOLS_FILE": "mistyped.json"}, tmp_path)
    assert code_of(worker._installed, named, {}) == "tool_manifest_missing"
    assert worker._installed(worker_settings(environ, tmp_path), {})


def test_a_python_that_cannot_name_itself_is_python_unknown(monkeypatch):
    monkeypatch.setattr(sys, "executable", "")
    assert code_of(archive.interpreter) == "python_unknown"


def test_a_role_whose_log_cannot_be_opened_is_role_not_started(tmp_path):
    assert code_of(roles._open_log, tmp_path) == "role_not_started"


@pytest.mark.parametrize("line", [b"", b"no JSON", b"{}", json.dumps({"protocol": "other", "env": {}}).encode()])
def test_a_first_line_that_is_no_settings_is_settings_unreadable(monkeypatch, line):
    monkeypatch.setattr(child, "_keep_stdout_for_events", lambda: None)
    monkeypatch.setattr(child, "_parent", child._Parent())
    monkeypatch.setattr(child._parent, "read_line", lambda: line)
    assert code_of(child.read_settings, {"RULITH_LOCAL_EVENTS": "stdio"}) == "settings_unreadable"


def test_an_upload_that_the_gateway_refuses_is_upload_refused():
    upload = {"permission": "granted", "sourceRecordId": "s", "upload": False, "refusal": "too_large"}
    assert code_of(check_upload, "s", upload) == "upload_refused"


def test_a_worker_that_ends_before_it_serves_is_child_failed(home, monkeypatch):
    class Ends:
        def __init__(self, *given, **named):
            pass

        async def start(self):
            return self

        async def wait_for_event(self, type, seconds):
            raise Refused("role_ended", role="worker", status=1, words="no")

    class Gateway:
        url = "http://127.0.0.1:1"

        async def read(self, client, path):
            return {}

    monkeypatch.setattr(local_home, "KeptWorker", Ends)
    monkeypatch.setattr(local_home, "line_is_free", lambda state, connection_id: True)
    profile = create_profile(home, "night")
    secrets = worker_secrets(profile)
    secrets.save({**secrets.load(), "RULITH_CONNECTION": "conn_1"})
    run = local_home.LocalHome(home, None, log=lambda words: None)
    assert code_of(run_async, run._reach_worker, profile, Gateway(), None) == "child_failed"
