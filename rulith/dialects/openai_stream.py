"""A streamed Chat Completion, put together: the data of events in, the whole reply out.

Pieces belong to the call that their index and id name. A piece with another id and a name
begins a call of its own, so services that stream every call on index 0 are understood;
what cannot be told apart is joined as it came, is no JSON then, and is not run.
"""

from __future__ import annotations

import json

from rulith.dialects.replies import content_text, error_words, parse

DONE = "[DONE]"


class OpenAiStream:
    """`take` each event's data in order; `document` is then the reply as if it had come whole.

    failure       what the service said went wrong, inside the stream
    is_ended      the stream said that the reply is; `is_whole` also said why; `is_over` nothing comes any more
    wants_whole   the pieces of a call are none: this service repeats what it sent
    """

    def __init__(self) -> None:
        self.failure = ""
        self.is_ended = False
        self.is_whole = False
        self.is_over = False
        self.wants_whole = False
        self.has_begun = False               # something of the reply arrived
        self.habits: set[str] = set()
        self._text: list[str] = []
        self._reasoning: dict[str, list[str]] = {}
        self._details: list = []
        self._calls: list[dict] = []
        self._finish: list[str] = []
        self._usage: object = None
        self._objects: list[str] = []        # events whose arguments are no text: their digits are looked at

    def take(self, data: str, event: str = "message") -> str:
        """The text that this event adds."""
        if data.strip() == DONE:
            self.is_ended = self.is_over = True
            return ""
        try:
            chunk = parse(data)
        except ValueError:
            self.failure = self.failure or "an event that is not JSON"
            return ""
        if not isinstance(chunk, dict):
            return ""
        if chunk.get("error") or event == "error":
            self.failure = self.failure or error_words(chunk.get("error") or chunk)
            return ""
        if isinstance(chunk.get("usage"), dict):
            self._usage = chunk["usage"]
        choices = chunk.get("choices")
        added = [self._choice(row, data) for row in choices if isinstance(row, dict)] if isinstance(choices, list) else []
        return "".join(added)

    def _choice(self, choice: dict, data: str) -> str:
        if choice.get("index") not in (0, None):
            return ""
        finish = choice.get("finish_reason")
        if isinstance(finish, str) and finish:
            self._finish.append(finish)
            self.is_ended = self.is_whole = True
        delta = choice.get("delta")
        if not isinstance(delta, dict) or not delta:
            whole = choice.get("message")
            delta = whole if isinstance(whole, dict) and not self.has_begun else {}
        return self._delta(delta, data)

    def _delta(self, delta: dict, data: str) -> str:
        for name in ("reasoning_content", "reasoning"):
            if isinstance(delta.get(name), str) and delta[name]:
                self._reasoning.setdefault(name, []).append(delta[name])
        if isinstance(delta.get("reasoning_details"), list):
            _join(self._details, delta["reasoning_details"])
        for row in delta["tool_calls"] if isinstance(delta.get("tool_calls"), list) else ():
            if isinstance(row, dict):
                self._piece(row, data)
        if isinstance(delta.get("function_call"), dict) and not delta.get("tool_calls"):
            self._piece({"index": "function_call", "function": delta["function_call"]}, data)
        added = content_text(delta.get("content"))
        self._text.append(added)
        self.has_begun = self.has_begun or bool(added or self._calls or self._reasoning or self._details)
        return added

    def _piece(self, row: dict, data: str) -> None:
        function = row.get("function") if isinstance(row.get("function"), dict) else {}
        id_ = row["id"] if isinstance(row.get("id"), str) else ""
        name = function["name"] if isinstance(function.get("name"), str) else ""
        call = self._call_of(row.get("index"), id_, name)
        call["id"] = call["id"] or id_
        if name and name != call["name"]:
            call["name"] += name
        if row.get("extra_content") is not None:
            call["extra"] = row["extra_content"]
        given = function.get("arguments")
        if isinstance(given, str):
            call["parts"].append(given)
        elif given is not None:
            call["objects"].append(given)
            self._objects.append(data)

    def _call_of(self, index: object, id_: str, name: str) -> dict:
        """The call that a piece goes on with, or a new one."""
        same = [call for call in self._calls if call["index"] == index] if index is not None else self._calls
        named = [call for call in same if id_ and call["id"] == id_]
        call = named[-1] if named else same[-1] if same else None
        if call is not None and not _begins(call, id_, name):
            return call
        if call is not None and index is not None:
            self.habits.add("calls_on_one_index")
        self._calls.append({"index": index, "id": "", "name": "", "parts": [], "objects": [], "extra": None})
        return self._calls[-1]

    def document(self) -> tuple[dict, str]:
        """The reply as a whole body would hold it, and the text that shows the digits of arguments that are no text."""
        message: dict = {"role": "assistant", "content": "".join(self._text),
                         **{name: "".join(parts) for name, parts in self._reasoning.items()}}
        if self._details:
            message["reasoning_details"] = [_whole(row) for row in self._details]
        if any(_is_sent_again(call["parts"]) for call in self._calls):
            self.wants_whole = True
            self.habits.add("calls_doubled")
        if self._calls:
            message["tool_calls"] = [_row(call) for call in self._calls]
        order = ("length", "max_tokens", "model_length", "content_filter", "refusal", "sensitive", "error")
        said = [word for word in order if word in self._finish] or self._finish
        finish = said[0] if said else None
        return {"choices": [{"message": message, "finish_reason": finish}], "usage": self._usage}, "\n".join(self._objects)


