"""What is no JSON, no text, no file, or too much of it: still one line, in bounded time, without a crash."""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bad_input import VALID, outcome, refusal, refusal_of, with_key, with_text
from cassini_core.errors import InputError
from cassini_core.problem_file import decoding, load_problem, problem_from_json
from work import works_less_than

DATA = Path(__file__).parents[1] / "data"
MIB = 2**20

# --- not JSON, not UTF-8, not a file ---

TEXT = json.dumps(VALID, indent=1)
NOT_JSON = {
    "empty": (b"", "expected a JSON object, got an empty file"),
    "blank": (b" \n\t\r\n", "expected a JSON object, got an empty file"),
    "words": (b"hello", "line 1 column 1: expected JSON, got 'hello' (expecting value)"),
    "yaml": (b"format: cassini-problem/1\n", "line 1 column 1: expected JSON, got 'format: cassini-prob'"),
    "python": (TEXT.replace('"', "'").encode(), "line 2 column 2: expected JSON, got \"'format'"),
    "comment": (b"{\n// no\n}", "line 2 column 1: expected JSON, got '// no\\n}'"),
    "trailing-comma": (TEXT.replace("45\n", "45,\n", 1).encode(), "expected JSON, got "),
    "two-values": (TEXT.encode() + b"{}", f"line {TEXT.count(chr(10)) + 1} column 2: expected JSON, got '{{}}' (extra"),
    "nul": (TEXT.encode() + b"\0", "expected JSON, got '\\x00' (extra data)"),
    "control-character": (TEXT.replace('"up"', '"u\np"').encode(), "expected JSON, got '\\np\""),
    "leading-zero": (TEXT.replace("255", "0255", 1).encode(), "expected JSON, got '255"),
    "bare-point": (TEXT.replace("255", ".5", 1).encode(), "expected JSON, got '.5"),
    "hex": (TEXT.replace("255", "0xff", 1).encode(), "expected JSON, got 'xff"),
    "cut-short": (TEXT[:-1].encode(), "expected JSON, got the end of the file"),
    "bom": (b"\xef\xbb\xbf" + TEXT.encode(), "expected JSON that begins with '{', got a byte order mark"),
    "bom-alone": (b"\xef\xbb\xbf", "expected JSON that begins with '{', got a byte order mark"),
    "utf-16": (TEXT.encode("utf-16"), "byte 0: expected UTF-8, got the byte 0xff"),
    "utf-16-without-mark": (TEXT.encode("utf-16-le"), "line 1 column 2: expected JSON, got '\\x00"),
    "latin-1": (TEXT.replace('"up"', '"über"').encode("latin-1"), "expected UTF-8, got the byte 0xfc"),
    "encoded-half-character": (TEXT.replace('"up"', '"\ud800"').encode("utf-8", "surrogatepass"), "got the byte 0xed"),
    "overlong": (TEXT.encode().replace(b'"up"', b'"\xc0\xaf"'), "expected UTF-8, got the byte 0xc0"),
    "gzip": (b"\x1f\x8b\x08\x00" + bytes(20), "byte 1: expected UTF-8, got the byte 0x8b"),
    "null": (b"null", "$: expected an object, got null"),
    "array": (b"[]", "$: expected an object, got an array"),
    "array-of-the-problem": (b"[" + TEXT.encode() + b"]", "$: expected an object, got an array"),
    "nan": (b"NaN", "$: expected an object, got NaN"),
    "number": (b"1e999", "$: expected an object, got 1e999"),
}


@pytest.mark.parametrize("case", NOT_JSON)
def test_what_is_not_json_or_no_object(tmp_path, case):
    content, expected = NOT_JSON[case]
    assert expected in refusal(tmp_path, content)


NESTED = {
    "brackets": b"[" * 100_000,
    "balanced": b"[" * 100_000 + b"]" * 100_000,
    "objects": b'{"a":' * 100_000,
    "objects-balanced": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "in-jobs": with_text(("jobs",), "[" * 100_000 + "]" * 100_000),
    "in-phases": with_text(("jobs", 0, "phases"), "[" * 100_000 + "]" * 100_000),
    "in-a-number": with_text(("jobs", 0, "iteration_ms"), '{"a":' * 100_000 + "1" + "}" * 100_000),
    "in-a-route": with_text(("candidates", 0, "routes", "a"), "[" * 100_000 + "]" * 100_000),
    "in-an-unknown-key": with_text(("more",), "[" * 100_000 + "]" * 100_000),
    "just-readable": with_text(("candidates", 0, "routes", "a"), "[" * 300 + "]" * 300),
}


@pytest.mark.parametrize("case", NESTED)
def test_nested_brackets(tmp_path, case):
    before = sys.getrecursionlimit()
    message = refusal(tmp_path, NESTED[case])
    assert "nested too deep" in message or ("got an array" in message and case == "just-readable")
    assert sys.getrecursionlimit() == before


