"""The store of materials: files a person added and results that are told by reference, kept on this machine.

Objects are built in `tmp`, flushed, and take their place by one rename; after that nothing
changes them. Each is chunks of 64 KiB with a digest each, so that any window can be checked
by itself. A store belongs to one profile, one gateway and Connection, and one Agent; of
another, or behind a link, it is refused and never repaired. Deletes nothing that it keeps.

    <root>/store.json
    <root>/objects/<custody id>/record.json, chunks/000000.bin …, submission.json
    <root>/submissions/<hex>.json        <root>/tmp/

Units   sizes in bytes, moments as RFC 3339 stamps
Source  the Worker hop, §15; the workbench surface, §14
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from rulith.base.canonical import sha256_hex
from rulith.base.errors import Refused
from rulith.base.ids import mint
from rulith.base.limits import CHUNK_BYTES, KEPT_BYTES_MAX, MATERIAL_BYTES_MAX, MATERIAL_NAME_CHARS_MAX, MATERIALS_MAX
from rulith.base.paths import problem_of_name
from rulith.disk.atomic import make_folder, read_bounded, sync_folder, write_json, write_refusal, write_whole
from rulith.disk.model_settings import model_of
from rulith.disk.profiles import Profile

VERSION = "rulith-materials/3"
CUSTODY_ID = re.compile(r"(?:mat|res)_[a-f0-9]{32}", re.ASCII)
SELECTOR = re.compile(r"mat_[a-f0-9]{32}", re.ASCII)
HANDLE = re.compile(r"ui_[a-f0-9]{32}", re.ASCII)
OPERATOR, EXECUTION = "operator", "execution"
MATERIAL, RESULT = "material", "result"
RECORD_BYTES_MAX = 262_144       # 512 chunk digests and a name
_MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#&^_.+-]{1,127}/[A-Za-z0-9!#&^_.+-]{1,127}(?:; ?[A-Za-z0-9=._ -]{1,80})?", re.ASCII)
_DIGEST = re.compile(r"sha256:[a-f0-9]{64}", re.ASCII)


def fingerprint(*parts: str) -> str:
    """Hex SHA-256 of the parts joined by NUL."""
    return sha256_hex("\0".join(parts).encode("utf-8", "surrogatepass"))


@dataclass(frozen=True)
class Belonging:
    """Whose store it is: three fingerprints, none of which tells what it was made of."""

    profile: str
    owner: str
    agent: str

    @classmethod
    def of(cls, settings_path: str, gateway: str, connection_id: str, agent_id: str) -> Belonging:
        return cls(fingerprint("rulith-material-profile", settings_path), fingerprint("rulith-material-owner", gateway, connection_id),
                   fingerprint("rulith-material-agent", agent_id))


@dataclass(frozen=True)
class Record:
    """One kept object, its bytes aside."""

    id: str
    selector: str
    handle: str
    kind: str
    name: str
    media_type: str
    encoding: str
    total_bytes: int
    digest: str
    chunks: tuple[str, ...]
    destination: str             # where the model is that an added file was meant for
    local_only: bool
    origin: str                  # operator or execution
    added_at: str

    def public(self) -> dict[str, object]:
        """What the page is told of an added file."""
        return {"id": self.handle, "name": self.name, "mediaType": self.media_type, "totalBytes": self.total_bytes, "digest": self.digest}


def check_name(name: object) -> str:
    """A file's name that means the same everywhere. Raises Refused material_name_…"""
    if not isinstance(name, str) or not 1 <= len(name) <= MATERIAL_NAME_CHARS_MAX:
        raise Refused("material_name_invalid", name=str(name)[:80], problem=f"it has 1 to {MATERIAL_NAME_CHARS_MAX} characters")
    if not name.isprintable():
        raise Refused("material_name_control", name=name[:80].encode("ascii", "backslashreplace").decode())
    if name in (".", ".."):
        raise Refused("material_name_traversal", name=name)
    if "/" in name or "\\" in name or re.match(r"[A-Za-z]:", name):
        raise Refused("material_name_path", name=name[:80])
    if name != name.strip():
        raise Refused("material_name_invalid", name=name[:80], problem="it begins or ends with a blank")
    problem = problem_of_name(name)
    if problem is not None and "device name" in problem:
        raise Refused("material_name_reserved", name=name[:80])
    if problem is not None:
        raise Refused("material_name_invalid", name=name[:80], problem=problem)
    return name


