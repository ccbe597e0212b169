"""A Windows Job Object around one command: what it starts belongs to it, is counted with it and ends with it.

Elsewhere process groups and the table of parents do this, and nothing here does anything.
"""

from __future__ import annotations

import ctypes
import sys

_KILL_ON_CLOSE, _PROCESSES_LIMITED, _DIES_WITHOUT_A_DIALOG = 0x2000, 0x8, 0x400
_EXTENDED_LIMITS = 9             # the information class
_ENDED_BY_US = 1


class _Limits(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION."""

    _fields_ = [
        ("process_time", ctypes.c_int64), ("job_time", ctypes.c_int64), ("flags", ctypes.c_uint32),
        ("set_min", ctypes.c_size_t), ("set_max", ctypes.c_size_t), ("processes_max", ctypes.c_uint32),
        ("affinity", ctypes.c_size_t), ("priority", ctypes.c_uint32), ("scheduling", ctypes.c_uint32),
        ("io", ctypes.c_uint64 * 6), ("memory", ctypes.c_size_t * 4),
    ]  # fmt: skip


class Job:
    """One Job Object. Closing it ends whoever is left in it."""

    def __init__(self, kernel: ctypes.CDLL, handle: int) -> None:
        self._kernel, self._handle = kernel, handle

    @classmethod
    def around(cls, process_handle: int, processes_max: int | None) -> Job | None:
        """A Job that holds this process and what it starts from now on; None off Windows, or where none can be made."""
        if sys.platform != "win32":
            return None
        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        kernel.CreateJobObjectW.restype = ctypes.c_void_p
        kernel.CreateJobObjectW.argtypes = [ctypes.c_void_p, ctypes.c_wchar_p]
        kernel.SetInformationJobObject.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32]
        kernel.AssignProcessToJobObject.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        kernel.TerminateJobObject.argtypes = [ctypes.c_void_p, ctypes.c_uint32]
        kernel.CloseHandle.argtypes = [ctypes.c_void_p]
        handle = kernel.CreateJobObjectW(None, None)
        if not handle:
            return None
        limits = _Limits(flags=_KILL_ON_CLOSE | _DIES_WITHOUT_A_DIALOG | (_PROCESSES_LIMITED if processes_max else 0), processes_max=processes_max or 0)
        job = cls(kernel, handle)
        if kernel.SetInformationJobObject(handle, _EXTENDED_LIMITS, ctypes.byref(limits), ctypes.sizeof(limits)) \
                and kernel.AssignProcessToJobObject(handle, process_handle):
            return job
        job.close()                      # it holds nobody: its command is ended by its tree
        return None

    def end(self) -> None:
        """End everything in it, now."""
        self._kernel.TerminateJobObject(self._handle, _ENDED_BY_US)

    def close(self) -> None:
        self._kernel.CloseHandle(self._handle)
