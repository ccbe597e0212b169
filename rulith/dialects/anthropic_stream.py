"""A streamed message of the Anthropic dialect, put together: the data of events in, the whole reply out.

A delta belongs to the newest block that was begun under its index, so a service that uses
one index for several blocks is understood. Input that comes in pieces stays text until
the end; it is read there, strictly.
"""

from __future__ import annotations

from rulith.dialects.replies import error_words, parse

_GROWS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature", "input_json_delta": "partial_json"}


class AnthropicStream:
    """`take` each event's data in order; `document` is then the reply as if it had come whole.

    failure    what the service said went wrong, inside the stream
    is_ended   the stream said that the reply is; `is_whole` also said why; `is_over` nothing comes any more
    """

    wants_whole = False

    def __init__(self) -> None:
        self.failure = ""
        self.is_ended = False
        self.is_whole = False
        self.is_over = False
        self.has_begun = False               # something of the reply arrived
        self.habits: set[str] = set()
        self._blocks: list[dict] = []        # {index, block, grown: {field: [pieces]}, is_whole}
        self._stop: object = None
        self._usage: dict = {}
        self._objects: list[str] = []        # events whose input is no text: their digits are looked at

    def take(self, data: str, event: str = "message") -> str:
        """The text that this event adds."""
        if data.strip() == "[DONE]":         # some proxies end every stream that way
            return ""
        try:
            row = parse(data)
        except ValueError:
            self.failure = self.failure or "an event that is not JSON"
            return ""
        if not isinstance(row, dict):
            return ""
        kind = row.get("type") or event
        if kind == "error" or row.get("error"):
            self.failure = self.failure or error_words(row.get("error") or row)
            return ""
        if kind == "message_start":
            self._start(row.get("message"), data)
        elif kind == "content_block_start":
            return self._begin(row, data)
        elif kind == "content_block_delta":
            return self._grow(row)
        elif kind == "content_block_stop":
            block = self._block_of(row.get("index"))
            if block is not None:
                block["is_whole"] = True
        elif kind == "message_delta":
            self._end(row)
        elif kind == "message_stop":
            self.is_ended = self.is_over = True
        return ""

    def _start(self, message: object, data: str) -> None:
        if isinstance(message, dict):
            self._count(message.get("usage"))
            self._reason(message.get("stop_reason"))
            content = message.get("content")
            for block in content if isinstance(content, list) else ():
                self._begin({"content_block": block}, data)

    def _begin(self, row: dict, data: str = "") -> str:
        block, index = row.get("content_block"), row.get("index")
        if not isinstance(block, dict):
            return ""
        if block.get("input"):
            self._objects.append(data)
        if index is not None and block.get("type") == "tool_use" and any(
                each["index"] == index and each["block"].get("type") == "tool_use" for each in self._blocks):
            self.habits.add("calls_on_one_index")
        self._blocks.append({"index": index, "block": block, "grown": {}, "is_whole": False})
        self.has_begun = True
        return block["text"] if block.get("type") == "text" and isinstance(block.get("text"), str) else ""

    def _block_of(self, index: object) -> dict | None:
        return next((each for each in reversed(self._blocks) if index is None or each["index"] == index), None)

    def _grow(self, row: dict) -> str:
        delta, block = row.get("delta"), self._block_of(row.get("index"))
        if not isinstance(delta, dict):
            return ""
        field = _GROWS.get(str(delta.get("type")))
        piece = delta.get(field) if field else None
        if not isinstance(piece, str):
            return ""
        if block is None:                    # a delta without a start: text at most
            if field != "text":
                return ""
            self._begin({"index": row.get("index"), "content_block": {"type": "text", "text": ""}})
            block = self._blocks[-1]
        block["grown"].setdefault(field, []).append(piece)
        return piece if field == "text" else ""

    def _end(self, row: dict) -> None:
        delta = row.get("delta")
        self._reason(delta.get("stop_reason") if isinstance(delta, dict) else None)
        self._count(row.get("usage"))

    def _reason(self, stop: object) -> None:
        if isinstance(stop, str) and stop:
            self._stop = stop
            self.is_ended = self.is_whole = True

    def _count(self, usage: object) -> None:
        if isinstance(usage, dict):
            self._usage.update({name: value for name, value in usage.items() if value is not None})

    def document(self) -> tuple[dict, str]:
        """The reply as a whole body would hold it, and the text that shows the digits of input that is no text."""
        content = [_whole(each) for each in self._blocks]
        return {"content": content, "stop_reason": self._stop, "usage": self._usage}, "\n".join(self._objects)


def _whole(each: dict) -> dict:
    grown = {field: "".join(pieces) for field, pieces in each["grown"].items()}
    block = dict(each["block"])
    for field in ("text", "thinking", "signature"):
        if field in grown:
            block[field] = (block[field] if isinstance(block.get(field), str) else "") + grown[field]
    if block.get("type") == "tool_use":
        written = grown.get("partial_json", "")
        given = block.get("input")
        block["input"] = written if written.strip() or not given else given
        block["is_whole"] = each["is_whole"]
    return block
