"""The store of materials: what it takes, whose it is, and what it refuses to read. Duty: the Worker hop, §15; the workbench surface, §14."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from rulith.base.errors import Refused
from rulith.base.limits import ATTACHMENTS_MAX, CHUNK_BYTES, KEPT_BYTES_MAX, MATERIAL_BYTES_MAX
from rulith.disk import materials
from rulith.disk.home import Home
from rulith.disk.materials import Belonging, Materials, area_of, belonging_of, check_disclosure, fingerprint, worker_materials
from rulith.disk.profiles import create_profile, write_role_env
from rulith.disk.submissions import submit

MINE = Belonging.of("/profile/local.json", "http://127.0.0.1:7781", "conn_1", "agent_1")
AT = "2026-12-01T00:00:00.000Z"
DATA = os.urandom(CHUNK_BYTES) + b"the rest"


@pytest.fixture
def store(tmp_path):
    return Materials.create(tmp_path / "materials", MINE, AT)


def add(store, name="report.pdf", media_type="application/pdf", data=DATA, **more):
    return store.add(name, media_type, data, "base64", **{"destination": "", "local_only": False, "at": AT, **more})


def code_of(run, *args, **more) -> str:
    with pytest.raises(Refused) as caught:
        run(*args, **more)
    return caught.value.code


def test_fingerprints_join_their_parts_by_nul():
    assert MINE.profile == fingerprint("rulith-material-profile", "/profile/local.json")
    assert MINE.owner == fingerprint("rulith-material-owner", "http://127.0.0.1:7781", "conn_1")
    assert fingerprint("a", "bc") != fingerprint("ab", "c") and len(MINE.agent) == 64


def test_an_object_is_chunks_with_a_digest_each_and_reads_back_whole(store):
    record = add(store)
    again = Materials.open(store.root, MINE).record(record.id)
    assert again == record and len(record.chunks) == 2 and record.total_bytes == len(DATA)
    assert b"".join(store.chunk(record, index) for index in range(2)) == DATA
    store.check(record)
    written = json.loads((store.objects / record.id / "record.json").read_text())
    assert set(written) == {"id", "selector", "uiHandle", "agent", "owner", "kind", "name", "mediaType", "encoding", "totalBytes", "digest", "chunkBytes", "chunks",
                            "disclosure", "addedAt"}
    assert set(written["disclosure"]) == {"modelDestination", "localOnly", "origin"} and written["chunkBytes"] == 65_536
    assert sorted(os.listdir(store.objects / record.id / "chunks")) == ["000000.bin", "000001.bin"] and os.listdir(store.root / "tmp") == []
    assert set(record.public()) == {"id", "name", "mediaType", "totalBytes", "digest"} and record.public()["id"].startswith("ui_")


@pytest.mark.parametrize("name, code", [
    ("", "material_name_invalid"), ("x" * 256, "material_name_invalid"), (7, "material_name_invalid"), (" a", "material_name_invalid"), ("a.", "material_name_invalid"),
    ("a/b", "material_name_path"), ("a\\b", "material_name_path"), ("C:x", "material_name_path"), ("a\nb", "material_name_control"), ("a\0", "material_name_control"),
    ("..", "material_name_traversal"), ("con", "material_name_reserved"), ("NUL.txt", "material_name_reserved"), ("lpt1.pdf", "material_name_reserved"),
])
def test_a_name_that_means_something_else_somewhere_is_refused(store, name, code):
    assert code_of(add, store, name=name) == code and os.listdir(store.objects) == []


@pytest.mark.parametrize("media_type", ["", "pdf", "a/b/c", "text/plain\r\nx: y", None])
def test_a_media_type_is_one(store, media_type):
    assert code_of(add, store, media_type=media_type) == "material_media_type_invalid"


def test_limits_are_exact(store):
    assert code_of(add, store, data=b"") == "material_empty"
    assert code_of(add, store, data=b"x" * (MATERIAL_BYTES_MAX + 1)) == "material_too_large"
    assert add(store, data=b"x" * MATERIAL_BYTES_MAX).total_bytes == MATERIAL_BYTES_MAX
    assert code_of(store.keep, "text/plain", bytes(KEPT_BYTES_MAX + 1), "utf8", AT) == "artifact_too_large"
    assert store.keep("text/plain", b"x", "utf8", AT).id.startswith("res_")


def test_a_full_store_takes_no_more(store, monkeypatch):
    monkeypatch.setattr(materials, "MATERIALS_MAX", 1)
    add(store)
    assert code_of(add, store) == "materials_store_full"


def test_a_full_disk_leaves_nothing_behind_that_counts(store, monkeypatch):
    def full(path, content, mode=0o600):
        raise Refused("disk_full", path=str(path))

    monkeypatch.setattr(materials, "write_whole", full)
    assert code_of(add, store) == "disk_full" and os.listdir(store.objects) == [] and os.listdir(store.root / "tmp") == []


@pytest.mark.parametrize("spoil, code", [
    (lambda root: shutil.rmtree(root), "materials_store_absent"),
    (lambda root: shutil.rmtree(root / "objects"), "materials_store_unreadable"),
    (lambda root: (root / "store.json").write_text("{"), "materials_store_unreadable"),
    (lambda root: (root / "store.json").write_text(json.dumps({"version": "rulith-materials/2"})), "materials_store_migration_required"),
    (lambda root: ((root / "objects").rename(root / "o"), (root / "objects").symlink_to(root / "o")), "materials_store_reparse"),
    (lambda root: (root.rename(root.parent / "m"), root.symlink_to(root.parent / "m")), "materials_store_reparse"),
])
def test_a_store_that_is_not_as_it_was_is_refused(store, spoil, code):
    spoil(store.root)
    assert code_of(Materials.open, store.root, MINE) == code


@pytest.mark.parametrize("part, code", [("profile", "materials_store_profile_mismatch"), ("owner", "materials_store_owner_mismatch"), ("agent", "materials_store_agent_mismatch")])
def test_a_store_of_another_is_refused(store, part, code):
    other = Belonging(**{**vars(MINE), part: "0" * 64})
    add(store)
    assert code_of(Materials.open, store.root, other) == code_of(Materials.create, store.root, other, AT) == code


def test_a_store_that_is_still_empty_becomes_whose_profile_it_is_now(store):
    other = Belonging(**{**vars(MINE), "owner": "0" * 64})
    assert code_of(Materials.open, store.root, other) == "materials_store_owner_mismatch"
    assert Materials.create(store.root, other, AT).belongs == other == Materials.open(store.root, other).belongs


def test_a_profile_that_is_linked_with_nobody_has_no_materials(tmp_path):
    profile = create_profile(Home(tmp_path / "home").prepare(), "Mine")
    assert code_of(belonging_of, profile) == "materials_owner_unidentified" and worker_materials(profile) == {}


def test_the_worker_of_a_profile_is_told_of_its_store_once_there_is_one(tmp_path):
    profile = create_profile(Home(tmp_path / "home").prepare(), "Mine", agent_id="agent_1", connection_id="conn_1")
    write_role_env(profile, "agent", {"RULITH_MODEL_URL": "http://127.0.0.1:8080/v1"})
    assert worker_materials(profile) == {}
    Materials.create(area_of(profile), belonging_of(profile), AT)
    told = worker_materials(profile)
    assert told["RULITH_MATERIALS_ROOT"] == str(area_of(profile)) and told["RULITH_MATERIALS_MODEL_DESTINATION"] == "http://127.0.0.1:8080/v1"
    assert (told["RULITH_MATERIALS_PROFILE"], told["RULITH_MATERIALS_OWNER"], told["RULITH_MATERIALS_AGENT_FINGERPRINT"]) == tuple(vars(belonging_of(profile)).values())


@pytest.mark.parametrize("spoil, code", [
    (lambda folder: (folder / "chunks" / "000001.bin").write_bytes(b"THE REST"), "material_chunk_corrupt"),
    (lambda folder: (folder / "chunks" / "000001.bin").unlink(), "material_bytes_unavailable"),
    (lambda folder: (folder / "chunks" / "000001.bin").unlink() or (folder / "chunks" / "000001.bin").symlink_to("/etc/hostname"), "material_bytes_unavailable"),
    (lambda folder: ((folder / "chunks").rename(folder / "c"), (folder / "chunks").symlink_to(folder / "c")), "materials_store_reparse"),
])
def test_damage_is_told_and_no_byte_of_it(store, spoil, code):
    record = add(store)
    spoil(store.objects / record.id)
    assert code_of(store.check, record) == code


@pytest.mark.parametrize("member, value", [("chunks", []), ("totalBytes", "9"), ("totalBytes", 1), ("digest", "x"), ("chunkBytes", 1), ("disclosure", {}), ("encoding", "x"), ("id", "mat_" + "0" * 32)])
def test_a_record_of_another_shape_is_not_read(store, member, value):
    record = add(store)
    path = store.objects / record.id / "record.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), member: value}))
    assert code_of(store.record, record.id) == "material_bytes_unavailable" and store.added() == []


def test_a_whole_that_is_not_its_chunks_is_told(store):
    record = add(store)
    path = store.objects / record.id / "record.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "digest": "sha256:" + "0" * 64}))
    assert code_of(store.check, store.record(record.id)) == "material_digest_mismatch"


@pytest.mark.parametrize("custody_id", ["../../etc", "mat_", "mat_" + "A" * 32, "", None, "mat_" + "0" * 32])
def test_what_is_no_id_of_an_object_is_not_found(store, custody_id):
    assert code_of(store.record, custody_id) == "material_not_found"


REMOTE, HERE = "https://api.example.com/v1", "http://127.0.0.1:8080/v1"


@pytest.mark.parametrize("record, destination, allowed, code", [
    ({}, HERE, False, None), ({"local_only": True}, "http://[::1]:1/", False, None), ({}, REMOTE, False, "material_local_only"),
    ({"local_only": True, "destination": HERE}, REMOTE, True, "material_local_only"), ({"destination": REMOTE}, REMOTE, True, None),
    ({"destination": "https://other.example"}, REMOTE, True, "material_disclosure_refused"), ({"destination": HERE}, "http://localhost.evil.example", True, "material_disclosure_refused"),
])
def test_who_may_read_it_is_settled_when_it_is_added(store, record, destination, allowed, code):
    """A model on this machine reads everything; another only what was added for it, and only with the owner's word."""
    found = add(store, **record)
    if code is None:
        check_disclosure(found, destination, allowed=allowed)
    else:
        assert code_of(check_disclosure, found, destination, allowed=allowed) == code


