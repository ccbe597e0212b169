"""Which process a pid means: stamps, and the proof that a stamped process is gone.

A pid alone proves nothing, because it is used again. A stamp adds what no later process
shares: the boot, the start tick, the writer's session. Doubt always counts as running.

Units   uptime is seconds on the monotonic clock; startTicks is field 22 of /proc/<pid>/stat,
        on Windows the creation time; both as text
Source  the workbench surface, "proven gone"
"""

from __future__ import annotations

import os
import sys

from rulith.base.clock import SystemClock, stamp
from rulith.base.ids import mint_uuid

SESSION = mint_uuid()               # of this process; tells it from an earlier one with its pid
UPTIME_MARGIN_S = 600.0 if sys.platform == "darwin" else 60.0    # macOS stops the counter in sleep


def _read_text(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(4096).decode("latin-1")
    except OSError:
        return ""


def boot_id() -> str:
    """This boot's id on Linux, else empty."""
    return _read_text("/proc/sys/kernel/random/boot_id").strip()


def _stat_fields(pid: int) -> list[str]:
    """The fields of /proc/<pid>/stat after the command, whose name may hold blanks and brackets."""
    return _read_text(f"/proc/{pid}/stat").rpartition(")")[2].split()


def start_ticks(pid: int) -> str:
    """When `pid` started, as text that only compares for equality; empty when it cannot be told."""
    if sys.platform == "win32":
        return _windows_creation(pid)
    fields = _stat_fields(pid)
    return fields[19] if len(fields) > 19 else ""


def is_running(pid: int) -> bool:
    """Whether some process has this pid. An exited one that nobody has waited for does not run."""
    if pid <= 0:
        return False
    if sys.platform == "win32":
        return _windows_creation(pid) != ""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    except OverflowError:
        return False
    fields = _stat_fields(pid)
    return not (fields and fields[0] in ("Z", "X"))


def process_stamp(pid: int | None = None) -> dict[str, object]:
    """The stamp of `pid` (this process when None), ready to be written beside the pid."""
    clock = SystemClock()
    made: dict[str, object] = {
        "startedAt": stamp(clock.wall_s()),
        "uptime": round(clock.monotonic_s(), 3),
        "session": SESSION,
    }
    boot, ticks = boot_id(), start_ticks(os.getpid() if pid is None else pid)
    if boot:
        made["bootId"] = boot
    if ticks:
        made["startTicks"] = ticks
    return made


def is_proven_gone(pid: object, record: dict[str, object]) -> bool:
    """Whether the process that wrote `record` with `pid` certainly runs no more."""
    if not isinstance(pid, int) or isinstance(pid, bool):
        return False
    if not is_running(pid):
        return True
    if pid == os.getpid() and record.get("session", SESSION) != SESSION:
        return True
    boot = boot_id()
    if boot and isinstance(record.get("bootId"), str) and record["bootId"] != boot:
        return True
    uptime = record.get("uptime")
    if not boot and isinstance(uptime, (int, float)) and uptime > SystemClock().monotonic_s() + UPTIME_MARGIN_S:
        return True
    ticks = start_ticks(pid)
    return bool(ticks) and isinstance(record.get("startTicks"), str) and record["startTicks"] != ticks


def _windows_creation(pid: int) -> str:
    """The creation time of a running process, empty when there is none; "?" when we may not look."""
    import ctypes
    from ctypes import wintypes

    kernel = ctypes.WinDLL("kernel32", use_last_error=True)  # type: ignore[attr-defined]
    kernel.OpenProcess.restype = wintypes.HANDLE
    handle = kernel.OpenProcess(0x1000, False, pid)          # PROCESS_QUERY_LIMITED_INFORMATION
    if not handle:
        return "?" if ctypes.get_last_error() == 5 else ""   # type: ignore[attr-defined]  # access denied: it runs
    try:
        code = wintypes.DWORD()
        if kernel.GetExitCodeProcess(wintypes.HANDLE(handle), ctypes.byref(code)) and code.value != 259:
            return ""                                        # 259: still active
        times = [wintypes.FILETIME() for _ in range(4)]
        if not kernel.GetProcessTimes(wintypes.HANDLE(handle), *map(ctypes.byref, times)):
            return "?"
        return str(times[0].dwHighDateTime << 32 | times[0].dwLowDateTime)
    finally:
        kernel.CloseHandle(wintypes.HANDLE(handle))