def lots(piece: bytes) -> bytes:
    return piece * (50 * MIB // len(piece))


GARBAGE = {
    "random": lambda: random.Random(1).randbytes(50 * MIB),
    "brackets": lambda: lots(b"["),
    "objects": lambda: lots(b'{"a":'),
    "long-string-for-a-number": lambda: with_text(("jobs", 1, "iteration_ms"), '"' + "7" * (50 * MIB) + '"'),
    "long-key": lambda: with_key((), "x" * (50 * MIB)),
}
MORE_GARBAGE = {
    "random-ascii": lambda: bytes(32 + byte % 95 for byte in random.Random(1).randbytes(MIB)) * 50,
    "zeros": lambda: bytes(50 * MIB),
    "blanks": lambda: lots(b" "),
    "lines": lambda: lots(b"\n") + b"x",
    "quotes": lambda: lots(b'"'),
    "commas": lambda: b"[" + lots(b","),
    "digits": lambda: lots(b"7"),
    "long-format": lambda: with_text(("format",), '"' + "x" * (50 * MIB) + '"'),
    "long-id": lambda: with_text(("jobs", 1, "id"), '"' + "x" * (50 * MIB) + '"'),
    "long-number": lambda: with_text(("jobs", 1, "iteration_ms"), "7" * (50 * MIB)),
    "long-array-for-a-string": lambda: with_text(("jobs", 1, "id"), "[" + "1," * (25 * MIB) + "1]"),
    "many-nulls": lambda: with_text(("candidates", 0, "routes", "a"), "[" + "null," * (10 * MIB) + "null]"),
}


@pytest.mark.parametrize("case", [*GARBAGE, *(pytest.param(case, marks=pytest.mark.slow) for case in MORE_GARBAGE)])
def test_fifty_megabytes_of_garbage(tmp_path, case):
    content = (GARBAGE | MORE_GARBAGE)[case]()
    assert len(content) >= 50 * MIB - 8
    with works_less_than(20.0):
        refusal(tmp_path, content)


def test_every_cut_of_a_file_is_refused(tmp_path):
    content = (DATA / "two-jobs.json").read_bytes().rstrip()
    for end in range(len(content)):
        with pytest.raises(InputError, match=r"got the end of the file|got an empty file|unterminated string"):
            problem_from_json(content[:end])


@given(st.data())
def test_damaged_bytes_are_a_problem_or_one_line(data):
    content = bytearray((DATA / "tree.json").read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        where = data.draw(st.integers(0, len(content) - 1))
        length = data.draw(st.integers(0, 8))
        content[where : where + length] = data.draw(st.binary(max_size=4) | st.sampled_from([b'"', b"{", b"]", b"-"]))
    outcome(bytes(content))


# --- files ---


def test_a_directory(tmp_path):
    assert refusal_of(tmp_path) == "expected a readable file, got the error 'Is a directory'"


def test_a_missing_file(tmp_path):
    expected = "expected a readable file, got the error 'No such file or directory'"
    assert refusal_of(tmp_path / "none.json") == expected
    assert refusal_of(str(tmp_path / "none.json")) == expected


def test_a_file_below_a_file(tmp_path):
    (tmp_path / "x").touch()
    assert refusal_of(tmp_path / "x" / "y") == "expected a readable file, got the error 'Not a directory'"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(tmp_path):
    path = tmp_path / "secret.json"
    path.touch(mode=0)
    assert refusal_of(path) == "expected a readable file, got the error 'Permission denied'"


def test_dev_null():
    assert refusal_of("/dev/null") == "expected a JSON object, got an empty file"


def test_a_stream_without_end_is_cut_off(monkeypatch):
    monkeypatch.setattr(decoding, "MAX_FILE_BYTES", 10 * MIB)
    assert refusal_of("/dev/zero") == f"expected at most {10 * MIB} bytes, got more"


def test_the_largest_file_is_still_read(tmp_path, monkeypatch):
    content = json.dumps(VALID).encode()
    path = tmp_path / "in.json"
    path.write_bytes(content)
    monkeypatch.setattr(decoding, "MAX_FILE_BYTES", len(content))
    assert load_problem(path) == problem_from_json(content)
    monkeypatch.setattr(decoding, "MAX_FILE_BYTES", len(content) - 1)
    assert refusal_of(path) == f"expected at most {len(content) - 1} bytes, got more"


@pytest.mark.parametrize("name", ["a\nb.json", "\x1b[31m.json", b"\xff.json", "x" * 5000, "a\0b"])
def test_odd_file_names(tmp_path, name):
    path = os.path.join(os.fsencode(tmp_path), name if isinstance(name, bytes) else name.encode())
    refusal_of(path)