def check_media_type(value: object) -> str:
    if not isinstance(value, str) or not _MEDIA_TYPE.fullmatch(value):
        raise Refused("material_media_type_invalid", mediaType=str(value)[:80])
    return value


class Materials:
    """One store that was found to be ours."""

    def __init__(self, root: Path, belongs: Belonging) -> None:
        self.root, self.belongs = root, belongs
        self.objects = root / "objects"

    # --- opening -----------------------------------------------------------------------

    @classmethod
    def open(cls, root: Path | str, belongs: Belonging) -> Materials:
        """The store at `root`. Raises Refused materials_store_…"""
        root = Path(root)
        _check_folder(root, absent=True)
        for name in ("objects", "tmp"):
            _check_folder(root / name)
        try:
            head = json.loads(read_bounded(root / "store.json", 65_536))
        except (Refused, ValueError, RecursionError):
            head = None
        if not isinstance(head, dict):
            raise Refused("materials_store_unreadable", path=str(root), problem="store.json is missing or no JSON object")
        if head.get("version") != VERSION:
            raise Refused("materials_store_migration_required", path=str(root), version=str(head.get("version"))[:40])
        for name in ("profile", "owner", "agent"):
            if head.get(name) != getattr(belongs, name):
                raise Refused(f"materials_store_{name}_mismatch", path=str(root))
        return cls(root, belongs)

    @classmethod
    def create(cls, root: Path | str, belongs: Belonging, at: str) -> Materials:
        """The store at `root`, made when there is none; one that is still empty becomes ours. Raises as `open`, and Refused disk_full, write_failed."""
        root = Path(root)
        if os.path.lexists(root / "store.json"):
            try:
                return cls.open(root, belongs)
            except Refused as refused:
                if not refused.code.endswith("_mismatch") or os.listdir(root / "objects"):
                    raise
        for folder in (root, root / "objects", root / "tmp", root / "submissions"):
            if not folder.is_symlink():
                make_folder(folder)
        _check_folder(root)
        write_json(root / "store.json", {"version": VERSION, "profile": belongs.profile, "owner": belongs.owner, "agent": belongs.agent, "createdAt": at})
        return cls.open(root, belongs)

    # --- adding ------------------------------------------------------------------------

    def add(self, name: object, media_type: object, data: bytes, encoding: str, *, destination: str, local_only: bool, at: str) -> Record:
        """Keep a file that a person adds. Raises Refused material_…, materials_store_full, disk_full, write_failed."""
        check_name(name)
        assert isinstance(name, str)
        if not data:
            raise Refused("material_empty", name=name)
        if len(data) > MATERIAL_BYTES_MAX:
            raise Refused("material_too_large", name=name[:80], size=len(data), limit=MATERIAL_BYTES_MAX)
        selector = mint("mat_")
        return self._put(Record(selector, selector, mint("ui_"), MATERIAL, name, check_media_type(media_type), encoding, len(data), "", (),
                                destination, local_only, OPERATOR, at), data)

    def keep(self, media_type: str, data: bytes, encoding: str, at: str) -> Record:
        """Keep a result that is told by reference. Raises Refused artifact_too_large, materials_store_full, disk_full, write_failed."""
        if len(data) > KEPT_BYTES_MAX:
            raise Refused("artifact_too_large", size=len(data), limit=KEPT_BYTES_MAX)
        return self._put(Record(mint("res_"), mint("mat_"), mint("ui_"), RESULT, "result", media_type, encoding, len(data), "", (), "", False, EXECUTION, at), data)

    def _put(self, record: Record, data: bytes) -> Record:
        pieces = [data[at:at + CHUNK_BYTES] for at in range(0, len(data), CHUNK_BYTES)]
        record = Record(**{**vars(record), "digest": "sha256:" + sha256_hex(data), "chunks": tuple("sha256:" + sha256_hex(each) for each in pieces)})
        fresh = self.root / "tmp" / f"{record.id}.{mint('', 8)}"
        try:
            if len(os.listdir(self.objects)) >= MATERIALS_MAX:
                raise Refused("materials_store_full", limit=MATERIALS_MAX)
            (fresh / "chunks").mkdir(parents=True, mode=0o700)
            for place, piece in enumerate(pieces):
                write_whole(fresh / "chunks" / f"{place:06d}.bin", piece)
            write_json(fresh / "record.json", _written(record, self.belongs))
            sync_folder(fresh)
            os.rename(fresh, self.objects / record.id)
            sync_folder(self.objects)
        except OSError as problem:
            raise write_refusal(self.objects, problem) from None
        finally:
            shutil.rmtree(fresh, ignore_errors=True)         # what a full disk cut short; one that took its place is not here
        return record

    # --- reading -----------------------------------------------------------------------

    def record(self, custody_id: str) -> Record:
        """What is known of one object. Raises Refused material_not_found, material_bytes_unavailable."""
        if not isinstance(custody_id, str) or not CUSTODY_ID.fullmatch(custody_id):
            raise Refused("material_not_found", id=str(custody_id)[:80])
        folder = self.objects / custody_id
        if not os.path.lexists(folder):
            raise Refused("material_not_found", id=custody_id)
        _check_folder(folder)
        try:
            found = _read(json.loads(_plain(folder / "record.json", RECORD_BYTES_MAX)))
        except (Refused, ValueError, KeyError, TypeError, RecursionError):
            raise Refused("material_bytes_unavailable", id=custody_id, problem="its record cannot be read") from None
        if found.id != custody_id:
            raise Refused("material_bytes_unavailable", id=custody_id, problem="its record is of another object")
        return found

    def by_handle(self, handle: object) -> Record:
        """The added file that the page knows by this handle. Raises Refused material_id_invalid, material_not_found."""
        if not isinstance(handle, str) or not HANDLE.fullmatch(handle):
            raise Refused("material_id_invalid", id=str(handle)[:80])
        found = next((each for each in self.added() if each.handle == handle), None)
        if found is None:
            raise Refused("material_not_found", id=handle)
        return found

    def added(self) -> list[Record]:
        """The files that a person added, the latest first; one whose record cannot be read is passed over."""
        found = []
        for name in os.listdir(self.objects):
            if SELECTOR.fullmatch(name):
                try:
                    found.append(self.record(name))
                except Refused:
                    continue
        return sorted(found, key=lambda each: (each.added_at, each.id), reverse=True)

    def chunk(self, record: Record, index: int) -> bytes:
        """One checked piece. Raises Refused material_bytes_unavailable, material_chunk_corrupt."""
        folder = self.objects / record.id / "chunks"
        _check_folder(folder)
        try:
            data = _plain(folder / f"{index:06d}.bin", CHUNK_BYTES)
        except Refused as refused:
            raise Refused("material_bytes_unavailable", id=record.id, problem=refused.facts.get("problem", "a piece is missing")) from None
        if "sha256:" + sha256_hex(data) != record.chunks[index]:
            raise Refused("material_chunk_corrupt", id=record.id, index=index)
        return data

    def check(self, record: Record) -> None:
        """Read the whole object once. Raises as `chunk`, and Refused material_digest_mismatch."""
        whole = b"".join(self.chunk(record, index) for index in range(len(record.chunks)))
        if len(whole) != record.total_bytes or "sha256:" + sha256_hex(whole) != record.digest:
            raise Refused("material_digest_mismatch", id=record.id)

    def mark_submitted(self, record: Record, submission: Mapping[str, object]) -> None:
        """A person attached this file to a message; kept from the first time on."""
        path = self.objects / record.id / "submission.json"
        if not os.path.lexists(path):
            write_json(path, dict(submission))

    def is_submitted(self, record: Record) -> bool:
        return (self.objects / record.id / "submission.json").is_file()


