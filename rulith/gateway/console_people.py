"""The Console's people: the first passphrase, signing in, invitations, and who may do what.

Promises: a passphrase and a code are compared in constant time, off the loop, one try after
another, and kept only as hashes; whoever is removed or reset is signed out in the same
commit; a code is in exactly one answer, the one to the owner who asked for it. Whether a
person may act is the Registry's judgement of `by`, the statement of a sign-in.

Source  the design's rules on the person's authority (§5).
"""

from __future__ import annotations

import asyncio
import hmac
import unicodedata
from collections.abc import Callable, Mapping

from rulith.base.errors import Refused
from rulith.base.ids import mint_invitation
from rulith.base.limits import INVITATION_S
from rulith.board.people import FIRST_NAME, person_state
from rulith.gateway.authority import Authority, token_hash
from rulith.gateway.passphrase import Guesses, SignIn, SignIns, hash_passphrase, matches

# route -> its body's members; a question mark marks what may be left out
DOORS = {"setup": ("code", "passphrase", "name?"), "sign-in": ("name?", "passphrase"), "accept": ("name", "code", "passphrase")}
BODIES = {"person-invite": ("name", "role"), "person-reset": ("name",), "person-role": ("name", "role"), "person-remove": ("name",)}
OWN = {"passphrase": ("current", "passphrase")}


