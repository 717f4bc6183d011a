"""Job objects, for Windows only: this module cannot be imported on other systems."""

from __future__ import annotations

import ctypes
from contextlib import suppress

import pywintypes
import win32api
import win32con
import win32job

CREATE_SUSPENDED = 0x0000_0004
CREATE_NO_WINDOW = 0x0800_0000


class Job:
    """A job object with one process and its descendants. The process must have been started suspended."""

    def __init__(self, pid: int) -> None:
        """Create the job and resume the process.

        Raises:
            OSError: the system refuses; the process has not run.
        """
        try:
            self._handle = win32job.CreateJobObject(None, "")
            kind = win32job.JobObjectExtendedLimitInformation
            limits = win32job.QueryInformationJobObject(self._handle, kind)
            limits["BasicLimitInformation"]["LimitFlags"] = win32job.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
            win32job.SetInformationJobObject(self._handle, kind, limits)
            process = win32api.OpenProcess(win32con.PROCESS_ALL_ACCESS, False, pid)
            win32job.AssignProcessToJobObject(self._handle, process)
        except pywintypes.error as error:
            raise OSError(f"Windows cannot put the process into a job object ({error.strerror})") from error
        # NtResumeProcess resumes all threads. The documented function ResumeThread needs a thread handle, which
        # Python does not provide.
        if ctypes.CDLL("ntdll").NtResumeProcess(ctypes.c_void_p(int(process))):
            raise OSError("Windows cannot start the process")

    def pids(self) -> list[int]:
        found = win32job.QueryInformationJobObject(self._handle, win32job.JobObjectBasicProcessIdList)
        return sorted(map(int, found))

    def terminate(self) -> None:
        with suppress(pywintypes.error):
            win32job.TerminateJobObject(self._handle, 1)

    def close(self) -> None:
        """Close the job, which ends its processes."""
        self._handle.Close()
