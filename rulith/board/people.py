"""People: who may act on this gateway, in which role, and how each of them came to it.

A person is a name, a role, and the scrypt record of a passphrase that only this person
chose. The setup code of the first start makes the first owner; every other person comes by
an owner's invitation, whose code works once and runs out. A name in the ledger names one
person for ever, so that no row and no receipt can change whom it speaks of.

viewer    reads
operator  decides, reconciles, holds and ends Cases, withdraws, isolates
owner     all of that, and sets the gateway up: people, Capabilities, Sources, locks, Agents

Refuses to know: passphrases and codes themselves (only hashes enter), clocks, the web.
Units   expiry is judged when looked at, against the row's own stamp.
Source  the design's rules on the person's authority (§5).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rulith.base.clock import seconds_of, stamp
from rulith.base.errors import Refused
from rulith.base.limits import PEOPLE_MAX, SIGN_IN_FRESH_S
from rulith.board.machine import members
from rulith.board.names import is_plain_name
from rulith.board.shapes import Mint

VIEWER, OPERATOR, OWNER = "viewer", "operator", "owner"
ROLES = (VIEWER, OPERATOR, OWNER)                       # weakest first
GATEWAY, SETUP_CODE, INVITATION, ONESELF = "gateway", "setup_code", "invitation", "oneself"
PERSON = "person"                                       # how a sign-in states itself

NAME_CHARS_MAX = 64
FIRST_NAME = "owner"

# command -> who may give it; `oneself` is any person, for their own record
PEOPLE_AUTHORITY = {
    "set_passphrase": SETUP_CODE, "accept_invitation": INVITATION, "change_passphrase": ONESELF,
    "invite_person": OWNER, "reset_person": OWNER, "change_role": OWNER, "remove_person": OWNER,
}
PEOPLE_COMMANDS = {
    "set_passphrase": ("_set_passphrase", *members("record authority")),
    "change_passphrase": ("_change_passphrase", *members("record authority")),
    "invite_person": ("_invite_person", *members("name role codeHash expiresS authority")),
    "accept_invitation": ("_accept_invitation", *members("name codeHash record authority")),
    "reset_person": ("_reset_person", *members("name codeHash expiresS authority")),
    "change_role": ("_change_role", *members("name role authority")),
    "remove_person": ("_remove_person", *members("name authority")),
}


def judge_person(act: str, needs: str, given: Mapping, people: Mapping[str, Mapping]) -> str:
    """The name of the person whose fresh sign-in this is, in a role that may do `act`. Raises Refused sign_in_required, role_too_low."""
    age_s, name = given.get("signInAgeS"), given.get("by")
    fresh = isinstance(age_s, (int, float)) and not isinstance(age_s, bool) and 0 <= age_s <= SIGN_IN_FRESH_S
    person = people.get(name) if isinstance(name, str) else None
    if given.get("kind") != PERSON or not fresh or person is None or not person["record"]:
        raise Refused("sign_in_required", minutes=int(SIGN_IN_FRESH_S // 60))
    if needs in ROLES and ROLES.index(person["role"]) < ROLES.index(needs):
        raise Refused("role_too_low", by=name, role=person["role"], act=act.replace("_", " ").replace("-", " "), needs=needs)
    return person["name"]


def person_state(person: Mapping, at: str) -> str:
    """active; invited, while a code waits for this person; expired, once it has run out."""
    if person["record"]:
        return "active"
    return "invited" if seconds_of(at) < seconds_of(person["invitation"]["expiresAt"]) else "expired"


class PeopleLaw:
    """The commands about people; the Registry is one of these. `people` and `former` are its state, `_authority` its judge."""

    journal: Any
    people: dict[str, dict]        # name -> {name, role, record, invitation?, addedAt, by, setAt?}
    former: dict[str, str]         # names that are taken for ever: name in small letters -> the name as it was written

    def _authority(self, act: str, command: Mapping) -> str:
        raise AssertionError("the Registry judges")

    def _keep(self, person: Mapping) -> None:
        self.journal.put(self.people, person["name"], dict(person))

    def _take_name(self, name: object) -> str:
        if not is_plain_name(name, NAME_CHARS_MAX):
            raise Refused("name_unusable", what="person", limit=NAME_CHARS_MAX)
        assert isinstance(name, str)
        if name.casefold() in self.former:
            raise Refused("person_name_taken", name=name, taken=self.former[name.casefold()])
        if len(self.people) >= PEOPLE_MAX:
            raise Refused("resource_limit", what="the number of people", value=len(self.people) + 1, limit=PEOPLE_MAX)
        self.journal.put(self.former, name.casefold(), name)
        return name

    def person(self, name: object) -> dict:
        if not isinstance(name, str) or name not in self.people:
            raise Refused("unknown_person", name=str(name)[:NAME_CHARS_MAX])
        return self.people[name]

    def is_set_up(self) -> bool:
        """Whether anybody can sign in."""
        return any(each["record"] for each in self.people.values())

    def is_name_needed(self) -> bool:
        """Whether a passphrase alone would not say who signs in."""
        return sum(bool(each["record"]) for each in self.people.values()) > 1

    def _check_owner_left(self, leaving: Mapping) -> None:
        if not any(each["role"] == OWNER and each["record"] for each in self.people.values() if each["name"] != leaving["name"]):
            raise Refused("last_owner", name=leaving["name"])

    # --- commands ----------------------------------------------------------------------

    def _set_passphrase(self, command: Mapping, at: str, draw: Mint) -> dict:
        """The first person, by the setup code; they are an owner."""
        name = self._take_name(self._authority("set_passphrase", command))
        self._keep({"name": name, "role": OWNER, "record": dict(command["record"]), "addedAt": at, "by": "setup code", "setAt": at})
        return {}

    def _change_passphrase(self, command: Mapping, at: str, draw: Mint) -> dict:
        person = self.person(self._authority("change_passphrase", command))
        self._keep({**person, "record": dict(command["record"]), "setAt": at})
        return {"name": person["name"]}

    def _invitation(self, command: Mapping, at: str) -> dict:
        expires_s = command["expiresS"]
        if isinstance(expires_s, bool) or not isinstance(expires_s, (int, float)) or expires_s <= 0:
            raise Refused("bad_command", problem="An invitation runs out after some seconds")
        return {"codeHash": command["codeHash"], "expiresAt": stamp(seconds_of(at) + expires_s + 0.0005)}

    def _invite_person(self, command: Mapping, at: str, draw: Mint) -> dict:
        by = self._authority("invite_person", command)
        role, invitation = self._role(command), self._invitation(command, at)
        name = self._take_name(command["name"])
        self._keep({"name": name, "role": role, "record": None, "invitation": invitation, "addedAt": at, "by": by})
        return {"name": name, "role": role, "expiresAt": invitation["expiresAt"]}

    def _accept_invitation(self, command: Mapping, at: str, draw: Mint) -> dict:
        """The invited person chooses a passphrase; the code is used up."""
        self._authority("accept_invitation", command)
        person = self.person(command["name"])
        invitation = person.get("invitation")
        if person["record"] or invitation is None or command["codeHash"] != invitation["codeHash"]:
            raise Refused("invitation_wrong")
        if person_state(person, at) == "expired":
            raise Refused("invitation_expired", expires_at=invitation["expiresAt"])
        kept = {name: value for name, value in person.items() if name != "invitation"}
        self._keep({**kept, "record": dict(command["record"]), "setAt": at})
        return {"name": person["name"], "role": person["role"]}

    def _reset_person(self, command: Mapping, at: str, draw: Mint) -> dict:
        """The passphrase, or an older code, stops working; a new code is the only way back."""
        self._authority("reset_person", command)
        person = self.person(command["name"])
        if person["record"] and person["role"] == OWNER:
            self._check_owner_left(person)
        invitation = self._invitation(command, at)
        self._keep({**person, "record": None, "invitation": invitation})
        return {"name": person["name"], "role": person["role"], "expiresAt": invitation["expiresAt"]}

    def _change_role(self, command: Mapping, at: str, draw: Mint) -> dict:
        self._authority("change_role", command)
        person, role = self.person(command["name"]), self._role(command)
        if person["role"] == OWNER and role != OWNER and person["record"]:
            self._check_owner_left(person)
        self._keep({**person, "role": role})
        return {"name": person["name"], "role": role}

    def _remove_person(self, command: Mapping, at: str, draw: Mint) -> dict:
        self._authority("remove_person", command)
        person = self.person(command["name"])
        if person["record"] and person["role"] == OWNER:
            self._check_owner_left(person)
        self.journal.drop(self.people, person["name"])
        return {"name": person["name"]}

    def _role(self, command: Mapping) -> str:
        if command["role"] not in ROLES:
            raise Refused("bad_command", problem=f"A person is one of {', '.join(ROLES)}, not {command['role']!r}")
        return command["role"]
