# SPDX-License-Identifier: GPL-2.0-or-later
"""One run of QEMU for tools/vm/run: starts it, carries the command's streams while it runs, and always ends it.

Everything the machine needs is passed as file descriptors, so there is nothing to remove afterwards, and QEMU is killed
by the kernel should this process disappear.
"""
import errno
import fcntl
import os
import selectors
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import tty as terminal

TIME_OVER = 124
MACHINE_FAILED = 125
CONSOLE_KEPT = 256 * 1024  # bytes of console noise kept for the log of a failed run
TROUBLE = (b"BUG:", b"WARNING:", b"Call Trace:", b"Out of memory")  # on the console: worth a log when the command failed
QUIT_KEY = 0x1D            # Ctrl-], three times in a row


class Stop(Exception):
    """Ends the run early with a status and perhaps a message."""

    def __init__(self, status, message=""):
        super().__init__(message)
        self.status = status
        self.message = message


def archive(files, directory):
    """A cpio archive (newc: Documentation/driver-api/early-userspace/buffer-format.rst) of text files in a directory."""
    def entry(name, mode, data):
        encoded = os.fsencode(name) + b"\0"
        fields = [0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0]
        header = b"070701" + b"".join(b"%08X" % field for field in fields)
        head = header + encoded
        return head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4)

    parts = [entry(directory, 0o40755, b"")]
    parts += [entry(f"{directory}/{name}", 0o100644, os.fsencode(text)) for name, text in files.items()]
    return b"".join(parts) + entry("TRAILER!!!", 0, b"")


def write_all(descriptor, data):
    while data:
        data = data[os.write(descriptor, data):]


