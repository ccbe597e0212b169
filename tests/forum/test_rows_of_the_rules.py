"""Every check of every act, in its order, and every event: agents over MCP, the person over the API of its pages, both by HTTP.

Each act begins with everything wrong with it. What is refused is mended, one thing at a time:
the next refusal must be the next row. Duty: the council surface, "Rules", "Events", "The wake rule".
"""

from __future__ import annotations

from rulith.council.advice import CAUGHT_UP
from tests.forum.conftest import Program, Served

TOOLS = {"edit_message": "edit_reply"}


class Cast:
    """Agents by name, who act with their keys; the person acts over HTTP."""

    def __init__(self, talk: Served) -> None:
        self.talk, self.forum = talk, talk.council.forum
        self.keys: dict[str, str] = {}

    async def agent(self, name: str, *rooms: int) -> int:
        made = await self.talk.does("create_agent", project_id=1, name=name, rooms=list(rooms))
        self.keys[name] = made["api_key"]
        return made["agent_id"]

    async def acts(self, name: str, act: str, arguments: dict):
        """What comes of it: ("", its result), or (code, the words)."""
        result = await Program(self.talk.council.port, self.keys[name]).call(TOOLS.get(act, act), **arguments)
        told, text = result.get("structuredContent"), result["content"][0]["text"]
        return ("", told) if not result["isError"] else (told["errorCode"], text)

    async def live(self, agent_id: int, name: str) -> None:
        """A run of the agent that the council started, under a name of its own here."""
        self.keys[name] = self.forum.mint_live(agent_id)


async def climb(cast: Cast, who: str, act: str, arguments: dict, steps) -> dict:
    """Meet each refusal in turn, mend it, and succeed at last. A refusal leaves no event."""
    for code, words, mend in steps:
        before = cast.forum.db.latest_seq()
        met, said = await cast.acts(who, act, arguments)
        assert met == code and all(word in said for word in words), (code, met, said)
        assert cast.forum.db.latest_seq() == before, code
        if isinstance(mend, dict):
            arguments.update(mend)
        else:
            name, what = mend
            await cast.talk.does(name, **what)
    met, result = await cast.acts(who, act, arguments)
    assert met == "", result
    return result


async def _stage(talk: Served) -> tuple[Cast, int, int]:
    """(cast, bob's id, thread): ann has asked nobody; bob is in no room."""
    cast = Cast(talk)
    await cast.agent("ann", 1)
    bob = await cast.agent("bob")
    return cast, bob, (await cast.acts("ann", "create_thread", {"title": "A question", "body": "what now?", "tag": "ADVERSARIAL_REVIEW"}))[1]["thread_id"]


def test_a_reply_meets_its_eleven_checks_in_order(served):
    async def story(talk):
        cast, bob, thread = await _stage(talk)
        await talk.does("reply", thread_id=thread, body="costly", cost_usd=0.75)
        await talk.does("resolve_thread", thread_id=thread, summary="so it is")
        await talk.does("update_room", id=1, paused=True, max_replies_per_agent=0, max_thread_messages=1, cost_cap_usd=0.5)
        await climb(cast, "bob", "reply", {"thread_id": 99, "body": " \n", "verdict": "MAYBE", "severity": "AWFUL"}, [
            ("council_invalid", ["blank"], {"body": "an answer"}),
            ("council_not_found", ["99"], {"thread_id": thread}),
            ("council_not_found", ["not found: ", str(thread)], ("join_room", {"agent_id": bob, "room_id": 1})),
            ("council_not_asked", ["forbidden: ", "did not ask you", "name"], ("update_thread", {"thread_id": thread, "body": "what now, @bob?"})),
            ("council_paused", ["paused", "general"], ("update_room", {"id": 1, "paused": False})),
            ("council_closed", ["RESOLVED"], ("set_thread_status", {"thread_id": thread, "status": "OPEN"})),
            ("council_reply_cap", ["limit reached: ", "cap", "0"], ("update_room", {"id": 1, "max_replies_per_agent": 1})),
            ("council_thread_cap", ["cap", "1"], ("update_room", {"id": 1, "max_thread_messages": 9})),
            ("council_cost_cap", ["0.75", "0.50"], ("update_room", {"id": 1, "cost_cap_usd": 0})),
            ("council_verdict", ["CONFIRMED", "CLEARED", "UNCERTAIN"], {"verdict": "refuted"}),
            ("council_invalid", ["severity", "CRITICAL"], {"severity": "low"})])
        assert (await cast.acts("bob", "reply", {"thread_id": thread, "body": "more"}))[0] == "council_reply_cap"
        message = (await talk.does("get_thread", thread_id=thread))["messages"][-1]
        assert (message["verdict"], message["severity"], message["author_name"], message["is_person"], message["supervised"]) == ("CLEARED", "LOW", "bob", False, False)
    served(story)


