"""A Terminal Receipt outside its gateway: verified, explained, and caught when altered.

Duty: design §5, "`rulith verify FILE [--key K]` checks it with no network and no ledger".
"""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path

import pytest

from rulith.commands import explain, verify
from rulith.gateway.signing import Signer
from rulith.wire.terminal_receipt import check_document

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def made():
    return {}


@pytest.fixture
def receipt(play, kit, made) -> dict:
    """A whole approved job's receipt: two reads, one decided write. Made once."""
    if "document" in made:
        return copy.deepcopy(made["document"])

    async def story(world):
        host, worker = world.host(), world.worker()
        await host.initialize()
        await worker.poll()
        case = await world.open_case(host, "approved_calculation")
        await world.act(host, worker, "read_input", case["root"])
        await host.call("ApplyAction", kit.action_call("write_approved_output", case["root"]))
        people = world.gateway.console._people
        world.gateway.authority.command_registry({"kind": "set_passphrase", "record": {"alg": "none"}, "authority": {"kind": "setup_code"}})
        decision = next(iter(world.gateway.authority.registry.decisions.values()))
        people.decide(decision["id"], "approve", decision["argumentDigest"], "", {"kind": "person", "by": "owner", "signInAgeS": 1})
        row = (await worker.rows_until())[0]
        await worker.claim(row)
        assert (await worker.report(row, ok=True, result="written", facts=kit.facts_for(row["tool"])))["accepted"]
        await host.call("QueryBoard")
        await world.act(host, worker, "verify_output", case["root"])
        assert (await host.call("CloseCase", {"root": case["root"]}))["result"]["certified"]
        made["document"] = (await world.local(f"receipt?case={case['caseId']}")).json()

    play(story, pollHoldMs=100)
    return copy.deepcopy(made["document"])


def saved(tmp_path: Path, document: object) -> str:
    path = tmp_path / "receipt.json"
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    return str(path)


def run(*words: str) -> tuple[int, dict]:
    done = subprocess.run([sys.executable, "-m", "rulith", "verify", *words, "--json"], cwd=ROOT, capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout) if done.stdout else {}


def test_a_receipt_of_a_whole_job_holds_together(receipt):
    verdict = check_document(receipt)
    assert verdict.problems == []
    assert verdict.counts == {"rows": verdict.counts["rows"], "rows by digest": verdict.counts["rows by digest"], "requests": 3, "decisions": 1,
                              "conclusions": verdict.counts["conclusions"], "premises": verdict.counts["premises"]}


def test_it_is_checked_where_there_is_no_board_no_rule_engine_and_no_gateway(receipt, tmp_path):
    """The checker must not lean on the program whose word it checks."""
    code = ("import sys; sys.argv = ['verify']; import rulith.commands.verify as v; status = v.main([sys.stdin.read().strip()]); "
            "bad = [m for m in sys.modules if m.startswith('rulith.') and m.split('.')[1] in "
            "('board', 'rules', 'gateway', 'store', 'net', 'runtime', 'work', 'workbench')]; assert not bad, bad; sys.exit(status)")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, input=saved(tmp_path, receipt), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "holds together" in done.stdout and "not pinned" in done.stdout and "derived again" in done.stdout


def test_the_signature_is_named_and_pinned_only_by_a_key_that_was_given(receipt, tmp_path):
    path, key = saved(tmp_path, receipt), receipt["signature"]["key"]
    status, told = run(path)
    assert status == 0 and told["sound"] and told["signature"] == {"key": key, "pinned": False}
    status, told = run(path, "--key", key.upper())
    assert status == 0 and told["signature"]["pinned"]
    status, told = run(path, f"--key={'ab' * 32}")
    assert status == 1 and not told["sound"] and told["problems"] == [
        {"place": "signature", "text": f"it is of the key {key}, not of the one that was given"}]


# what an editor with the file in hand might change -> the place that is named first
def _set(*path, to):
    def change(document):
        place = document
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = to(place[path[-1]]) if callable(to) else to
    return change


