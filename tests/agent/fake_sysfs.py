"""A tree like sysfs that a test may change under the reader's hands, and devices that vanish under open descriptors."""

from __future__ import annotations

import errno
import os
from pathlib import Path


class FakePort:
    """``/sys/class/infiniband/NAME/ports/1`` below a root of the test's.

    Files here stay readable after they are removed, while sysfs answers ENODEV; so readers get :meth:`pread`, which
    does as sysfs does.
    """

    def __init__(self, root: Path, device: str = "mlx5_0", rate: str = "100 Gb/sec (4X EDR)") -> None:
        self.root = root
        self.device = device
        self.folder = root / "sys/class/infiniband" / device / "ports/1"
        self.failing: int | None = None
        self._sent: int | None = None
        self.write("state", "4: ACTIVE")
        self.write("link_layer", "InfiniBand")
        self.write("rate", rate)
        self.data(0)

    def write(self, place: str, text: object) -> None:
        """Show ``text`` in a file, by overwriting it: an open descriptor sees it, as with sysfs."""
        path = self.folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")

    def data(self, sent: object, received: object = 0) -> None:
        """What the data counters show, 4-byte words."""
        self.write("counters/port_xmit_data", sent)
        self.write("counters/port_rcv_data", received)

    def sent(self, words: int) -> None:
        """Only ``port_xmit_data``, by the shortest way; for long plays."""
        if self._sent is None:
            self._sent = os.open(self.folder / "counters/port_xmit_data", os.O_WRONLY)
        # Padded, so that no digit of a longer number before it is left.
        os.pwrite(self._sent, f"{words:<20}\n".encode(), 0)

    def unplug(self) -> None:
        """The device goes: its files are no longer there, and open ones fail."""
        self.failing = errno.ENODEV
        self.folder.parent.parent.rename(self.root / "gone")

    def plug(self) -> None:
        """It comes back; what was opened before keeps failing until it is opened anew."""
        (self.root / "gone").rename(self.folder.parent.parent)
        # A new inode for each file, as a new device has.
        for path in list(self.folder.rglob("*")):
            if path.is_file():
                text = path.read_text()
                path.unlink()
                path.write_text(text)
        self.failing = None

    def pread(self, descriptor: int, size: int, offset: int) -> bytes:
        """As ``os.pread`` of sysfs."""
        if self.failing is not None or os.fstat(descriptor).st_nlink == 0:
            raise OSError(self.failing or errno.ENODEV, os.strerror(self.failing or errno.ENODEV))
        return os.pread(descriptor, size, offset)
