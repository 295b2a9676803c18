"""Zip files of stored records: a file goes in, and its records by name come out, each read when it is asked for."""

from __future__ import annotations

import mmap
import os
import struct
import zipfile
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from .structure import Damaged

ALIGNMENT = 64
"""At which multiples of bytes records begin, so that they can be used where they lie in a mapped file."""
START = b"PK\x03\x04"
HEADER = 30
"""The length of what stands before a record: the name and further fields follow it."""
EXTRA = 20
"""What a record of more than 2 GiB has more there."""
RESAVE = "with torch, load it and save it again"


class Archive:
    """The records of a zip file. They are not packed, nowhere overlap and are together no longer than the file.

    `mapped` maps the file into memory instead of reading it; what is written there stays in this process.
    """

    def __init__(self, file: Any, mapped: bool = False) -> None:
        self.file, self.size = file, file.seek(0, os.SEEK_END)
        self.left = self.size
        try:
            entries = zipfile.ZipFile(file).infolist()
        except (MemoryError, KeyboardInterrupt):
            raise
        except Exception as error:  # zipfile has no list of what it raises for a damaged directory
            raise Damaged(f"it is no intact zip file ({error})") from None
        self.entries = {entry.filename: entry for entry in entries}
        roots = [name.removesuffix("data.pkl") for name in self.entries if name.endswith("/data.pkl")]
        if len(roots) != 1:
            raise Damaged(f"it is a zip file with {len(roots) or 'no'} record{'s' * (len(roots) > 1)} 'data.pkl'")
        self.root = roots[0]
        self.map = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY), np.uint8) if mapped else None

    def __contains__(self, name: str) -> bool:
        return self.root + name in self.entries

    def read(self, name: str) -> bytes:
        """A small record as it is."""
        made = np.empty(self._size_of(name), np.uint8)
        self._fill(name, made)
        return made.tobytes()

    def array(self, name: str, dtype: np.dtype[Any], count: int) -> np.ndarray:
        """A record as the elements of an array of its own, or of one in the mapped file."""
        size = self._size_of(name)
        if size != count * dtype.itemsize:
            raise Damaged(f"its record {name[:80]!r} has {size:,} bytes for {count:,} elements of {dtype}")
        if self.map is not None and size:
            start = self._start(name, size)
            if start % dtype.itemsize == 0:
                return self.map[start : start + size].view(dtype)
        made = np.empty(count, dtype)
        self._fill(name, made.view(np.uint8))
        return made

    def _size_of(self, name: str) -> int:
        entry = self.entries.get(self.root + name)
        if entry is None:
            raise Damaged(f"it has no record {name[:80]!r}")
        if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1:
            raise Damaged(f"its record {name[:80]!r} is packed or encrypted; {RESAVE}")
        size = entry.file_size
        self.left -= size
        if self.left < 0 or entry.compress_size != size:
            raise Damaged(f"its records claim more bytes than the {self.size:,} that it has")
        return size

    def _start(self, name: str, size: int) -> int:
        """Where the record's bytes begin; its name stands in front of them again."""
        entry = self.entries[self.root + name]
        self.file.seek(max(entry.header_offset, 0))
        head = self.file.read(HEADER)
        if len(head) == HEADER and head.startswith(START):
            long, more = struct.unpack("<HH", head[26:])
            again = self.file.read(long)
            start = entry.header_offset + HEADER + long + more
            same = again == entry.orig_filename.encode("utf-8", "surrogatepass")
            if same and entry.header_offset >= 0 and start + size <= self.size:
                return start
        raise Damaged(f"its record {name[:80]!r} is not where its directory says")

    def _fill(self, name: str, made: np.ndarray) -> None:
        self.file.seek(self._start(name, made.size))
        expected = self.entries[self.root + name].CRC
        if made.size and self.file.readinto(made.data) != made.size:
            raise Damaged(f"its record {name[:80]!r} ends too early")
        if expected and zlib.crc32(made.data if made.size else b"") != expected:  # 0 where torch made none
            raise Damaged(f"its record {name[:80]!r} has other bytes than were written (the checksum differs)")


class _Stream:
    """A file that is written from the beginning to the end, as pipes and packed files must be."""

    def __init__(self, file: Any) -> None:
        self.write, self.flush = file.write, getattr(file, "flush", lambda: None)


def write(file: Any, records: Iterable[tuple[str, Any]]) -> None:
    """Write records, (name, bytes or array) each, so that equal ones give equal files."""
    with zipfile.ZipFile(_Stream(file), "w", zipfile.ZIP_STORED) as made:  # type: ignore[arg-type]
        for name, data in records:
            view = data if isinstance(data, bytes) else data.reshape(-1).view(np.uint8).data if data.size else b""
            entry = zipfile.ZipInfo(f"archive/{name}")
            entry.file_size = len(view)
            with_name = made.start_dir + HEADER + len(entry.filename.encode())
            with_name += EXTRA * (len(view) * 1.05 > zipfile.ZIP64_LIMIT)
            padding = -(with_name + 4) % ALIGNMENT
            entry.extra = struct.pack("<2sH", b"FB", padding) + bytes(padding)
            with made.open(entry, "w") as record:
                record.write(view)
