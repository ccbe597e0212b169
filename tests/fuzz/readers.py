"""Families whose inputs go to a reader alone: SSE, JSON-RPC, Manifests, Capabilities, Constitutions, grants, receipts.

What a reader takes it must take again, the same, from the canonical print of what it read.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import random
from pathlib import Path
from zlib import crc32

from rulith.base.canonical import canonical_bytes, canonical_text, digest
from rulith.base.errors import Refused
from rulith.base.json_places import Places
from rulith.base.limits import RECEIPT_DEPTH_MAX
from rulith.base.json_text import check_numbers, compact_json, read_json
from rulith.board.board import Board
from rulith.board.capability_check import check_capability
from rulith.board.constitution import Proposal, Rest, check_constitution, judge
from rulith.commands import explain, verify
from rulith.wire import jsonrpc, terminal_receipt
from rulith.wire.contract import validate
from rulith.wire.dropbox import ReceiptsFile, WorkFile, read_receipts, read_work, receipts_name, seal, work_name
from rulith.wire.files import validate_file
from rulith.wire.grant import Grant, read_claims, read_grant, sign_grant, verify_grant
from rulith.wire.lease import judge_renewal, read_lease
from rulith.wire.manifest import read_descriptors, read_manifest
from rulith.wire.mcp_client import Answer, Progress, ReplyReader
from rulith.wire.sse import EventStream, encode_event
from rulith.wire.terminal_receipt import check_document
from rulith.wire.worker_hop import ROWS, check_identity, check_upload, read_args, read_identity, read_operation, read_tool_spec
from rulith.work.replies import Accepted, judge_reply
from tests.fuzz.mutations import TEXTS, bent, cuts, mutated, pick, spelt, thrown
from tests.fuzz.running import Family, source
from tests.receipts.office import Office, example_capability, paid_order

ROOT = Path(__file__).resolve().parents[2]
NO_EXAMPLES = 0.9            # examples of files cost most of their check, so few inputs run them


def refused(do, *given) -> tuple[object, bool]:
    """(what `do` answers, whether it refused)."""
    try:
        return do(*given), False
    except Refused as refusal:
        assert refusal.teaching and "Traceback" not in refusal.teaching
        return None, True


class JsonRpc(Family):
    name = "jsonrpc"
    MESSAGES = [
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "QueryBoard", "arguments": {"limit": 3}, "_meta": {"progressToken": "p"}}},
        {"jsonrpc": "2.0", "id": "abc", "method": "ping"}, {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}},
        {"jsonrpc": "2.0", "id": 2, "result": {"content": [{"type": "text", "text": "{\"a\":1.50}"}], "_meta": {}}},
        {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "no", "data": {"reason": "x"}}},
        [{"jsonrpc": "2.0", "method": "a"}, {"jsonrpc": "2.0", "id": 1, "result": {}}],
    ]

    def make(self, rng: random.Random) -> bytes:
        message = mutated(rng, pick(rng, self.MESSAGES))
        if rng.random() < 0.3:
            message = mutated(rng, {"numbers": [rng.uniform(-1, 1) * 10 ** rng.randint(-330, 300), rng.randint(-2**60, 2**60), 1.0], "keys": {pick(rng, TEXTS): 1, "\ue000": 2, "\U00010000": 3}})
        return spelt(rng, message)

    def play(self, data: bytes) -> bool:
        value, no_json = refused(read_json, data, "the fuzz")
        refused(check_numbers, data.decode("utf-8", "replace"), "the fuzz")
        if no_json:
            assert refused(jsonrpc.read_messages, data)[1]
            return False
        text = canonical_text(value)
        again = read_json(text, "the canonical text")
        assert again == value and canonical_text(again) == text
        assert read_json(compact_json(value), "the compact text") == value
        found, wrong = refused(jsonrpc.read_messages, data)
        if wrong:
            return False
        assert refused(jsonrpc.read_messages, jsonrpc.encode(value))[0] == found
        for message in found[0]:
            if isinstance(message, jsonrpc.Request):
                assert jsonrpc.read_message(json.loads(jsonrpc.encode(jsonrpc.request(message.id, message.method, message.params)))) == message
        return True


class Sse(Family):
    """A head line, then the bytes of a stream; read whole and in pieces, by the parser and by the client."""

    name = "sse"
    PIECES = [b": keep\n\n", b"retry: 250\n\n", b"id: 1.4\ndata:\n\n", b"event: message\n", b"\xef\xbb\xbf", b"\r\n\r\n", b"data\n\n", b"id\n", b"retry: 99999999999\n", b"data: [\n", b"id: \x00\ndata: x\n\n"]
    HEADS = [{"content-type": "text/event-stream"}, {"content-type": "text/event-stream", "mcp-session-id": "s"}, {"content-type": "application/json", "content-length": "10"}, {"content-length": "9" * 5_000}, {},
             {"content-type": "text/event-stream; charset=utf-8", "mcp-session-id": "other"}]

    def make(self, rng: random.Random) -> bytes:
        body = b""
        for _ in range(pick(rng, (1, 2, 3, 5))):
            if rng.random() < 0.3:
                body += b'id: 1.9\ndata: {"jsonrpc":"2.0","id":"r","result":{"content":[]}}\n\n'
                continue
            if rng.random() < 0.4:
                body += pick(rng, self.PIECES)
                continue
            message = mutated(rng, pick(rng, [*JsonRpc.MESSAGES, {"jsonrpc": "2.0", "id": "r", "result": {"content": []}}, {
                "jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "p", "progress": 1, "_meta": {"rulith/v3": {"ordinal": 1}}}},
                {"jsonrpc": "2.0", "id": "r", "error": {"code": -32000, "message": "x", "data": {"reason": "connection_replaced", "ordinal": 3}}}]))
            line = spelt(rng, message)
            body += line if rng.random() < 0.2 else b"id: %d.%d\ndata: " % (rng.randint(0, 9), rng.randint(0, 99)) + line + pick(rng, (b"\n\n", b"\r\r", b"\r\n\r\n", b"\n", b""))
        head = {"status": pick(rng, (200, 200, 200, 200, 202, 204, 302, 400, 401, 404, 409, 500, 503)), "headers": mutated(rng, pick(rng, self.HEADS)),
                "resumes": rng.random() < 0.2, "initialize": rng.random() < 0.2}
        if rng.random() < 0.5:
            head = {**head, "status": 200, "headers": self.HEADS[0]}
        headers = {str(name): str(value) for name, value in head["headers"].items()} if isinstance(head["headers"], dict) else {}
        return json.dumps({**head, "headers": headers}).encode() + b"\n" + (thrown(rng, body) if rng.random() < 0.3 else body)

    def play(self, data: bytes) -> bool:
        line, _, body = data.partition(b"\n")
        head, rng = json.loads(line), source("cuts", data)
        pieces = cuts(rng, body)
        whole, parts = EventStream(), EventStream()
        events = whole.receive(body) + whole.finish()
        assert [event for piece in pieces for event in parts.receive(piece)] + parts.finish() == events
        assert whole.cursor == parts.cursor
        for event in events:
            name = event.event if event.event != "message" else None
            assert EventStream().receive(encode_event(event.data, event=name, id=event.id, retry_ms=event.retry_ms)) == [event]
        answers = [self._read(head, each) for each in ([body], pieces)]
        assert answers[0] == answers[1]
        return isinstance(answers[0][-1], Answer)

    @staticmethod
    def _read(head: dict, pieces: list[bytes]) -> list:
        reader = ReplyReader("r", None if head["initialize"] else "s", progress_token="p", is_initialize=head["initialize"], resumes=head["resumes"], cursor="1.1" if head["resumes"] else None)
        found = list(reader.start(head["status"], head["headers"]))
        for piece in pieces:
            found += reader.receive(piece)
        found += reader.finish()
        assert found and not isinstance(found[-1], Progress) and all(isinstance(event, Progress) for event in found[:-1])
        return found


class Manifest(Family):
    name = "manifest"

    def open(self) -> None:
        shipped = json.loads((ROOT / "examples" / "verified-calculation" / "worker-tools.json").read_text("utf-8"))
        more = {"format": "rulith-worker-tools/1", "tools": {
            "a.b@1": {"adapter": "run", "sourceTypes": ["file", "database"], "entry": "x.py", "kind": "write", "completion": {"kind": "exit", "timeoutMs": 5}, "params": {"p": "string"}},
            "a.sql@2": {"adapter": "sql", "sourceTypes": ["database"], "entry": "SELECT :x", "params": {"x": "number"}, "fence": {"readOnly": True}}}}
        returns = [{"predicate": "a.row", "args": {"id": "$id"}}]
        done = {"stage": "terminal", "statuses": [200, 201], "json": {"field": "state", "equals": "stored"}}
        far = {"format": "rulith-worker-tools/1", "tools": {
            "a.read@1": {"adapter": "http", "sourceTypes": ["http"], "kind": "read", "entry": "x/{id}?all=yes", "params": {"id": "string", "n": "number?"}, "returns": returns},
            "a.write@1": {"adapter": "http", "sourceTypes": ["http"], "entry": "/x", "params": {"id": "json"}, "fence": {"method": "POST", "timeoutMs": 500, "completion": done}},
            "a.note@1": {"adapter": "http", "sourceTypes": ["http"], "entry": "n/{id}", "params": {"id": "string", "body": "string"}, "fence": {"textWrite": {"target": "id", "text": "body"}}},
            "a.rows@1": {"adapter": "db-query", "sourceTypes": ["db"], "entry": "/* a */ SELECT id, '{b}' FROM t WHERE id = {id} AND n > {n}; -- end", "params": {"id": "string", "n": "number"}},
            "a.put@1": {"adapter": "db-exec-fenced", "sourceTypes": ["db"], "entry": "INSERT INTO t VALUES ({id}) RETURNING id", "params": {"id": "string"}, "returns": returns},
            "a.far@1": {"adapter": "mcp", "sourceTypes": ["mcp"], "entry": "act", "params": {"id": "json?"}, "fence": {"maxResponseBytes": 9}, "handles": {"evidence": ["x"]}}}}
        assert len(read_manifest(json.dumps(far))) == 6
        self._documents = [shipped, more, far]
        self._rows = [tool.descriptor() for file in (shipped, far) for tool in read_manifest(json.dumps(file)).values()]

    def make(self, rng: random.Random) -> bytes:
        return spelt(rng, mutated(rng, self._rows if rng.random() < 0.3 else pick(rng, self._documents)))

    def play(self, data: bytes) -> bool:
        value, no_json = refused(read_json, data, "the fuzz")
        if isinstance(value, list):
            rows, wrong = refused(read_descriptors, value)
            if not wrong:
                assert read_descriptors(read_json(canonical_text(rows), "rows")) == rows
            return not wrong
        tools, wrong = refused(read_manifest, data)
        if wrong:
            return False
        assert not no_json
        assert read_manifest(canonical_bytes(value)) == tools
        rows = [tool.descriptor() for tool in tools.values()]
        found, too_many = refused(read_descriptors, rows)
        if not too_many:
            assert found == rows or canonical_text(found) == canonical_text(rows)
        return True


class _File(Family):
    """A file of law: the schema and the reader agree, every problem has a line, and the print of what was taken is taken."""

    kind, shipped = "", ()

    def open(self) -> None:
        self._documents = [json.loads(path.read_text("utf-8")) for path in self.shipped]
        for document in list(self._documents):
            if document.get("examples"):
                self._documents.append({name: value for name, value in document.items() if name != "examples"})
        if self.kind == "capability":
            self._documents += [SMALL] * (2 * len(self._documents))        # most inputs: it has one of everything

    def make(self, rng: random.Random) -> bytes:
        document = pick(rng, self._documents)
        if rng.random() < NO_EXAMPLES:
            document = {name: value for name, value in document.items() if name != "examples"}
        return spelt(rng, mutated(rng, document))

    def check(self, document: object) -> tuple[object, list]:
        raise AssertionError("each kind has its check")

    def install(self, document: dict) -> None:
        """Where it would go."""

    def play(self, data: bytes) -> bool:
        document, no_json = refused(read_json, data, "the file")
        if no_json:
            return False
        found, problems = self.check(document)
        assert (found is None) == bool(problems)
        if refused(validate_file, self.kind, document)[1]:
            assert problems, "the schema rejects it, the reader takes it"
        if problems:
            text = json.dumps(document, indent=1) if crc32(data) % 4 == 0 else ""      # the costly part, of every fourth
            lines = Places(text) if text else None
            for each in problems[:10]:
                assert each.place and each.problem and (lines is None or 1 <= lines.line_of(each.place) <= text.count("\n") + 1)
            return False
        again = read_json(canonical_text(document), "the canonical file")
        assert again == document and digest(again) == digest(document)
        if crc32(data) % 4 == 0:
            once_more, still = self.check(again)
            assert once_more is not None and not still
            self.install(document)
        return True


SMALL = {
    "format": "rulith-capability/1", "id": "acme.small", "version": "1.0.0", "title": "Small",
    "vocabulary": {"defines": [{"id": "acme.small.line", "as": "line", "args": {"batch": "string", "cents": "integer"}, "sources": ["file"]},
                               {"id": "acme.small.total", "as": "total", "args": {"batch": "string", "cents": "number"}}, {"id": "acme.small.fine", "as": "fine", "args": {"batch": "string"}}],
                   "imports": [{"id": "case_key", "as": "case_key"}]},
    "rules": [{"id": "fine", "when": [{"predicate": "total", "args": {"batch": "?b", "cents": "?c"}}, {"predicate": "gte", "args": {"left": "?c", "right": 1}}], "then": [{"predicate": "fine", "args": {"batch": "?b"}}]}],
    "aggregates": [{"kind": "sum", "source": {"predicate": "line", "valueArg": "cents"}, "into": {"predicate": "total", "valueArg": "cents"}, "group_by": "batch"}],
    "acceptance": [{"id": "fine", "when": [{"predicate": "case_key", "args": {"root": "?root", "name": "batch", "value": "?b"}}, {"predicate": "fine", "args": {"batch": "?b"}}]}],
    "actions": [{"id": "read", "description": "Read.", "tool": "acme.read@1", "kind": "read", "source_types": ["file"], "params": {"batch": "string"},
                 "preconditions": [{"predicate": "case_key", "args": {"root": "?root", "name": "batch", "value": "?b"}}, {"predicate": "eq", "args": {"left": "?b", "right": "?batch"}}], "effects": [],
                 "returns": [{"predicate": "line", "args": {"batch": "$batch", "cents": "$cents"}}]}],
    "case_types": {"sums": {"title": "Sums", "business_key": {"batch": "string"}, "floor": "attested", "task": [{"node": "fine", "goal": "it is fine", "acceptance": "fine"}]}},
}


class Capability(_File):
    name = kind = "capability"
    shipped = (ROOT / "examples" / "verified-calculation" / "capability.json", *sorted((ROOT / "protocol" / "examples" / "capability").iterdir()))

    def check(self, document: object) -> tuple[object, list]:
        return check_capability(document)

    def install(self, document: dict) -> None:
        board = Board("agt_1")
        refused(board.try_install, document)


class Constitution(_File):
    name = kind = "constitution"
    shipped = tuple(sorted((ROOT / "protocol" / "examples" / "constitution").iterdir()))

    def check(self, document: object) -> tuple[object, list]:
        return check_constitution(document)

    def install(self, document: dict) -> None:
        found, _ = check_constitution(document)
        for case_type, source_name in (("verified_calculation", "books"), ("exploration", "")):
            rests = (Rest("note|n:1", "books", "attested"), Rest("note|n:2", "", "asserted"))
            refused(judge, found, Proposal("apply_action", "acme.pay", "acme.pay@1", "write", {"cents": 7, "who": "ann"}, source_name, rests, case_type, "root_1", "agt_1"))


KEY = "rlt_key_of_the_connection"
GRANT = Grant("board-1", "inv_1", "read_order", "orders-read/v1", "orders", "conn_1", "wkr_" + "0" * 32, 3, "sha256:" + "a" * 64, "sha256:" + "b" * 64)


BOX_WORK = WorkFile("conn_1", 7, "2026-12-01T00:00:00.000Z", "wkr_" + "0" * 32, 3, [{"name": "orders", "type": "file"}],
                    [{"row": {"work": "inv_1", "workType": "action"}, "startBefore": "2026-12-04T00:00:00.000Z"}], {"inv_0": {"accepted": True, "of": "x"}}, 5)
BOX_RECEIPTS = ReceiptsFile("conn_1", 9, "2026-12-01T00:00:00.000Z", "wkr_" + "0" * 32, 3, [], [{"kind": "ReportWork", "id": "inv_0"}], 7)


class Grants(Family):
    """Tokens, and what else passes between gateway and Worker: operations, headers, rows, leases, answers to renewals."""

    name = "grants"

    def open(self) -> None:
        worker = "wkr_" + "0" * 32
        self._payload = GRANT.payload()
        ident = {"workerId": worker, "workerGeneration": 3}
        token = sign_grant(GRANT, KEY)
        self._operations = [
            {"kind": "Poll", "workerId": worker, "tools": [{"id": "a.b@1", "digest": "a" * 64, "kind": "read", "params": {"x": "string"}, "returns": [{"predicate": "p", "args": {"a": "$x"}}]}]},
            {"kind": "Poll", "tools": [], **ident}, {"kind": "ClaimWork", "workType": "action", "id": "inv_1", "executionGrant": token, **ident},
            {"kind": "ReportWork", "workType": "action", "id": "inv_1", "ok": True, "result": "done", "facts": [{"predicate": "p", "args": {"a": 1}}], "executionGrant": token, **ident},
            {"kind": "ReportWork", "workType": "action", "id": "inv_1", "undeliverable": "effect_unknown", "executionGrant": token, **ident},
            {"kind": "RenewLease", **ident}, {"kind": "ReleaseLease", **ident}]
        spec = '{"name":"read_order","kind":"read","impl":"worker-tool","params":{"path":"string"},"exec":"orders-read/v1","sourceTypes":["file"],"returns":[]}'
        self._rows = [{"workType": "action", "work": "inv_1", "boardId": "board-1", "tool": "read_order", "toolContractId": "orders-read/v1", "sourceRecordId": "orders", "args": '{"source":"orders"}',
                       "target": "leaf", "toolSpec": spec, "toolDigest": "a" * 64, "executionGrant": token}]
        self._leases = [{"workerId": worker, "workerGeneration": 3, "serverTime": "2026-11-30T00:00:00.000Z", "expiresAt": "2026-11-30T00:01:00.000Z", "heartbeatAfterMs": 10_000}]
        self._replies = [{"accepted": True, "lease": self._leases[0], "payload": {"work": self._rows}}, {"accepted": False, "errorCode": "bad_command", "teaching": "no"}, {"errors": [{"code": "x"}]},
                         {"reason": "unauthenticated", "requiredClient": {"package": "rulith", "version": "1.2.3"}}]
        self._uploads = [{"permission": "granted", "sourceRecordId": "orders", "upload": True}, {"permission": "granted", "sourceRecordId": "orders", "upload": False, "refusal": "too_large"}]

    def make(self, rng: random.Random) -> bytes:
        way = rng.random()
        if way < 0.45:
            payload = spelt(rng, mutated(rng, self._payload)) if rng.random() < 0.8 else thrown(rng, compact_json(self._payload).encode())
            part = base64.urlsafe_b64encode(payload).rstrip(b"=")
            signature = base64.urlsafe_b64encode(hmac.new(KEY.encode(), part, hashlib.sha256).digest()).rstrip(b"=")
            token = part + b"." + signature
            return b"token " + (thrown(rng, token) if rng.random() < 0.3 else token)
        if way < 0.5:
            return b"token " + thrown(rng, sign_grant(GRANT, KEY).encode())
        if way < 0.6:
            return b"box " + self._boxed(rng)
        kind = pick(rng, ("operation", "operation", "row", "lease", "upload", "reply"))
        pool = {"operation": self._operations, "row": self._rows, "lease": self._leases, "upload": self._uploads, "reply": self._replies}[kind]
        value = mutated(rng, pick(rng, pool))
        return kind.encode() + b" " + spelt(rng, {"operation": value} if kind == "operation" and rng.random() < 0.95 else value)

    def _boxed(self, rng: random.Random) -> bytes:
        """A drop-box file, most of them well signed and of another shape."""
        file = pick(rng, (BOX_WORK, BOX_RECEIPTS))
        whole = seal(file, KEY)
        if rng.random() < 0.3:
            return thrown(rng, whole)
        payload, direction = spelt(rng, mutated(rng, file.payload())), whole.split(b" ", 2)[1]
        own = hmac.new(KEY.encode(), b"rulith-dropbox/1 " + direction, hashlib.sha256).digest()
        return b"rulith-dropbox/1 " + direction + b" " + hmac.new(own, payload, hashlib.sha256).hexdigest().encode() + b"\n" + payload

    @staticmethod
    def _box(content: bytes) -> bool:
        """Taken under the name that it states or not at all; what is taken is sealed and read as the same."""
        try:
            number, worker = (stated := json.loads(content.split(b"\n", 1)[1]))["sequence"], stated["workerId"]
        except (ValueError, LookupError, TypeError, RecursionError):
            number, worker = 1, ""
        taken = False
        for read, name in ((read_work, work_name), (read_receipts, lambda at: receipts_name(str(worker), at))):
            named = name(number) if isinstance(number, int) and 0 <= number < 10**16 else "x"
            file, wrong = refused(lambda read=read, named=named: read(content, named, key=KEY, connection_id="conn_1"))
            if not wrong:
                assert read(seal(file, KEY), named, key=KEY, connection_id="conn_1") == file
                taken = True
        return taken

    def play(self, data: bytes) -> bool:
        kind, _, rest = data.partition(b" ")
        if kind == b"box":
            return self._box(rest)
        if kind == b"token":
            return self._token(rest.decode("latin-1"))
        if kind == b"reply":
            return [isinstance(judge_reply(status, rest), Accepted) for status in (200, 302, 401, 404, 429, 500)][0]
        value, no_json = refused(read_json, rest, "the fuzz")
        if no_json:
            return False
        return {b"operation": self._operation, b"row": self._row, b"lease": self._lease, b"upload": self._upload}[kind](value)

    @staticmethod
    def _token(token: str) -> bool:
        grant, wrong = refused(read_grant, token, KEY)
        claims, unreadable = refused(read_claims, token)
        if wrong:
            return False
        assert not unreadable and claims == grant
        assert read_grant(sign_grant(grant, KEY), KEY) == grant
        _, differs = refused(lambda: verify_grant(token, key=KEY, expect=GRANT))
        assert differs == (grant != GRANT)
        assert refused(read_grant, token, KEY + "x")[1]
        return True

    @staticmethod
    def _operation(value: object) -> bool:
        operation, wrong = refused(read_operation, value)
        if wrong:
            return False
        assert read_operation(read_json(canonical_text(value), "again")) == operation
        headers = {"x-rulith-worker": [str(operation["workerId"])], "x-rulith-worker-generation": [str(operation["workerGeneration"])] if "workerGeneration" in operation else []}
        stated, odd = refused(read_identity, lambda name: headers[name])
        return not odd and not refused(check_identity, stated, operation)[1]

    @staticmethod
    def _row(value: object) -> bool:
        if refused(validate, ROWS["action"], value)[1]:
            return False
        refused(read_args, value["args"])
        return not refused(read_tool_spec, value)[1]

    @staticmethod
    def _lease(value: object) -> bool:
        for status in (None, 200, 401, 404, 429, 500):
            judge_renewal(status, value)
        lease, wrong = refused(read_lease, value, "wkr_" + "0" * 32)
        if not wrong:
            assert read_lease(lease.wire(), lease.worker_id) == lease
        return not wrong

    @staticmethod
    def _upload(value: object) -> bool:
        return not refused(validate, "sourceUpload", value)[1] and not refused(check_upload, "orders", value)[1]


class Receipts(Family):
    """Documents given to `verify` and `explain`: what differs from a sound receipt in any way is not sound."""

    name = "receipts"
    chunk = 5_000
    _sound: list[dict] = []

    def open(self) -> None:
        if not Receipts._sound:
            office = Office(example_capability())
            case = office.open("exploration")
            office.say(case, "seen", what="a", n=1)
            Receipts._sound = [paid_order()[1], office.close(case, "cancelled")]
        for document in Receipts._sound:
            assert not check_document(document).problems

    def make(self, rng: random.Random) -> bytes:
        number = pick(rng, (0, 1, 1, 1))
        document = self._sound[number]
        if rng.random() < 0.1:
            return b"%d " % number + thrown(rng, canonical_bytes(document))
        for _ in range(pick(rng, (0, 1, 1, 1, 2, 4))):
            document = bent(rng, document, document)
        return b"%d " % number + spelt(rng, document)

    def play(self, data: bytes) -> bool:
        number, _, text = data.partition(b" ")
        document, no_json = refused(lambda: read_json(text, "the file", depth_max=RECEIPT_DEPTH_MAX))
        if no_json:
            return False
        signed = crc32(data) % 10 == 0                  # the arithmetic of a signature costs more than all else
        verdict = check_document(document) if signed else _unsigned(document)
        options = verify.Options("f", None, None, False)
        lines = verify._lines(options, document, verdict)
        assert lines and json.dumps(verify._as_json(options, verdict)) and all(isinstance(line, str) for line in lines)
        try:
            for _ in explain._lines(document, 8):
                pass
        except (KeyError, TypeError, AttributeError, Refused):
            pass                                    # what `rulith explain` takes for "no receipt"
        if canonical_text(document) == canonical_text(self._sound[int(number)]):
            assert not verdict.problems
            return True
        assert verdict.problems or not signed, "an altered receipt was found sound"
        return False


def _unsigned(document: object):
    before, terminal_receipt.PARTS = terminal_receipt.PARTS, terminal_receipt.PARTS[:-1]
    try:
        return check_document(document)
    finally:
        terminal_receipt.PARTS = before