def test_an_edit_meets_its_eight_checks_in_order(served):
    async def story(talk):
        cast, bob, _ = await _stage(talk)
        await talk.does("join_room", agent_id=bob, room_id=1)
        thread = (await cast.acts("ann", "create_thread", {"title": "t", "body": "@bob ?", "tag": "ADVERSARIAL_REVIEW"}))[1]["thread_id"]
        theirs = (await cast.acts("ann", "reply", {"thread_id": thread, "body": "ann's"}))[1]["message_id"]
        own = (await cast.acts("bob", "reply", {"thread_id": thread, "body": "bob's", "verdict": "CONFIRMED", "refs": [{"path": "a"}]}))[1]["message_id"]
        await talk.does("resolve_thread", thread_id=thread, summary="s", status="WONTFIX")
        await talk.does("update_room", id=1, paused=True)
        await talk.does("leave_room", agent_id=bob, room_id=1)
        await climb(cast, "bob", "edit_message", {"message_id": 99, "body": "", "verdict": "MAYBE", "severity": "AWFUL"}, [
            ("council_invalid", ["blank"], {"body": "a better word"}),
            ("council_not_found", ["99"], {"message_id": theirs}),
            ("council_not_found", ["not found: ", str(theirs)], ("join_room", {"agent_id": bob, "room_id": 1})),
            ("council_not_yours", ["forbidden: "], {"message_id": own}),
            ("council_paused", ["paused"], ("update_room", {"id": 1, "paused": False})),
            ("council_closed", ["WONTFIX"], ("set_thread_status", {"thread_id": thread, "status": "BLOCKED"})),
            ("council_verdict", ["CONFIRMED"], {"verdict": None}),
            ("council_invalid", ["severity"], {"severity": ""})])
        message = (await talk.does("get_thread", thread_id=thread))["messages"][-1]
        assert (message["body"], message["verdict"], message["severity"], message["refs"]) == ("a better word", None, None, []) and message["edited_at"]
        assert not (await talk.does("get_thread", thread_id=thread))["export_path"]
        assert (await talk.is_refused("edit_message", message_id=own, body="the person's words in bob's mouth"))[:2] == (403, "council_not_yours")
    served(story)


def test_opening_meets_its_five_checks_in_order(served, tmp_path):
    async def story(talk):
        cast, bob, _ = await _stage(talk)
        await talk.does("update_room", id=1, paused=True)
        (tmp_path / "project").rename(tmp_path / "moved")
        (tmp_path / "elsewhere").mkdir()
        await climb(cast, "bob", "create_thread", {"room": "#General", "title": " ", "body": "b", "tag": "NONSENSE"}, [
            ("council_not_found", ["room", "general"], ("join_room", {"agent_id": bob, "room_id": 1})),
            ("council_paused", ["paused", "general"], ("update_room", {"id": 1, "paused": False})),
            ("council_invalid", ["title"], {"title": "A title"}),
            ("council_folder_unreadable", ["folder"], ("update_project", {"id": 1, "folder_path": str(tmp_path / "elsewhere")})),
            ("council_not_found", ["NONSENSE"], {"tag": "fyi"})])
        for mentions, code in (([99], "council_not_found"), ("ann", "council_invalid"), ([True], "council_invalid")):
            assert (await talk.is_refused("create_thread", title="t", body="b", tag="FYI", room=1, mentions=mentions))[1] == code
    served(story)


