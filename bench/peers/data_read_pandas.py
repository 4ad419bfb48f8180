"""data-read by pandas: --mode csv, csv-pyarrow (its faster parser) or parquet. Batches are not made."""

import os
import tempfile
import time

import peer
import data_rows

options = peer.arguments("--mode")
data_rows.one_core()
os.environ["OMP_NUM_THREADS"] = "1"
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
import pyarrow  # noqa: E402

pyarrow.set_cpu_count(1)
TYPES = {name: np.int64 if name[0] == "c" else np.float32 for name in data_rows.NAMES}


class Read:
    def __init__(self, case):
        if case == "packed":
            raise peer.Skip("a frame has a column a field")
        label, dense, ids = data_rows.make_rows()
        frame = pd.DataFrame(np.column_stack([label, dense]), columns=data_rows.NAMES[:14])
        for k, name in enumerate(data_rows.NAMES[14:]):
            frame[name] = ids[:, k]
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "rows")
        if options.mode == "parquet":
            frame.to_parquet(self.path)
        else:
            frame.to_csv(self.path, sep="\t", header=False, index=False)
        self.run()

    def read(self):
        if options.mode == "parquet":
            return pd.read_parquet(self.path)
        engine = "pyarrow" if options.mode == "csv-pyarrow" else "c"
        return pd.read_csv(self.path, sep="\t", names=data_rows.NAMES, dtype=TYPES, engine=engine)

    def check(self):
        frame = self.read()
        return data_rows.sums(frame["label"].to_numpy(), frame[data_rows.NAMES[1:14]].to_numpy(),
                              frame[data_rows.NAMES[14:]].to_numpy())

    def run(self):
        begin = time.perf_counter()
        frame = self.read()
        seconds = time.perf_counter() - begin
        assert len(frame) == data_rows.ROWS
        return {"seconds": seconds / data_rows.ROWS}


peer.serve(pd.__version__, Read)
