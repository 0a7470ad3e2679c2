"""What libcassini asks of the system: a host can see from outside what it will not do."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pytest

from cassini_core import native

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads an ELF file"),
    pytest.mark.skipif(shutil.which("nm") is None, reason="needs nm"),
    pytest.mark.unsanitized(reason="the runtime of a sanitizer prints and aborts"),
]

NEVER = {
    "writes": r"printf|put[cs]|putchar|perror|f?write|f?open|syslog|cout|cerr|clog|[io]stream|streambuf",
    "ends the process": r"_?exit|_Exit|quick_exit|abort|terminate|raise|kill|__assert|__glibcxx_assert|longjmp",
    "starts something": r"pthread_create|std::thread|fork|v?fork|clone|exec|system|popen",
    "changes the host": r"signal|sigaction|sigprocmask|alarm|setlocale|setenv|putenv|chdir|umask|setrlimit|srand",
    "asks its surroundings": r"getenv|random_device|gettimeofday|system_clock|localtime|\brand\b|socket|connect",
}


def asked_for() -> list[str]:
    command = ["nm", "-D", "-C", "--undefined-only", str(native.library())]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [re.sub(r"^[0-9a-f]* *\w ", "", line.strip()).split("@")[0] for line in lines]


@pytest.mark.parametrize("what", NEVER)
def test_the_kernel_asks_for_nothing_that(what: str) -> None:
    asked = asked_for()
    assert "malloc" in asked
    assert [name for name in asked if re.search(rf"(^|[^a-z])({NEVER[what]})", name)] == []


@pytest.mark.parametrize(
    ("what", "name"), [("writes", "std::cout"), ("writes", "fprintf"), ("ends the process", "abort")]
)
def test_what_is_never_asked_for_would_be_seen(what: str, name: str) -> None:
    assert re.search(rf"(^|[^a-z])({NEVER[what]})", name)
