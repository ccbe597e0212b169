"""`rulith.materials.read@1`: a submitted file becomes an object that is told by reference; its bytes stay here.

The Source must be the area of materials itself, no folder around it. What is kept here is
opened anew for every call, and every byte of it is checked before a reference is given.
Reading attests nothing.

Source  the Worker hop, §§12 and 15
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rulith.adapters.outcomes import Call, Failed, Outcome, Referred
from rulith.adapters.sources import Source
from rulith.base.errors import Refused
from rulith.disk.materials import SELECTOR, Belonging, Materials, Record, check_disclosure
from rulith.wire.artifacts import Held, encoding_of


@dataclass(frozen=True)
class Shelf:
    """Where this Worker keeps materials. `now` gives a stamp; the store is opened for each use.

    destination  where the profile's model is, as the host knows it; "" where it has none
    """

    root: Path
    belongs: Belonging
    now: Callable[[], str]
    destination: str = ""

    def is_its(self, source: Source, root: str) -> bool:
        """Whether this Source is the area of materials itself, no folder around it."""
        area = os.path.realpath(os.path.join(root, source.access)) if source.access and "\0" not in source.access else ""
        return os.path.normcase(area) == os.path.normcase(os.path.realpath(self.root))

    def open(self) -> Materials:
        """Raises Refused materials_store_…"""
        return Materials.open(self.root, self.belongs)

    def keep(self, media_type: str, data: bytes) -> Held:
        """Keep a result; the store is made when there is none. Raises Refused."""
        store = Materials.create(self.root, self.belongs, self.now())
        return held_record(store.keep(media_type, data, encoding_of(media_type, data), self.now()))

    def chunks(self, custody_id: str, first: int, digests: list[str], *, proxied: bool) -> list[bytes]:
        """Checked pieces of a kept object, the very ones that were registered.

        Raises Refused: material_not_found, material_bytes_unavailable, material_chunk_corrupt, material_digest_mismatch, material_local_only, materials_store_…
        """
        store = self.open()
        record = store.record(custody_id)
        if list(record.chunks[first:first + len(digests)]) != list(digests):
            raise Refused("material_digest_mismatch", id=custody_id)
        if proxied and record.local_only:
            raise Refused("material_local_only", id=custody_id)
        return [store.chunk(record, first + place) for place in range(len(digests))]

    def check_selected(self, material: Mapping[str, object]) -> None:
        """Whether a row's selected material is still the submitted file that was selected.

        Raises Refused: material_not_found, material_digest_mismatch, material_bytes_unavailable, materials_store_…
        """
        store = self.open()
        record = store.record(str(material["custodyId"]))
        if record.selector != material["selector"] or not store.is_submitted(record):
            raise Refused("material_not_found", id=str(material["selector"])[:80])
        if (record.digest, record.total_bytes) != (material["digest"], material["totalBytes"]):
            raise Refused("material_digest_mismatch", id=record.id)

    def check_disclosure(self, custody_id: str, destination: str, *, allowed: bool) -> None:
        """Raises Refused as disk.materials.check_disclosure."""
        check_disclosure(self.open().record(custody_id), destination, allowed=allowed)


def held_record(record: Record) -> Held:
    return Held(record.id, record.media_type, record.encoding, record.total_bytes, record.digest, record.chunks)


@dataclass(frozen=True)
class _Read:
    shelf: Shelf
    selector: str

    async def run(self) -> Outcome:
        return await asyncio.to_thread(self._read)

    def _read(self) -> Outcome:
        if not SELECTOR.fullmatch(self.selector):
            return Failed(Refused("material_not_found", id=self.selector[:80]).teaching)
        try:
            store = self.shelf.open()
            record = store.record(self.selector)
            if not store.is_submitted(record):
                raise Refused("material_not_found", id=record.id)
            store.check(record)
        except Refused as refused:
            return Failed(refused.teaching)
        except OSError as problem:
            return Failed(f"The store of materials cannot be read: {problem.strerror or 'the disk'}.")
        return Referred(held_record(record))


def compile_material(call: Call, shelf: Shelf | None, root: str) -> _Read:
    """Judge a call before its claim. Raises Refused adapter_refused."""
    if shelf is None:
        raise Refused("adapter_refused", tool=call.tool.id, problem="this Worker has no store of materials")
    assert call.source is not None
    if not shelf.is_its(call.source, root):
        raise Refused("adapter_refused", tool=call.tool.id, problem=f"the Source {call.source.name!r} is not the area of materials itself")
    return _Read(shelf, str(call.arguments["material"]))
