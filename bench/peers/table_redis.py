"""Look-ups by a Redis server of its own: MGET over a Unix socket, keys and rows as bytes."""

import os
import re
import shutil
import socket
import subprocess
import tempfile
import time

import peer
import table_keys
from table_keys import np

options = peer.arguments("--rows")

WIDTH = 16
ROW_BYTES = 4 * WIDTH
ROWS = int(options.rows)
BYTES_A_ROW = 220  # of the server's memory, about
CHUNK = 20_000
BULK = np.dtype([("head", "S5"), ("value", f"V{ROW_BYTES}"), ("tail", "S2")])  # of an answer


class Server:
    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="catamaran-bench-redis-")
        path = os.path.join(self._folder.name, "socket")
        self._process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--appendonly",
             "no", "--disable-thp", "no", "--dir", self._folder.name],
            stdout=subprocess.DEVNULL)
        self.socket = socket.socket(socket.AF_UNIX)
        for _ in range(200):
            try:
                self.socket.connect(path)
                break
            except OSError:
                time.sleep(0.05)
        else:
            raise RuntimeError("redis-server does not answer")
        self._fill()

    def _fill(self):
        dtype = np.dtype([("k", "S4"), ("key", "V8"), ("v", "S7"), ("row", f"V{ROW_BYTES}"),
                          ("end", "S2")])
        for first in range(0, ROWS, CHUNK):
            ranks = np.arange(first, min(ROWS, first + CHUNK))
            pairs = np.zeros(len(ranks), dtype)
            pairs["k"], pairs["v"], pairs["end"] = b"$8\r\n", b"\r\n$64\r\n", b"\r\n"
            pairs["key"] = keys(ranks).view("V8")
            pairs["row"] = table_keys.values(ranks, WIDTH).view(f"V{ROW_BYTES}")[:, 0]
            self.socket.sendall(b"*%d\r\n$4\r\nMSET\r\n" % (2 * len(ranks) + 1) + pairs.tobytes())
            if self.receive(5) != b"+OK\r\n":
                raise RuntimeError("redis-server refused MSET")

    def receive(self, count):
        data = bytearray(count)
        view, at = memoryview(data), 0
        while at < count:
            got = self.socket.recv_into(view[at:])
            if got == 0:
                raise RuntimeError("redis-server closed the connection")
            at += got
        return data

    def get(self, count, request):
        """`count` rows as an array of bytes."""
        self.socket.sendall(request)
        head = b"*%d\r\n" % count
        answer = self.receive(len(head) + count * BULK.itemsize)
        return np.frombuffer(answer, BULK, offset=len(head))["value"]


def keys(ranks):
    return table_keys.mix64(ranks.astype(np.uint64) + np.uint64(0x5BD1E995))


def request(ranks):
    dtype = np.dtype([("head", "S4"), ("key", "V8"), ("tail", "S2")])
    words = np.zeros(len(ranks), dtype)
    words["head"], words["tail"] = b"$8\r\n", b"\r\n"
    words["key"] = keys(ranks).view("V8")
    return b"*%d\r\n$4\r\nMGET\r\n" % (len(ranks) + 1) + words.tobytes()


class Lookup:
    def __init__(self, case, server):
        self.server = server
        self.batches = table_keys.Batches(case, ROWS)
        rounds = max(1, len(self.batches.ranks[0]) // 10)  # it takes long
        self.requests = [[request(b) for b in window[:rounds]] for window in self.batches.ranks]
        self.run()

    def check(self):
        rows = self.server.get(self.batches.batch, self.requests[0][0])
        return table_keys.check_sums(np.ascontiguousarray(rows).view(np.float32))

    def run(self):
        window = self.batches.next_round(self.requests)
        begin = time.perf_counter()
        for one in window:
            self.server.get(self.batches.batch, one)
        seconds = time.perf_counter() - begin
        return {"seconds": seconds / (len(window) * self.batches.batch)}


def free_bytes():
    with open("/proc/meminfo") as info:
        return 1024 * int(re.search(r"MemAvailable:\s+(\d+)", info.read()).group(1))


def version():
    if not shutil.which("redis-server"):
        return ""
    found = re.search(r"v=(\S+)", subprocess.run(["redis-server", "--version"],
                                                 capture_output=True, text=True).stdout)
    return f"Redis {found.group(1)}" if found else ""


SERVER = []


def prepare(case):
    if not shutil.which("redis-server"):
        raise peer.Skip("redis-server is not installed; bench/setup")
    if not SERVER:
        if free_bytes() < ROWS * BYTES_A_ROW:
            raise peer.Skip("not enough free memory for Redis beside the others")
        SERVER.append(Server())
    return Lookup(case, SERVER[0])


try:
    peer.serve(version(), prepare)
finally:
    for server in SERVER:
        server._process.terminate()
        server._process.wait()