def _begins(call: dict, id_: str, name: str) -> bool:
    """Whether a piece with this id and name begins another call on the index of `call`."""
    if not name:
        return False                                   # an id that changes from piece to piece begins nothing
    if id_ and call["id"] and id_ != call["id"]:
        return True
    same_id = bool(id_) and id_ == call["id"]
    return not same_id and _is_object(call)


def _is_object(call: dict) -> bool:
    """Whether the arguments so far are complete: what follows cannot belong to them."""
    if call["objects"]:
        return True
    if not call["parts"] or not call["parts"][-1].rstrip().endswith("}"):
        return False
    try:
        return isinstance(json.loads("".join(call["parts"])), dict)
    except (ValueError, RecursionError):
        return False


def _is_sent_again(parts: list[str]) -> bool:
    """Whether the pieces hold the arguments so far each time, or all of them once more at the end."""
    pieces = [piece for piece in parts if piece.strip()]
    if len(pieces) < 2 or not pieces[0].lstrip().startswith("{"):
        return False
    grows = all(later.startswith(earlier) for earlier, later in zip(pieces, pieces[1:]))
    return grows or pieces[-1] == "".join(pieces[:-1])


def _row(call: dict) -> dict:
    text, objects = "".join(call["parts"]), call["objects"]
    given: object = text
    if objects:
        given = objects[0] if len(objects) == 1 and not text.strip() else json.dumps(objects) + text
    return {"id": call["id"], "function": {"name": call["name"], "arguments": given}, "extra_content": call["extra"]}


_JOINED = ("text", "summary", "data")


def _join(rows: list, more: list) -> None:
    """Add reasoning details; the texts of pieces with one index and type are gathered to be joined, whatever else they hold stays."""
    for row in more:
        last = rows[-1] if rows else None
        is_piece = isinstance(row, dict) and isinstance(last, dict) and row.get("index") is not None
        if not is_piece or (row.get("index"), row.get("type")) != (last.get("index"), last.get("type")):
            rows.append({name: [value] if name in _JOINED and isinstance(value, str) else value for name, value in row.items()}
                        if isinstance(row, dict) else row)
            continue
        for name, value in row.items():
            if name in _JOINED and isinstance(value, str) and isinstance(last.get(name), list):
                last[name].append(value)
            elif value is not None:
                last[name] = [value] if name in _JOINED and isinstance(value, str) else value


def _whole(row: object) -> object:
    if not isinstance(row, dict):
        return row
    return {name: "".join(value) if name in _JOINED and isinstance(value, list) else value for name, value in row.items()}