def test_a_topic_is_changed_by_its_opener_under_the_rules_of_an_edit(served):
    async def story(talk):
        cast, bob, thread = await _stage(talk)
        await talk.does("join_room", agent_id=bob, room_id=1)
        await talk.does("set_thread_status", thread_id=thread, status="WONTFIX")
        await talk.does("update_room", id=1, paused=True)
        code, said = await cast.acts("bob", "update_thread", {"thread_id": thread, "body": "mine"})
        assert code == "council_not_opener" and "ann" in said
        ann = next(row["id"] for row in await talk.does("list_agents") if row["name"] == "ann")
        await talk.does("leave_room", agent_id=ann, room_id=1)
        told = await climb(cast, "ann", "update_thread", {"thread_id": thread, "body": "@bob and @everyone, and mail a@bob"}, [
            ("council_not_found", ["not found: ", str(thread)], ("join_room", {"agent_id": ann, "room_id": 1})),
            ("council_paused", ["paused"], ("update_room", {"id": 1, "paused": False})),
            ("council_closed", ["WONTFIX"], ("set_thread_status", {"thread_id": thread, "status": "OPEN"}))])
        assert told["called"] == ["bob", "you"]
        assert (await talk.does("update_thread", thread_id=thread, body="the person may"))["called"] == []
    served(story)


def test_a_claim_a_status_an_end_and_a_look_meet_their_checks_in_order(served):
    async def story(talk):
        cast, bob, thread = await _stage(talk)
        await talk.does("set_thread_status", thread_id=thread, status="WONTFIX")
        join, leave = (("join_room", {"agent_id": bob, "room_id": 1}), ("leave_room", {"agent_id": bob, "room_id": 1}))
        await climb(cast, "bob", "claim_thread", {"thread_id": 99}, [
            ("council_not_found", ["99"], {"thread_id": thread}),
            ("council_not_found", ["not found: ", str(thread)], join),
            ("council_closed", ["WONTFIX"], ("set_thread_status", {"thread_id": thread, "status": "OPEN"}))])
        await talk.does(leave[0], **leave[1])
        await climb(cast, "bob", "get_thread", {"thread_id": 99}, [("council_not_found", ["99"], {"thread_id": thread}), ("council_not_found", ["not found: ", str(thread)], join)])
        await talk.does(leave[0], **leave[1])
        mine = (await cast.acts("ann", "create_thread", {"title": "t", "body": "b", "tag": "FYI"}))[1]["thread_id"]
        for arguments, code in (({"status": "GONE"}, "council_not_found"), ({"status": "OPEN"}, "council_not_found")):
            assert (await cast.acts("bob", "set_thread_status", {"thread_id": mine, **arguments}))[0] == code
        await talk.does(join[0], **join[1])
        for status, code in (("GONE", "council_invalid"), ("RESOLVED", "council_invalid"), ("OPEN", "council_not_opener")):
            assert (await cast.acts("bob", "set_thread_status", {"thread_id": mine, "status": status}))[0] == code
        assert "resolve_thread" in (await cast.acts("ann", "set_thread_status", {"thread_id": mine, "status": "RESOLVED"}))[1]
        code, said = await cast.acts("bob", "resolve_thread", {"thread_id": mine, "status": "OPEN", "summary": ""})
        assert code == "council_not_opener" and "ann" in said
        await climb(cast, "ann", "resolve_thread", {"thread_id": 99, "status": "OPEN", "summary": " "}, [
            ("council_not_found", ["99"], {"thread_id": mine}),
            ("council_invalid", ["RESOLVED, WONTFIX or BLOCKED"], {"status": "BLOCKED"}),
            ("council_invalid", ["summary"], {"summary": "we wait"})])
        detail = await talk.does("get_thread", thread_id=mine)
        assert (detail["status"], detail["export_path"], detail["resolution_summary"]) == ("BLOCKED", None, "we wait")
    served(story)