class ConsolePeople:
    """setup_code   asked while nobody can sign in: () -> the code of this run, or None"""

    def __init__(self, authority: Authority, *, setup_code: Callable[[], str | None]) -> None:
        self.authority = authority
        self.sign_ins = SignIns(authority.clock)
        self._setup_code = setup_code
        self._guesses = Guesses(authority.clock)
        self._one_guess = asyncio.Lock()     # tries come one after another, so that a pause counts for all

    # --- doors: nobody is signed in yet -------------------------------------------------

    async def enter(self, route: str, fields: Mapping) -> SignIn:
        """A sign-in by passphrase, by the setup code or by an invitation. Raises Refused with nothing changed."""
        if route == "setup":
            return await self._setup(fields)
        return await (self._sign_in(fields) if route == "sign-in" else self._accept(fields))

    async def _setup(self, fields: Mapping) -> SignIn:
        """The first person, once, by the code that only this run's owner saw."""
        name = _typed(fields["name"]) or FIRST_NAME
        if self.authority.registry.is_set_up():
            raise Refused("passphrase_already_set")
        async with self._one_guess:
            self._guesses.check_may_try("")
            code = self._setup_code()
            if code is None or not _same(fields["code"].strip().upper(), code):
                self._guesses.failed("")
                raise Refused("setup_code_wrong")
            record = await asyncio.to_thread(hash_passphrase, fields["passphrase"])
        self.authority.command_registry({"kind": "set_passphrase", "record": record, "authority": {"kind": "setup_code", "by": name}})
        return await self._opened(name)

    async def _sign_in(self, fields: Mapping) -> SignIn:
        people, name = self.authority.registry.people, _typed(fields["name"])
        if not self.authority.registry.is_set_up():
            raise Refused("passphrase_not_set")
        if not name and self.authority.registry.is_name_needed():
            raise Refused("sign_in_name_needed")
        name = name or next(each["name"] for each in people.values() if each["record"])
        await self._check_passphrase(name, fields["passphrase"])
        return self.sign_ins.open(name)

    async def _accept(self, fields: Mapping) -> SignIn:
        """An invited person chooses a passphrase with the code that an owner gave them."""
        name, given = _typed(fields["name"]), token_hash(fields["code"].strip().upper())
        async with self._one_guess:
            self._guesses.check_may_try(name)
            person = self.authority.registry.people.get(name, {})
            kept = person.get("invitation", {}).get("codeHash", "") if not person.get("record") else ""
            if not _same(given, kept):
                self._guesses.failed(name)
                raise Refused("invitation_wrong")
            record = await asyncio.to_thread(hash_passphrase, fields["passphrase"])
        self.authority.command_registry({"kind": "accept_invitation", "name": name, "codeHash": given, "record": record,
                                         "authority": {"kind": "invitation", "by": name}})
        self._guesses.succeeded(name)
        return await self._opened(name)

    async def _opened(self, name: str) -> SignIn:
        await self.authority.settled()
        return self.sign_ins.open(name)

    async def _check_passphrase(self, name: str, passphrase: str) -> None:
        """Raises Refused: sign_in_paused, passphrase_wrong."""
        async with self._one_guess:
            self._guesses.check_may_try(name)
            known = self.authority.registry.people.get(name, {}).get("record")
            right = await asyncio.to_thread(matches, passphrase, known)
            # whoever was removed or reset while the hash was made is no longer who this was
            if not right or self.authority.registry.people.get(name, {}).get("record") != known:
                self._guesses.failed(name)
                raise Refused("passphrase_wrong")
            self._guesses.succeeded(name)

    # --- one's own ---------------------------------------------------------------------

    def reader(self, cookie: str | None) -> SignIn | None:
        """The sign-in of a cookie whose person is still one who can sign in."""
        sign_in = self.sign_ins.find(cookie)
        known = sign_in is not None and self.authority.registry.people.get(sign_in.name, {}).get("record")
        return sign_in if known else None

    def by(self, cookie: str | None, token: str | None) -> dict:
        """The statement of a fresh sign-in, as the Registry judges it. Raises Refused sign_in_required."""
        sign_in = self.sign_ins.check(cookie, token)
        return {"kind": "person", "by": sign_in.name, "signInAgeS": self.sign_ins.age_s(sign_in)}

    async def change_passphrase(self, fields: Mapping, by: Mapping, cookie: str | None) -> dict:
        """One's own passphrase; one's other sign-ins end."""
        await self._check_passphrase(by["by"], fields["current"])
        record = await asyncio.to_thread(hash_passphrase, fields["passphrase"])
        result = self.authority.command_registry({"kind": "change_passphrase", "record": record, "authority": by}).result
        self.sign_ins.close_of(by["by"], but=cookie or "")
        return result

    # --- an owner's acts ---------------------------------------------------------------

    def run(self, route: str, fields: Mapping, by: Mapping) -> dict:
        """Invite, reset, change a role, remove. Raises Refused with nothing changed."""
        name = _typed(fields["name"])
        if route in ("person-invite", "person-reset"):
            code = mint_invitation()
            command = {"kind": route.replace("person-invite", "invite_person").replace("person-reset", "reset_person"), "name": name,
                       "codeHash": token_hash(code), "expiresS": INVITATION_S, "authority": by}
            result = self.authority.command_registry({**command, **({"role": fields["role"]} if "role" in fields else {})}).result
            self.sign_ins.close_of(name)
            return {**result, "code": code}
        if route == "person-role":
            return self.authority.command_registry({"kind": "change_role", "name": name, "role": fields["role"], "authority": by}).result
        result = self.authority.command_registry({"kind": "remove_person", "name": name, "authority": by}).result
        self.sign_ins.close_of(name)
        return result

    def listed(self) -> list[dict]:
        """Everybody, as the page shows them: no hash of anything."""
        at = self.authority.now()
        rows = []
        for each in self.authority.registry.people.values():
            row = {name: each[name] for name in ("name", "role", "addedAt", "by", "setAt") if name in each}
            row["state"] = person_state(each, at)
            if row["state"] != "active":
                row["expiresAt"] = each["invitation"]["expiresAt"]
            rows.append(row)
        return rows


def _typed(name: str) -> str:
    """A name as it is kept, however the keyboard composes its letters."""
    return unicodedata.normalize("NFC", name).strip()


def _same(given: str, kept: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), kept.encode("utf-8", "replace"))
