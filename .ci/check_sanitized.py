"""That the sanitizers find defects of the cassini_core that Python imports here: else a clean run says nothing.

    python .ci/check_sanitized.py FOLDER

``FOLDER`` is where the sanitized package was installed.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

PLANTED = "--read-beyond-the-end"


def compiled_files(package: Path) -> list[Path]:
    """The extension and the library it stands on."""
    return [*package.glob("kernel/_kernel*.so"), *package.glob("lib/libcassini.so")]


def read_beyond_the_end(library: Path) -> None:
    """Call the kernel as a careless host would: with memory for one job, and the claim that there are three."""
    libc, kernel = ctypes.CDLL(None), ctypes.CDLL(str(library))
    libc.malloc.restype = ctypes.c_void_p
    period = ctypes.cast(libc.malloc(ctypes.c_size_t(8)), ctypes.POINTER(ctypes.c_int64))
    period[0] = 1000
    capacity, job_offset, zeros = (ctypes.c_int64 * 1)(5), (ctypes.c_int64 * 2)(0, 3), (ctypes.c_int64 * 4)()
    # cassini_links, whose fields take 8 bytes each: with its size, one link, three jobs, no phases.
    arrays = [ctypes.addressof(each) for each in (capacity, job_offset, period.contents, zeros)]
    links = (ctypes.c_int64 * 11)(88, 1, *arrays[:2], 3, *arrays[2:], 0, *[arrays[3]] * 3)
    prepared, status = ctypes.c_void_p(), ctypes.c_int32()
    kernel.cassini_prepare_links(links, None, None, ctypes.byref(prepared), ctypes.byref(status), None)


def main() -> int:
    """0 if a planted defect is found, and both compiled files are watched."""
    import cassini_core

    package = Path(cassini_core.__file__).parent
    files = compiled_files(package)
    if sys.argv[1] == PLANTED:
        read_beyond_the_end(files[1])
        return 0
    if package.parent != Path(sys.argv[1]).resolve() or len(files) != 2:
        raise SystemExit(f"check_sanitized: imported {package} with {files}, not what lies in {sys.argv[1]}")
    for file in files:
        for wanted in (b"__asan_report_load", b"__ubsan_handle"):
            if wanted not in file.read_bytes():
                raise SystemExit(f"check_sanitized: {file} does not refer to {wanted.decode()}")
    found = subprocess.run([sys.executable, __file__, PLANTED], capture_output=True, text=True, check=False)
    if found.returncode == 0 or "AddressSanitizer: heap-buffer-overflow" not in found.stderr:
        raise SystemExit(f"check_sanitized: a planted defect was not found:\n{found.stderr}")
    print(f"{package}: watched by the sanitizers")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