def test_the_person_is_exempt_from_being_asked_from_pause_caps_and_closed_threads_and_from_no_word(served):
    async def story(talk):
        _, _, thread = await _stage(talk)
        await talk.does("resolve_thread", thread_id=thread, summary="so")
        await talk.does("update_room", id=1, paused=True, max_replies_per_agent=0, max_thread_messages=0, cost_cap_usd=0.001)
        for _ in range(2):
            assert await talk.does("reply", thread_id=thread, body="still", cost_usd=1, verdict="refuted")
        assert (await talk.is_refused("reply", thread_id=thread, body=" "))[:2] == (400, "council_invalid")
        assert (await talk.is_refused("reply", thread_id=thread, body="x", verdict="NO"))[:2] == (400, "council_verdict")
        assert (await talk.is_refused("claim_thread", thread_id=thread))[:2] == (403, "council_closed")
        assert (await talk.is_refused("get_thread", thread_id=99))[:2] == (404, "council_not_found")
        for arguments in ({"max_replies_per_agent": -1}, {"cost_cap_usd": "5"}, {"max_thread_messages": 1.5}, {"paused": 1}, {"purpose": 7}, {"strange": 1}):
            assert (await talk.is_refused("update_room", id=1, **arguments))[:2] == (400, "council_invalid")
    served(story)


def test_an_ended_thread_keeps_its_history_and_only_a_resolved_one_has_a_record(served, tmp_path):
    async def story(talk):
        _, _, thread = await _stage(talk)
        closed = await talk.does("set_thread_status", thread_id=thread, status="WONTFIX")
        assert closed == {"thread_id": thread, "status": "WONTFIX"} and not (tmp_path / "project" / ".rivendell").exists()
        first = await talk.does("resolve_thread", thread_id=thread, summary="one way")
        await talk.does("set_thread_status", thread_id=thread, status="OPEN")
        kept = await talk.does("get_thread", thread_id=thread)
        assert (kept["status"], kept["resolution_summary"], kept["export_path"]) == ("OPEN", "one way", first["export_path"]) and kept["resolved_at"]
        second = await talk.does("resolve_thread", thread_id=thread, summary="the other way")
        assert second["export_path"] == first["export_path"] and second["record_digest"] != first["record_digest"]
        assert "the other way" in (tmp_path / "project" / second["export_path"]).read_text("utf-8")
        assert len(list((tmp_path / "project" / ".rivendell" / "threads").iterdir())) == 1
    served(story)


def test_every_act_tells_its_event_with_who_and_where(served, tmp_path):
    async def story(talk):
        (tmp_path / "other").mkdir()
        cast = Cast(talk)
        forum = talk.council.forum
        you = forum.person_of(1).agent_id
        start = forum.db.latest_seq()
        ann, bob = await cast.agent("ann", 1), await cast.agent("bob", 1)
        await talk.does("update_project", id=1, color="red")
        await talk.does("update_room", id=1, paused=False)
        await talk.does("update_agent", id=ann, system_note="careful")
        thread = (await cast.acts("ann", "create_thread", {"title": "t", "body": "b", "tag": "perf"}))[1]["thread_id"]
        await cast.acts("ann", "claim_thread", {"thread_id": thread, "note": "looking"})
        await cast.live(ann, "live")
        first = (await cast.acts("live", "reply", {"thread_id": thread, "body": "@bob ?", "verdict": "uncertain", "severity": "info"}))[1]["message_id"]
        await cast.acts("live", "edit_message", {"message_id": first, "body": "@bob !"})
        await talk.does("update_thread", thread_id=thread, body="c")
        await cast.acts("ann", "set_thread_status", {"thread_id": thread, "status": "BLOCKED"})
        ended = await talk.does("resolve_thread", thread_id=thread, summary="s", status="WONTFIX")
        quiet = forum.db.latest_seq()
        await talk.does("rotate_agent_key", id=bob)
        await talk.does("set_agent_revoked", id=bob, revoked=True)
        await talk.does("delete_agent", id=bob)
        assert forum.db.latest_seq() == quiet and "export_path" not in ended
        spare = await cast.agent("spare", 1)
        await talk.does("leave_room", agent_id=spare, room_id=1)
        await talk.does("delete_room", id=1)
        await talk.does("delete_project", id=1)
        told = [(each["kind"], each["room_id"], each["thread_id"], each["actor_agent_id"], each["payload"])
                for each in (await talk.does("events_since", cursor=start))["events"]]
        assert told == [
            ("agent.created", None, None, None, {"id": ann, "name": "ann", "role": "ASSISTANT"}), ("agent.joined", 1, None, ann, {}),
            ("agent.created", None, None, None, {"id": bob, "name": "bob", "role": "ASSISTANT"}), ("agent.joined", 1, None, bob, {}),
            ("project.updated", None, None, None, {"color": "red"}), ("room.updated", 1, None, None, {"paused": False}),
            ("agent.updated", None, None, ann, {"system_note": "careful"}),
            ("thread.created", 1, thread, ann, {"title": "t", "tag": "PERF"}),
            ("thread.claimed", 1, thread, ann, {"note": "looking", "supervised": False}),
            ("thread.mentioned", 1, thread, ann, {"called": ["bob"]}),
            ("message.created", 1, thread, ann, {"message_id": first, "verdict": "UNCERTAIN", "severity": "INFO", "status": "OPEN", "supervised": True}),
            ("message.edited", 1, thread, ann, {"message_id": first, "body_changed": True, "previous_verdict": "UNCERTAIN", "previous_severity": "INFO",
                                                "verdict": None, "severity": None}),
            ("thread.updated", 1, thread, you, {}), ("thread.status", 1, thread, ann, {"status": "BLOCKED"}),
            ("thread.resolved", 1, thread, you, {"status": "WONTFIX", "export_path": None, "record_digest": None}),
            ("agent.created", None, None, None, {"id": spare, "name": "spare", "role": "ASSISTANT"}), ("agent.joined", 1, None, spare, {}),
            ("agent.left", 1, None, spare, {}), ("room.deleted", 1, None, None, {"id": 1}), ("project.deleted", None, None, None, {"id": 1})]
    served(story)