def sent(store, handles, request_id="request-000000001", session_key="chat", destination=""):
    return submit(store, "agent_1", request_id=request_id, session_key=session_key, handles=handles, destination=destination)


def test_attaching_is_durable_and_the_same_request_gives_the_same_receipt(store):
    record = add(store)
    assert not store.is_submitted(record)
    receipt = sent(store, [record.handle])
    assert set(receipt) == {"submissionId", "requestId", "sessionKey", "agent", "attachments"} and receipt["attachments"][0]["id"] == record.selector
    assert store.is_submitted(record) and sent(store, [record.handle]) == receipt
    assert code_of(sent, store, [record.handle], session_key="other") == code_of(sent, store, [add(store).handle]) == "material_submission_mismatch"
    (path,) = (store.root / "submissions").glob("*.json")
    assert {"proofSecret", "selectionSecret"} <= set(json.loads(path.read_text()))
    path.write_text("[]")
    assert code_of(sent, store, [record.handle]) == "materials_store_unreadable"


@pytest.mark.parametrize("member", ["submissionId", "proofSecret", "attachments"])
def test_a_receipt_that_lacks_something_is_no_receipt(store, member):
    given = {"request_id": "r" * 20, "session_key": "s", "handles": [add(store).handle], "destination": ""}
    submit(store, "agent_1", **given)
    (path,) = (store.root / "submissions").iterdir()
    path.write_text(json.dumps({name: value for name, value in json.loads(path.read_text()).items() if name != member}))
    assert code_of(submit, store, "agent_1", **given) == "materials_store_unreadable"