def check_disclosure(record: Record, destination: str, *, allowed: bool) -> None:
    """Whether this content may go to the model at `destination`; one on this machine may read everything.

    allowed  an owner lets content of the Source leave this machine
    Raises Refused material_local_only, material_disclosure_refused.
    """
    if is_on_this_machine(destination):
        return
    if record.local_only or not allowed:
        raise Refused("material_local_only", id=record.id)
    if record.origin == OPERATOR and record.destination != destination:
        raise Refused("material_disclosure_refused", id=record.id, recorded=record.destination or "none", destination=destination[:200])


def is_on_this_machine(destination: str) -> bool:
    try:
        return urlsplit(destination).hostname in ("127.0.0.1", "::1", "localhost")
    except ValueError:
        return False


def _check_folder(path: Path, *, absent: bool = False) -> None:
    """A plain folder, behind no link. Raises Refused materials_store_absent, materials_store_reparse, materials_store_unreadable."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        if absent:
            raise Refused("materials_store_absent", path=str(path)) from None
        raise Refused("materials_store_unreadable", path=str(path), problem="the folder is missing") from None
    except OSError as problem:
        raise Refused("materials_store_unreadable", path=str(path), problem=problem.strerror or problem) from None
    redirected = getattr(found, "st_file_attributes", 0) & getattr(stat, "FILE_ATTRIBUTE_REPARSE_POINT", 0)
    if not stat.S_ISDIR(found.st_mode) or redirected:
        raise Refused("materials_store_reparse", path=str(path))


def _plain(path: Path, bytes_max: int) -> bytes:
    """A file's bytes, itself no link. Raises Refused file_unusable, file_too_large."""
    if path.is_symlink():
        raise Refused("file_unusable", path=str(path), problem="it is a link")
    return read_bounded(path, bytes_max)


