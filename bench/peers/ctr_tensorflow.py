"""ctr-train by TensorFlow: the whole step is one graph (tf.function); sparse Adagrad for embeddings."""

import os

import peer
import ctr_rows

options = peer.arguments()
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
import tensorflow as tf  # noqa: E402

tf.config.threading.set_intra_op_parallelism_threads(options.threads)
tf.config.threading.set_inter_op_parallelism_threads(1)


class Training(ctr_rows.Training):
    def __init__(self, batch):
        super().__init__(batch)
        self.v = tf.Variable(ctr_rows.embeddings())
        self.w = tf.Variable(tf.zeros([ctr_rows.IDS, 1]))
        self.accumulators = [tf.Variable(tf.fill(t.shape, 0.1)) for t in (self.v, self.w)]
        weights = [ctr_rows.wide_weight()] + ctr_rows.deep_weights()
        self.dense = []
        for w in weights:
            self.dense += [tf.Variable(w), tf.Variable(tf.zeros([w.shape[1]]))]
        self.m = [tf.Variable(tf.zeros_like(p)) for p in self.dense]
        self.s = [tf.Variable(tf.zeros_like(p)) for p in self.dense]
        self.power1, self.power2 = tf.Variable(1.0), tf.Variable(1.0)
        signature = [tf.TensorSpec([batch], tf.float32),
                     tf.TensorSpec([batch, ctr_rows.NUMBERS], tf.float32),
                     tf.TensorSpec([batch, ctr_rows.FIELDS], tf.int64)]
        self.graph = tf.function(self.train, input_signature=signature)
        self.first_losses()

    def loss(self, label, dense, e, first):
        total = tf.reduce_sum(e, 1)
        fm = 0.5 * tf.reduce_sum(total * total - tf.reduce_sum(e * e, 1), 1)
        x = tf.concat([tf.reshape(e, [-1, ctr_rows.FIELDS * ctr_rows.WIDTH]), dense], 1)
        layers = list(zip(self.dense[::2], self.dense[1::2]))
        wide = tf.nn.bias_add(tf.matmul(dense, layers[0][0]), layers[0][1])
        for k, (w, b) in enumerate(layers[1:]):
            x = tf.nn.bias_add(tf.matmul(x, w), b)
            if k + 2 < len(layers):
                x = tf.nn.relu(x)
        score = tf.reduce_sum(first, [1, 2]) + wide[:, 0] + fm + x[:, 0]
        return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(label, score))

    def train(self, label, dense, ids):
        flat = tf.reshape(ids, [-1])
        e = tf.gather(self.v, ids)
        first = tf.gather(self.w, ids)
        with tf.GradientTape() as tape:
            tape.watch([e, first])
            loss = self.loss(label, dense, e, first)
        gradients = tape.gradient(loss, [e, first] + self.dense)
        # Equal ids are added up once for both tables, then each row is updated in place.
        unique, place = tf.unique(flat)
        count = tf.size(unique)
        for table, accumulator, gradient in zip((self.v, self.w), self.accumulators, gradients):
            rows = tf.reshape(gradient, [-1, table.shape[1]])
            rows = tf.math.unsorted_segment_sum(rows, place, count)
            tf.raw_ops.ResourceSparseApplyAdagrad(
                var=table.handle, accum=accumulator.handle, lr=0.01, grad=rows, indices=unique)
        self.power1.assign(self.power1 * 0.9)
        self.power2.assign(self.power2 * 0.999)
        for p, m, s, gradient in zip(self.dense, self.m, self.s, gradients[2:]):
            tf.raw_ops.ResourceApplyAdam(
                var=p.handle, m=m.handle, v=s.handle, beta1_power=self.power1,
                beta2_power=self.power2, lr=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8,
                grad=gradient)
        return loss

    def step(self):
        label, dense, ids = map(tf.convert_to_tensor, self.batches.next())
        return self.graph(label, dense, ids)


def prepare(case):
    return Training(int(case.removeprefix("batch")))


peer.serve(f"tensorflow {tf.__version__}", prepare)