@pytest.mark.parametrize("handles, code", [
    ([], "attachments_invalid"), ("ui_x", "attachments_invalid"), (None, "attachments_invalid"), (["ui_" + "0" * 32] * (ATTACHMENTS_MAX + 1), "attachments_too_many"),
    (["mat_" + "0" * 32], "material_id_invalid"), ([7], "material_id_invalid"), (["ui_" + "0" * 32], "material_not_found"),
])
def test_attachments_are_the_ids_of_added_files(store, handles, code):
    assert code_of(sent, store, handles) == code


def test_a_file_is_attached_once_and_only_for_the_model_it_was_added_for(store):
    record, local = add(store, destination=REMOTE), add(store, destination=HERE, local_only=True)
    assert code_of(sent, store, [record.handle, record.handle]) == "attachments_repeated"
    assert code_of(sent, store, [record.handle], destination="https://other.example") == "material_disclosure_refused"
    assert code_of(sent, store, [local.handle], destination=REMOTE) == "material_local_only"
    assert code_of(sent, store, [record.handle], request_id="short") == code_of(sent, store, [record.handle], session_key="") == "material_submission_invalid"
    assert not store.is_submitted(record)


def test_a_submission_under_way_is_waited_for_and_then_named(store, monkeypatch):
    def held(path, purpose, wait_s):
        raise Refused("lock_held", path=str(path), pid=1, purpose=purpose)

    monkeypatch.setattr("rulith.disk.submissions.take_lock", held)
    assert code_of(sent, store, [add(store).handle]) == "material_submission_busy"