def _written(record: Record, belongs: Belonging) -> dict[str, object]:
    return {"id": record.id, "selector": record.selector, "uiHandle": record.handle, "agent": belongs.agent, "owner": belongs.owner, "kind": record.kind, "name": record.name, "mediaType": record.media_type,
            "encoding": record.encoding, "totalBytes": record.total_bytes, "digest": record.digest, "chunkBytes": CHUNK_BYTES, "chunks": list(record.chunks),
            "disclosure": {"modelDestination": record.destination, "localOnly": record.local_only, "origin": record.origin}, "addedAt": record.added_at}


def _read(row: dict) -> Record:
    disclosure, chunks = row["disclosure"], row["chunks"]
    record = Record(row["id"], row["selector"], row["uiHandle"], row["kind"], row["name"], row["mediaType"], row["encoding"], row["totalBytes"], row["digest"],
                    tuple(chunks), disclosure["modelDestination"], disclosure["localOnly"], disclosure["origin"], row["addedAt"])
    texts = (record.id, record.selector, record.handle, record.name, record.media_type, record.digest, record.destination, record.added_at)
    good = (all(isinstance(each, str) for each in (*texts, *chunks)) and type(record.total_bytes) is int and 0 < record.total_bytes <= KEPT_BYTES_MAX
            and isinstance(record.local_only, bool) and record.encoding in ("utf8", "base64") and record.origin in (OPERATOR, EXECUTION)
            and row["chunkBytes"] == CHUNK_BYTES and len(chunks) == -(-record.total_bytes // CHUNK_BYTES)
            and all(_DIGEST.fullmatch(each) for each in (record.digest, *chunks)))
    if not good:
        raise ValueError("not a record")
    return record


def area_of(profile: Profile) -> Path:
    """Where a profile's materials lie."""
    return profile.directory / "materials"


def belonging_of(profile: Profile) -> Belonging:
    """Whose a profile's materials are. Raises Refused materials_owner_unidentified."""
    if not profile.agent_id or not profile.connection_id:
        raise Refused("materials_owner_unidentified")
    return Belonging.of(str(profile.settings_path), profile.origin or "embedded", profile.connection_id, profile.agent_id)


def prepare_store(profile: Profile, at: str) -> None:
    """Have a store ready before the first file comes, so that nothing starts anew for it. One that cannot be is told of when a file is added."""
    if profile.mode == "local_agent":
        try:
            Materials.create(area_of(profile), belonging_of(profile), at)
        except Refused:
            pass


def worker_materials(profile: Profile) -> dict[str, str]:
    """What the profile's Worker is told of its store, once there is one."""
    if not profile.is_attached or not (area_of(profile) / "store.json").exists():
        return {}
    belongs = belonging_of(profile)
    return {"RULITH_MATERIALS_ROOT": str(area_of(profile)), "RULITH_MATERIALS_PROFILE": belongs.profile, "RULITH_MATERIALS_OWNER": belongs.owner,
            "RULITH_MATERIALS_AGENT_FINGERPRINT": belongs.agent, "RULITH_MATERIALS_MODEL_DESTINATION": model_destination(profile)}


def model_destination(profile: Profile) -> str:
    """Where the profile's model is, or "" where it has none."""
    return model_of(profile).get("url", "")