def test_what_wakes_is_one_rule_and_each_part_of_it_stops_it(served):
    async def story(talk):
        cast, bob, _ = await _stage(talk)
        await talk.does("join_room", agent_id=bob, room_id=1)
        thread = (await talk.does("create_thread", title="t", body="@bob ?", tag="FYI", room=1))["thread_id"]
        await talk.does("reply", thread_id=thread, body="well?", cost_usd=0.5)
        stops = [("set_thread_status", {"thread_id": thread, "status": "WONTFIX"}, ("set_thread_status", {"thread_id": thread, "status": "BLOCKED"})),
                 ("update_room", {"id": 1, "paused": True}, ("update_room", {"id": 1, "paused": False})),
                 ("leave_room", {"agent_id": bob, "room_id": 1}, ("join_room", {"agent_id": bob, "room_id": 1})),
                 ("update_room", {"id": 1, "max_replies_per_agent": 0}, ("update_room", {"id": 1, "max_replies_per_agent": 6})),
                 ("update_room", {"id": 1, "max_thread_messages": 1}, ("update_room", {"id": 1, "max_thread_messages": 60})),
                 ("update_room", {"id": 1, "cost_cap_usd": 0.5}, ("update_room", {"id": 1, "cost_cap_usd": 0}))]
        start = (await talk.does("events_since", cursor=0))["next_cursor"]

        async def caught_up(name: str) -> dict:
            return (await cast.acts(name, "wait_for_updates", {"cursor": start - 1, "catch_up": True, "timeout_s": 1}))[1]

        assert (await caught_up("bob"))["needs_you"] == [thread]
        for stop, what, (again, how) in stops:
            await talk.does(stop, **what)
            told = await caught_up("bob")                    # nothing waits, so it falls through to the events, which need nobody either
            assert told["needs_you"] == [] and (told["events"] or stop == "leave_room"), what
            await talk.does(again, **how)
            assert await caught_up("bob") == {"next_cursor": start - 1, "events": [], "needs_you": [thread], "then": CAUGHT_UP}, what
        ann = next(row["id"] for row in await talk.does("list_agents") if row["name"] == "ann")
        assert (await caught_up("ann"))["needs_you"] == []                          # neither asked nor its opener
        await cast.acts("bob", "reply", {"thread_id": thread, "body": "here"})
        told = await caught_up("bob")                                              # the newest word is bob's own, and the person's moved it before
        assert told["needs_you"] == [thread] and told["events"]
        assert (await cast.acts("bob", "wait_for_updates", {"catch_up": True, "timeout_s": 1}))[1]["needs_you"] == []
    served(story)
