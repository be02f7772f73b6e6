"""pytest plugin for nbval: a kernel that dies before its first answer is started once more.

jupyter_client finds a kernel's ports, lets go of them and hands the kernel their numbers. On a busy machine
another process may take one in the seconds until the kernel binds it, and the kernel ends (jupyter_client,
issue 487). nbval throws away what the kernel said: here it becomes a warning, and the start is tried again.
"""

import tempfile
import warnings

import nbval.kernel

_start = nbval.kernel.start_new_kernel


def start_new_kernel(startup_timeout=60, kernel_name="python", *, stderr=None, **options):
    """Start a kernel and return its manager and its client, like nbval; RuntimeError if it dies twice."""
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        try:
            return _start(startup_timeout, kernel_name, stderr=said, **options)
        except RuntimeError as error:
            said.seek(0)
            last = (said.read().strip() or "the kernel said nothing").splitlines()[-1]
            warnings.warn(f"{error}: {last}; the kernel is started once more", stacklevel=1)
    return _start(startup_timeout, kernel_name, stderr=stderr, **options)


nbval.kernel.start_new_kernel = start_new_kernel
