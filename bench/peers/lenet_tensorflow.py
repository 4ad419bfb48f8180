"""lenet-train by TensorFlow: the whole step is one graph, images as it likes them ([B, H, W, C])."""

import os

import lenet
import peer

options = peer.arguments("--mode")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
import tensorflow as tf  # noqa: E402

tf.config.threading.set_intra_op_parallelism_threads(options.threads)
tf.config.threading.set_inter_op_parallelism_threads(1)


class Training(lenet.Training):
    def __init__(self, batch):
        super().__init__(batch, tf.convert_to_tensor)
        self.batches = [(tf.transpose(image, [0, 2, 3, 1]), label)
                        for image, label in self.batches]
        self.parameters = []
        for w in lenet.weights():
            self.parameters += [
                tf.Variable(w.transpose(2, 3, 1, 0) if w.ndim == 4 else self.rows(w)),
                tf.Variable(tf.zeros([w.shape[0] if w.ndim == 4 else w.shape[1]]))]
        self.slots = [[tf.Variable(tf.zeros_like(p)) for p in self.parameters] for _ in range(2)]
        self.powers = [tf.Variable(1.0), tf.Variable(1.0)]
        self.initial = [tf.identity(p) for p in self.parameters]
        self.graph = tf.function(self.train, jit_compile=options.mode == "xla")
        self.warm_up()

    def rows(self, w):
        """The rows of the first product, which sees [H, W, C] where ours sees [C, H, W]."""
        if w.shape[0] != 400:
            return w
        return w.reshape(16, 5, 5, -1).transpose(1, 2, 0, 3).reshape(400, -1)

    def reset(self):
        for parameter, value in zip(self.parameters, self.initial):
            parameter.assign(value)
        for slot in self.slots[0] + self.slots[1]:
            slot.assign(tf.zeros_like(slot))
        for power in self.powers:
            power.assign(1.0)

    def loss(self, image, label):
        p = self.parameters
        x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(image, p[0], 1, "SAME"), p[1]))
        x = tf.nn.max_pool2d(x, 2, 2, "VALID")
        x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, p[2], 1, "VALID"), p[3]))
        x = tf.reshape(tf.nn.max_pool2d(x, 2, 2, "VALID"), [-1, 400])
        x = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, p[4]), p[5]))
        x = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, p[6]), p[7]))
        x = tf.nn.bias_add(tf.matmul(x, p[8]), p[9])
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(label, x))

    def train(self, image, label):
        with tf.GradientTape() as tape:
            loss = self.loss(image, label)
        gradients = tape.gradient(loss, self.parameters)
        for power, beta in zip(self.powers, (0.9, 0.999)):
            power.assign(power * beta)
        for p, m, v, gradient in zip(self.parameters, *self.slots, gradients):
            tf.raw_ops.ResourceApplyAdam(
                var=p.handle, m=m.handle, v=v.handle, beta1_power=self.powers[0],
                beta2_power=self.powers[1], lr=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8,
                grad=gradient)
        return loss

    def step(self, image, label):
        return self.graph(image, label)


peer.serve(f"tensorflow {tf.__version__}", lambda case: Training(int(case.removeprefix("batch"))))
