"""ctr-train by PaddlePaddle, eager: its graph executor makes the embeddings' gradients dense."""

import peer
import ctr_rows

options = peer.arguments()
import paddle  # noqa: E402

paddle.set_device("cpu")


class DeepFM(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        assign = paddle.nn.initializer.Assign

        def embedding(value):
            return paddle.nn.Embedding(ctr_rows.IDS, value.shape[1], sparse=True,
                                       weight_attr=paddle.ParamAttr(initializer=assign(value)))

        def linear(w):
            return paddle.nn.Linear(*w.shape, weight_attr=paddle.ParamAttr(initializer=assign(w)),
                                    bias_attr=paddle.ParamAttr(
                                        initializer=paddle.nn.initializer.Constant(0.0)))

        self.v = embedding(ctr_rows.embeddings())
        self.w = embedding(ctr_rows.np.zeros((ctr_rows.IDS, 1), "float32"))
        self.wide = linear(ctr_rows.wide_weight())
        layers = []
        for w in ctr_rows.deep_weights():
            layers += [linear(w), paddle.nn.ReLU()]
        self.deep = paddle.nn.Sequential(*layers[:-1])

    def forward(self, label, dense, ids):
        e, first = self.v(ids), self.w(ids)
        total = e.sum(1)
        fm = 0.5 * (total * total - (e * e).sum(1)).sum(1)
        x = paddle.concat([e.flatten(1), dense], 1)
        score = first.sum([1, 2]) + self.wide(dense)[:, 0] + fm + self.deep(x)[:, 0]
        return paddle.nn.functional.binary_cross_entropy_with_logits(score, label)


def optimizers(model):
    tables = [model.v.weight, model.w.weight]
    dense = model.wide.parameters() + model.deep.parameters()
    return [paddle.optimizer.Adagrad(0.01, epsilon=1e-10, parameters=tables,
                                     initial_accumulator_value=0.1),
            paddle.optimizer.Adam(0.001, parameters=dense)]


class Training(ctr_rows.Training):
    def __init__(self, batch):
        super().__init__(batch)
        self.model = DeepFM()
        self.optimizers = optimizers(self.model)
        self.first_losses()

    def step(self):
        loss = self.model(*map(paddle.to_tensor, self.batches.next()))
        loss.backward()
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.clear_grad()
        return loss


def prepare(case):
    return Training(int(case.removeprefix("batch")))


peer.serve(f"paddle {paddle.__version__}", prepare)
