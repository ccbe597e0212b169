"""Windows Job Objects, played: what is asked of the system, and that a job that cannot be made leaves nothing open."""

import ctypes

import pytest

from rulith.procs import jobs

KILL_ON_CLOSE, PROCESSES = 0x2000, 0x8


class Call:
    def __init__(self, deed):
        self.deed = deed

    def __call__(self, *arguments):
        return self.deed(*arguments)


class Kernel:
    def __init__(self, assigns=1):
        self.said, self.limits = [], None
        self.CreateJobObjectW = Call(lambda *_: 77)
        self.SetInformationJobObject = Call(self._limits)
        self.AssignProcessToJobObject = Call(lambda job, process: self.said.append(("assign", job, process)) or assigns)
        self.TerminateJobObject = Call(lambda job, status: self.said.append(("end", job)))
        self.CloseHandle = Call(lambda job: self.said.append(("close", job)))

    def _limits(self, job, kind, place, size):
        self.limits = (kind, place._obj.flags, place._obj.processes_max, size)
        return 1


@pytest.fixture
def windows(monkeypatch):
    def make(**settings):
        kernel = Kernel(**settings)
        monkeypatch.setattr(jobs, "sys", type("Sys", (), {"platform": "win32"}))
        monkeypatch.setattr(jobs.ctypes, "WinDLL", lambda *_, **__: kernel, raising=False)
        return kernel

    return make


def test_a_job_holds_the_process_counts_and_ends_with_its_handle(windows):
    kernel = windows()
    job = jobs.Job.around(5, 512)
    kind, flags, processes, size = kernel.limits
    assert (kind, processes) == (9, 512) and flags & KILL_ON_CLOSE and flags & PROCESSES and not flags & 0x1800, "nothing may break away"
    assert size == (144 if ctypes.sizeof(ctypes.c_void_p) == 8 else 112)
    job.end()
    job.close()
    assert kernel.said == [("assign", 77, 5), ("end", 77), ("close", 77)]


def test_without_a_number_of_processes_none_is_set(windows):
    kernel = windows()
    jobs.Job.around(5, None)
    assert not kernel.limits[1] & PROCESSES and kernel.limits[2] == 0


def test_a_process_that_cannot_be_assigned_has_no_job_and_no_handle_is_left(windows):
    kernel = windows(assigns=0)
    assert jobs.Job.around(5, 512) is None and kernel.said[-1] == ("close", 77)


def test_elsewhere_there_is_no_job():
    assert jobs.sys.platform == "win32" or jobs.Job.around(5, 512) is None
