"""One side of a benchmark as a process that speaks lines.

It is told on its standard input, and answers each line with one line on its standard output that
begins with "@ok " and a JSON object, or with "@error " and a message. Before that it may say more,
in lines that begin with "@say "; they are shown at once. Other output is ignored.

    (start)        -> {"version": "..."}       once it is ready
    prepare CASE   -> {"note": "..."}          sets up and warms up; may take long
                      {"skip": "..."}          or takes no part in this case, and why
    check CASE     -> {"values": [...]}        results that all sides must agree on
    run CASE       -> {"seconds": S, "parts": {NAME: S}}   seconds for one unit of work
    drop CASE      -> {}                       frees what prepare made
    quit
"""

import json
import os
import selectors
import subprocess
import sys
import time


class WorkerError(Exception):
    pass


class Worker:
    def __init__(self, name, command, threads, cwd, log, variables):
        """`variables` are added to the environment."""
        self.name = name
        environment = {**os.environ, **variables}
        self._log = open(log, "wb")
        self._log_path = log
        self._process = subprocess.Popen(
            command + ["--threads", str(threads)], cwd=cwd, env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log)
        self._buffer = b""
        self.version = self._answer("start", 300).get("version", "")

    def ask(self, line, timeout=1200):
        try:
            self._process.stdin.write((line + "\n").encode())
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # _answer says how it ended
        return self._answer(line, timeout)

    def _answer(self, question, timeout):
        deadline = time.monotonic() + timeout
        output = self._process.stdout
        with selectors.DefaultSelector() as selector:
            selector.register(output, selectors.EVENT_READ)
            while True:
                while b"\n" in self._buffer:
                    line, self._buffer = self._buffer.split(b"\n", 1)
                    if line.startswith(b"@ok"):
                        return json.loads(line[3:] or b"{}")
                    if line.startswith(b"@say "):
                        print(line[5:].decode(errors="replace"), file=sys.stderr, flush=True)
                    if line.startswith(b"@error"):
                        raise WorkerError(f"{self.name}: {question}: "
                                          + line[6:].decode(errors="replace").strip())
                if not selector.select(max(0, deadline - time.monotonic())):
                    raise WorkerError(f"{self.name}: no answer to '{question}' in {timeout} s")
                chunk = os.read(output.fileno(), 1 << 16)
                if not chunk:
                    raise WorkerError(f"{self.name}: ended with {self._process.wait()} at "
                                      f"'{question}'\n{self._tail()}")
                self._buffer += chunk

    def _tail(self):
        self._log.flush()
        with open(self._log_path, errors="replace") as log:
            return "".join(log.readlines()[-15:])

    def close(self):
        if self._process.poll() is None:
            try:
                self._process.stdin.write(b"quit\n")
                self._process.stdin.close()
                self._process.wait(10)
            except (BrokenPipeError, subprocess.TimeoutExpired):
                self._process.kill()
                self._process.wait()
        self._process.stdout.close()
        self._log.close()