def _first(document, kind):
    return next(index for index, row in enumerate(document["rows"]) if row["body"]["command"]["kind"] == kind)


def _fact(document):
    row = document["rows"][_first(document, "record_receipt")]
    row["body"]["command"]["facts"][0]["args"]["quantity"] = 8


def _leaf(document):
    node = document["conclusions"][0]
    while node["premises"]:
        node = node["premises"][-1]
    node["args"]["quantity"] = 8


def _external(document):
    return next(index for index, operation in enumerate(document["operations"]) if "argsText" in operation)


ALTERED = {
    "a fact in a row": (_fact, "row "),
    "a row's time": (_set("rows", 1, "at", to="2026-01-01T00:00:00.000Z"), "row "),
    "a row dropped": (lambda document: document["rows"].pop(1), "row "),
    "a row by hash dropped": (lambda document: document["between"].pop(), "row "),
    "a row twice": (lambda document: document["rows"].append(document["rows"][0]), "row "),
    "a hash between": (lambda d: next(each for each in d["between"] if each["seq"] + 1 == d["rows"][1]["seq"]).update(hash="0" * 64), "row "),
    "another chain": (_set("agentId", to="agent_other"), "row "),
    "the closure": (_set("closure", to="0" * 64), "closure"),
    "a rule": (_set("release", "capability", "rules", 0, "label", to="other"), "release"),
    "the Release's name": (_set("release", "version", to="9.9.9"), "release"),
    "the job": (_set("case", "businessKey", "job_id", to="calc-002"), "case.businessKey"),
    "the disposition": (_set("case", "disposition", to="cancelled"), "case.disposition"),
    "when it closed": (_set("case", "closedAt", to="2026-01-01T00:00:00.000Z"), "case.closedAt"),
    "that it is certified": (_set("case", "certified", to=False), "case.certified"),
    "what was asked": (lambda d: d["operations"][_external(d)].update(argsText='{"job_id":"calc-002"}'), "operation "),
    "where it was asked": (lambda d: d["operations"][_external(d)].update(target="root_0"), "operation "),
    "a request digest": (lambda d: d["operations"][_external(d)].update(requestDigest="sha256:" + "0" * 64), "operation "),
    "which Worker ran it": (lambda d: d["operations"][_external(d)]["identity"].update(workerId="wkr_other"), "operation "),
    "what came of it": (lambda d: d["operations"][_external(d)].update(outcome="failed"), "operation "),
    "the grant": (lambda d: d["operations"][_external(d)]["dispatch"].update(generation=99), "operation "),
    "an operation dropped": (lambda d: d["operations"].pop(_external(d)), "operation "),
    "the decision dropped": (lambda document: document["decisions"].clear(), "decision "),
    "what was decided on": (_set("decisions", 0, "argsText", to="{}"), "decision "),
    "the verdict": (_set("decisions", 0, "state", to="rejected"), "decision "),
    "who approved": (_set("decisions", 0, "by", to=[]), "decision "),
    "a premise": (_leaf, "proof of "),
    "a tier": (_set("conclusions", 0, "tier", to="verified"), "proof of "),
    "a text of a proof": (_set("conclusions", 0, "text", to="all is well"), "proof of "),
    "who signed": (_set("signature", "key", to=lambda key: "00" + key[2:]), "signature"),
    "the signature": (_set("signature", "value", to=lambda value: value[:-2] + ("00" if value[-2:] != "00" else "01")), "signature"),
    "no signature": (lambda document: document.pop("signature"), "signature"),
    "the approval's time": (_set("decisions", 0, "by", 0, "at", to="2026-01-01T00:00:00.000Z"), "decisions"),
    "a stray member": (lambda document: document.update(note="hello"), "note"),
    "the format": (_set("format", to="rulith-terminal-receipt/2"), "the document"),
    "no rows": (lambda document: document.update(rows=[]), "row"),
    "rows of another shape": (lambda document: document.update(rows=[{"seq": "1"}]), "rows"),
    "conclusions of another shape": (lambda document: document.update(conclusions=[None]), "conclusions"),
}


