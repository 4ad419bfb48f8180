"""data-read by TensorFlow: TFRecords of tf.train.Example, parsed a batch at a time by tf.data."""

import os
import tempfile
import time

import peer
import data_rows

options = peer.arguments()
data_rows.one_core()
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)


def floats(values):
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


def ints(values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def packed(label, dense, ids):
    return {"label": floats([label]), "dense": floats(dense), "ids": ints(ids)}


def columns(label, dense, ids):
    features = {"label": floats([label])}
    features.update((f"i{k + 1}", floats([v])) for k, v in enumerate(dense))
    features.update((f"c{k + 1}", ints([v])) for k, v in enumerate(ids))
    return features


def spec_of(case):
    if case == "packed":
        return {"label": tf.io.FixedLenFeature([], tf.float32),
                "dense": tf.io.FixedLenFeature([13], tf.float32),
                "ids": tf.io.FixedLenFeature([26], tf.int64)}
    return {name: tf.io.FixedLenFeature([], tf.int64 if name[0] == "c" else tf.float32)
            for name in data_rows.NAMES}


class Read:
    def __init__(self, case):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "rows.tfrecord")
        make = packed if case == "packed" else columns
        with tf.io.TFRecordWriter(self.path) as writer:
            for label, dense, ids in zip(*data_rows.make_rows()):
                example = tf.train.Example(
                    features=tf.train.Features(feature=make(label, dense.tolist(), ids.tolist())))
                writer.write(example.SerializeToString())
        self.case, self.spec = case, spec_of(case)
        self.endless = iter(self.batches().repeat())
        self.run()

    def batches(self):
        data = tf.data.TFRecordDataset(self.path, buffer_size=8 << 20).batch(data_rows.BATCH)
        data = data.map(lambda batch: tf.io.parse_example(batch, self.spec))
        settings = tf.data.Options()
        settings.threading.private_threadpool_size = 1
        settings.threading.max_intra_op_parallelism = 1
        return data.with_options(settings)

    def check(self):
        total = np.zeros(3)
        for batch in self.batches():
            if self.case == "packed":
                parts = [batch["label"].numpy(), batch["dense"].numpy(), batch["ids"].numpy()]
            else:
                def side(letter):
                    return np.stack([batch[n].numpy() for n in data_rows.NAMES if n[0] == letter])
                parts = [batch["label"].numpy(), side("i"), side("c")]
            total += data_rows.sums(*parts)
        return list(total)

    def run(self):
        begin = time.perf_counter()
        for _ in range(data_rows.ROWS // data_rows.BATCH):
            next(self.endless)
        return {"seconds": (time.perf_counter() - begin) / data_rows.ROWS}


peer.serve(tf.__version__, Read)