class Machine:
    """A machine that boots with the given QEMU command line and runs the job in the given files."""

    def __init__(self, command, initramfs, job):
        self.command = command
        self.initramfs = initramfs
        self.job = job
        self.console = bytearray()
        self.received = {"out": 0, "err": 0}
        self.report = None
        self.ready = False
        self.tty = False
        self.verbose = False
        self.quit_keys = 0
        self.process = None
        self.ports = {}
        self.control_text = b""

    def start(self):
        """Starts QEMU with the ports of init: out, err, control, and the console."""
        image = os.memfd_create("initramfs")
        with open(self.initramfs, "rb") as file, os.fdopen(os.dup(image), "wb") as memory:
            shutil.copyfileobj(file, memory)
            memory.write(b"\0" * (-memory.tell() % 4))
            memory.write(archive(self.job, "job"))
        command = [*self.command, "-initrd", f"/dev/fd/{image}", "-device", "virtio-serial-pci"]
        passed = [image]
        theirs = []
        for number, name in enumerate(["console", "out", "err", "control"]):
            ours, other = socket.socketpair()
            self.ports[name] = ours
            theirs.append(other)
            passed.append(other.fileno())
            command += ["-chardev", f"socket,id={name},fd={other.fileno()}"]
            if name == "console":
                command += ["-serial", f"chardev:{name}"]
            else:
                command += ["-device", f"virtserialport,nr={number},chardev={name}"]
        # Its own session: a Ctrl-C at the terminal reaches this process, which then ends the machine.
        self.process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *command], stdin=subprocess.DEVNULL,
                                        stdout=theirs[0], stderr=theirs[0], pass_fds=passed, start_new_session=True)
        os.close(image)
        for other in theirs:
            other.close()

    def end(self):
        """Kills QEMU, keeps what was left on the console, and closes the ports."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None
        console = self.ports.get("console")
        if console is not None:
            console.setblocking(False)
            try:
                while data := console.recv(65536):
                    self.keep(data)
            except OSError:
                pass
        for port in self.ports.values():
            port.close()
        self.ports = {}

    def keep(self, data):
        self.console += data
        del self.console[:-CONSOLE_KEPT]
        if self.verbose:
            write_all(2, data)

    def handle_control(self, data):
        self.control_text += data
        *lines, self.control_text = self.control_text.split(b"\n")
        for line in lines:
            words = line.split()
            if words == [b"ready"]:
                self.ready = True
            elif len(words) == 4 and words[0] == b"exit" and all(word.isdigit() for word in words[1:]):
                self.report = tuple(map(int, words[1:]))

    def handle(self, name):
        """Passes on what a port has; False when the machine has closed it."""
        try:
            data = self.ports[name].recv(65536)
        except ConnectionResetError:
            data = b""
        if not data:
            return False
        if name == "console":
            self.keep(data)
        elif name == "control":
            self.handle_control(data)
        else:
            self.received[name] += len(data)
            try:
                write_all(1 if name == "out" else 2, data)
            except OSError as error:
                if error.errno != errno.EPIPE:
                    raise Stop(MACHINE_FAILED, f"cannot write the command's output: {error.strerror}") from error
                raise Stop(128 + signal.SIGPIPE) from error
        return True

    def handle_keys(self):
        data = os.read(0, 4096)
        for key in data:
            self.quit_keys = self.quit_keys + 1 if key == QUIT_KEY else 0
            if self.quit_keys == 3:
                raise Stop(128 + signal.SIGTERM, "ended by Ctrl-]")
        self.ports["out"].sendall(data)
        return bool(data)

    def complete(self):
        return self.report is not None and self.report[1:] == (self.received["out"], self.received["err"])

    def loop(self, until):
        """Carries the streams until the condition holds or the machine is gone."""
        with selectors.DefaultSelector() as selector:
            for name, port in self.ports.items():
                selector.register(port, selectors.EVENT_READ, name)
            if self.tty:
                selector.register(0, selectors.EVENT_READ, "keys")
            while not until():
                for key, _ in selector.select():
                    alive = self.handle_keys() if key.data == "keys" else self.handle(key.data)
                    if not alive:
                        selector.unregister(key.fileobj)
                        if key.data == "control" and not until():
                            return

    def send_size(self):
        """Tells the machine the size of this terminal."""
        rows, columns = struct.unpack("HHHH", fcntl.ioctl(1, termios.TIOCGWINSZ, b"\0" * 8))[:2]
        self.ports["control"].sendall(b"size %d %d\n" % (rows, columns))

    def boots_within(self, seconds):
        """Whether the machine reaches the command in that time."""
        def over(_number, _frame):
            raise Stop(TIME_OVER)

        def interrupted(number, _frame):
            raise SystemExit(128 + number)

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, interrupted)
        signal.signal(signal.SIGALRM, over)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            self.start()
            self.loop(lambda: self.ready)
            return self.ready
        except Stop:
            return False
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            self.end()

    def write_log(self):
        """Keeps the console of a failed run in a file and returns how to speak of it."""
        if not self.console:
            return "nothing on its console (-v shows more)"
        with tempfile.NamedTemporaryFile(prefix="bondtrace-vm-", suffix=".log", delete=False) as file:
            file.write(self.console)
        return f"console: {file.name}"

    def run(self, timeout, tty, verbose):
        """Runs the job to its end and returns the exit status for this process."""
        self.tty = tty
        self.verbose = verbose
        began = time.monotonic()

        def interrupted(number, _frame):
            if number == signal.SIGALRM:
                where = "" if self.ready else " while still booting"
                raise Stop(TIME_OVER, f"time over: ended after {timeout} s{where} (--timeout)")
            raise Stop(128 + number)

        caught = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)
        for number in caught:
            signal.signal(number, interrupted)
        signal.setitimer(signal.ITIMER_REAL, timeout)
        saved = termios.tcgetattr(0) if tty else None
        log = False
        try:
            self.start()
            if tty:
                terminal.setraw(0)
                signal.signal(signal.SIGWINCH, lambda _number, _frame: self.send_size())
                self.send_size()
            self.loop(self.complete)
            if not self.complete():
                log = True
                state = "the command ran" if self.ready else "booting"
                raise Stop(MACHINE_FAILED, f"the machine ended while {state}, without an exit status, "
                                           f"after {time.monotonic() - began:.1f} s")
            status, message = self.report[0], ""
            if status and any(word in self.console for word in TROUBLE):
                log, message = True, "the kernel complained while the command ran"
        except Stop as stop:
            status, message = stop.status, stop.message
            log = log or status == TIME_OVER
        finally:
            for number in caught:
                signal.signal(number, signal.SIG_IGN)
            if tty:
                signal.signal(signal.SIGWINCH, signal.SIG_IGN)
                termios.tcsetattr(0, termios.TCSADRAIN, saved)
            self.end()
        if message:
            print(f"tools/vm/run: {message}{'; ' + self.write_log() if log else ''}", file=sys.stderr)
        return status