@pytest.mark.parametrize("what", ALTERED)
def test_the_first_altered_thing_is_named(receipt, what):
    change, place = ALTERED[what]
    change(receipt)
    problems = check_document(receipt).problems
    assert problems and problems[0].place.startswith(place), problems


def _leaves(value, path=()):
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _leaves(each, (*path, name))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _leaves(each, (*path, index))
    else:
        yield path


def test_no_single_value_can_be_changed_unseen(receipt):
    """Every leaf of the document, one at a time; the signature alone would catch it, so it is signed again by another key."""
    stranger = Signer("11" * 32)
    seen_by_content = 0
    paths = [path for path in _leaves(receipt) if path[0] != "signature"]
    for path in paths[:: max(1, len(paths) // 250)]:
        changed = copy.deepcopy(receipt)
        place = changed
        for step in path[:-1]:
            place = place[step]
        old = place[path[-1]]
        place[path[-1]] = old + "x" if isinstance(old, str) else (not old) if isinstance(old, bool) else 7 if old is None else old + 1
        assert check_document(changed).problems, path
        unsigned = {name: value for name, value in changed.items() if name != "signature"}
        seen_by_content += bool(check_document(stranger.sign_document(unsigned)).problems)
    assert seen_by_content > 100


def test_a_forger_who_signs_anew_shows_another_key(receipt, tmp_path):
    original = receipt["signature"]["key"]
    unsigned = {name: value for name, value in receipt.items() if name != "signature"}
    path = saved(tmp_path, Signer("22" * 32).sign_document(unsigned))
    status, told = run(path)
    assert status == 0 and told["signature"]["key"] != original and not told["signature"]["pinned"]
    assert run(path, "--key", original)[0] == 1


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": 1}', '{"a":1,"a":2}', "\x00", '{"format":"rulith-terminal-receipt/1"}', "[" * 4000])
def test_what_is_no_receipt_is_refused_without_a_traceback(tmp_path, capsys, content):
    path = tmp_path / "x.json"
    path.write_text(content, encoding="utf-8")
    assert verify.main([str(path)]) == 1
    assert explain.main([str(path)]) == 1
    assert verify.main([str(tmp_path / "absent.json")]) == 1
    assert verify.main([str(tmp_path)]) == 1
    assert verify.main([str(path), "--json"]) == 1
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["sound"] is False


@pytest.mark.parametrize("words", [[], ["a", "b"], ["--yaml", "a"], ["a", "--key"], ["a", "--key", "zz"], ["a", "--key", "ab"]])
def test_wrong_words_end_2_before_any_file_is_read(words, capsys):
    assert verify.main(words) == 2
    assert "--help" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["a", "b"], ["--yaml", "a"]])
def test_wrong_words_of_explain_end_2(words, capsys):
    assert explain.main(words) == 2
    assert "--help" in capsys.readouterr().err


def test_the_proof_is_printed_with_its_arithmetic_and_its_sources(receipt, tmp_path, capsys):
    path = saved(tmp_path, receipt)
    assert explain.main([path]) == 0
    told = capsys.readouterr().out
    assert "1299 × 7 = 9093, exactly" in told and "from the Source verified-calculation-local" in told
    assert "closed as completed, certified" in told and "job_id calc-001" in told
    assert explain.main([path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["case"]["certified"] is True


def test_no_text_of_a_receipt_moves_the_terminal(receipt, tmp_path, capsys):
    receipt["conclusions"][0]["text"] = "all is well\x1b[2K\x1b[1A\nSignature  pinned"
    receipt["case"]["reason"] = "x\x1b[31m\u202e"
    path = saved(tmp_path, receipt)
    assert explain.main([path]) == 0 and verify.main([path]) == 1
    told = capsys.readouterr().out
    assert "\x1b" not in told and "\u202e" not in told and "\nSignature  pinned" not in told
