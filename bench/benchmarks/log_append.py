from harness.benchmark import LIMIT, OURS, PEER, Benchmark, Case, Figure, Side

PROGRAM = "bench_log_append"


def file_alone(_, parts):
    return parts["file"]["write and sync"]


BENCHMARK = Benchmark(
    name="log-append",
    summary="impressions and feedback until they are on the disk, with the join that follows",
    unit="us",
    per="record",
    sides=[
        Side("Catamaran", OURS, program=PROGRAM),
        Side("RocksDB", PEER, program=PROGRAM, args=["--side", "rocksdb"]),
        Side("file", LIMIT, program=PROGRAM, args=["--side", "file"]),
    ],
    cases=[
        Case("callers8", "8 callers, each waits for its record", rounds=5,
             figures=[Figure("rate", "rate", "thousand records/s")]),
        Case("together1000", "one caller, 1,000 records at a time", rounds=5,
             figures=[Figure("rate", "rate", "thousand records/s")]),
    ],
    limit=file_alone,
    notes="A record is an impression (13 numbers, 26 ids) or its click, about 350 and 50 bytes. Ours "
          "counts from the first append until all are synced and the thread that follows the log has "
          "joined them. RocksDB takes them as one synced write (a batch where there are many), and "
          "joins nothing. The limit is the same bytes appended to one file, with one sync for all "
          "that wait at a time.",
)
