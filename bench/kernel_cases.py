"""The cases of the benchmark `kernels`: for each a line of our language and a line of PyTorch.

A case is named FAMILY/WHAT/SHAPE. Its inputs are given as in our language ("f32[64, 1000]";
"i64[512] < 1000" has integers below 1000); both sides fill them with the same numbers.
"""

import re
from dataclasses import dataclass, field
from typing import List

# What we want to reach beside PyTorch, as the median of a family.
FAMILIES = {
    "matmul": 1.0, "conv": 1.0, "pool": 1.0, "norm": 1.3, "softmax": 1.0, "reduce": 1.0,
    "gather": 1.0, "move": 1.0, "elementwise": 1.0, "attention": 1.3, "sort": 1.0,
    "embedding_bag": 1.3, "optimizer": 1.3,
}


@dataclass
class KernelCase:
    name: str
    inputs: str          # "x: f32[64, 1000], w: f32[1000]"
    ours: str            # an expression ("v, i = sort(x); v" has a line before it), or a whole
                         # program with a function f
    torch: str           # an expression
    grads: List[str] = field(default_factory=list)  # inputs to differentiate by; needs an input g
    setup: str = ""      # run once on PyTorch's side, after the inputs are made
    check: List[int] = field(default_factory=lambda: [0])  # results that are compared
    steps: bool = False  # changes state: no inference mode

    def as_json(self):
        """For our side: program, function, inputs."""
        program, function = self.ours, "f"
        if "fn f(" not in self.ours and "\nf = " not in self.ours:
            arguments = re.sub(r" <[^,]*", "", self.inputs)
            *before, result = self.ours.split("; ")
            lines = "".join(f"  {line}\n" for line in before)
            program = "program kernels\n"
            if self.grads:
                program += f"fn loss({arguments}) -> f32[] {{\n{lines}"
                program += f"  return sum(({result}) * g)\n}}\n"
                program += f"f = grad(loss, wrt=[{', '.join(self.grads)}])\n"
            else:
                program += f"fn f({arguments}) {{\n{lines}  return {result}\n}}\n"
        return {"program": program, "function": function, "inputs": parse_inputs(self.inputs),
                "check": self.check}


def parse_inputs(text):
    found = []
    for name, dtype, dims, below in re.findall(
            r"(\w+): (\w+)\[([^\]]*)\](?: < (\d+))?", text):
        found.append({"name": name, "dtype": dtype, "below": int(below or 2),
                      "shape": [int(d) for d in dims.split(",") if d.strip()]})
    return found


def matmul():
    for m, k, n in [(1, 784, 512), (32, 512, 512), (128, 128, 128), (512, 512, 512),
                    (512, 784, 10), (2048, 429, 400), (64, 2048, 64)]:
        yield KernelCase(f"matmul/{m}x{k}x{n}", f"a: f32[{m}, {k}], b: f32[{k}, {n}]",
                         "matmul(a, b)", "torch.matmul(a, b)")
    for m, k, n in [(512, 512, 512), (128, 400, 400)]:
        yield KernelCase(f"matmul/nt/{m}x{k}x{n}", f"a: f32[{m}, {k}], b: f32[{n}, {k}]",
                         "matmul(a, b, transpose_b=true)", "torch.matmul(a, b.t())")
    for b, m, k, n in [(64, 27, 16, 27), (32, 64, 64, 64), (256, 8, 32, 8)]:
        yield KernelCase(f"matmul/batch/{b}x{m}x{k}x{n}",
                         f"a: f32[{b}, {m}, {k}], b: f32[{b}, {k}, {n}]",
                         "matmul(a, b)", "torch.matmul(a, b)")


def conv():
    for n, c, size, out, kernel, stride, groups in [
            (8, 3, 64, 32, 3, 1, 1), (8, 32, 32, 64, 3, 1, 1), (8, 64, 16, 64, 1, 1, 1),
            (8, 64, 16, 128, 3, 2, 1), (8, 64, 16, 64, 3, 1, 64), (1, 64, 56, 64, 3, 1, 1),
            (64, 1, 28, 6, 5, 1, 1), (8, 32, 32, 32, 3, 1, 4)]:
        pad = kernel // 2
        name = f"{n}x{c}x{size}-{out}k{kernel}s{stride}g{groups}"
        inputs = f"x: f32[{n}, {c}, {size}, {size}], w: f32[{out}, {c // groups}, {kernel}, {kernel}]"
        ours = f"conv2d(x, w, stride=[{stride}, {stride}], padding=[{pad}, {pad}], groups={groups})"
        peer = f"F.conv2d(x, w, stride={stride}, padding={pad}, groups={groups})"
        yield KernelCase(f"conv/{name}", inputs, ours, peer)
    for n, c, size, out, kernel, groups in [(8, 32, 32, 64, 3, 1), (8, 64, 16, 64, 3, 64),
                                            (64, 6, 14, 16, 5, 1), (8, 64, 16, 64, 1, 1)]:
        pad = kernel // 2
        end = size + 2 * pad - kernel + 1
        yield KernelCase(
            f"conv/grad/{n}x{c}x{size}-{out}k{kernel}g{groups}",
            f"x: f32[{n}, {c}, {size}, {size}], w: f32[{out}, {c // groups}, {kernel}, {kernel}], "
            f"g: f32[{n}, {out}, {end}, {end}]",
            f"conv2d(x, w, padding=[{pad}, {pad}], groups={groups})",
            f"F.conv2d(x, w, padding={pad}, groups={groups})", grads=["x", "w"])


def softmax():
    for rows, width in [(1, 1000), (64, 10), (64, 1000), (4096, 64), (128, 32000), (4096, 128)]:
        yield KernelCase(f"softmax/{rows}x{width}", f"x: f32[{rows}, {width}]", "softmax(x)",
                         "torch.softmax(x, -1)")
    for rows, width in [(64, 1000), (4096, 64), (128, 32000)]:
        yield KernelCase(f"softmax/log/{rows}x{width}", f"x: f32[{rows}, {width}]",
                         "log_softmax(x)", "torch.log_softmax(x, -1)")
    for rows, width in [(64, 1000), (4096, 10), (128, 32000)]:
        yield KernelCase(
            f"softmax/loss-grad/{rows}x{width}",
            f"x: f32[{rows}, {width}], label: i64[{rows}] < {width}, g: f32[{rows}]",
            "softmax_cross_entropy(x, label)", "F.cross_entropy(x, label, reduction='none')",
            grads=["x"])


def reduce():
    for name, op, peer in [("sum", "sum", "sum"), ("max", "max", "amax"), ("mean", "mean", "mean")]:
        for shape, axes in [((1000000,), None), ((1024, 1024), (1,)), ((1024, 1024), (0,)),
                            ((64, 128, 64), (1,))]:
            dims = ", ".join(map(str, shape))
            ours = f"{op}(x)" if axes is None else f"{op}(x, axes={list(axes)})"
            theirs = f"x.{peer}()" if axes is None else f"x.{peer}(dim={axes})"
            where = "all" if axes is None else f"axis{axes[0]}"
            yield KernelCase(f"reduce/{name}/{'x'.join(map(str, shape))}/{where}",
                             f"x: f32[{dims}]", ours, theirs)


def gather():
    for rows, width, count in [(1000, 16, 2048), (100000, 16, 50000), (100000, 64, 8192),
                               (1000000, 8, 50000), (10000, 512, 1024), (100000, 128, 4096)]:
        yield KernelCase(f"gather/{rows}x{width}-{count}",
                         f"x: f32[{rows}, {width}], i: i64[{count}] < {rows}",
                         "gather(x, i)", "torch.index_select(x, 0, i)")
        yield KernelCase(f"gather/grad/{rows}x{width}-{count}",
                         f"x: f32[{rows}, {width}], i: i64[{count}] < {rows}, "
                         f"g: f32[{count}, {width}]",
                         "gather(x, i)", "torch.index_select(x, 0, i)", grads=["x"])


def pool():
    for n, c, size in [(8, 32, 32), (64, 6, 28), (1, 64, 112)]:
        x = f"x: f32[{n}, {c}, {size}, {size}]"
        yield KernelCase(f"pool/max/{n}x{c}x{size}", x, "max_pool(x, kernel=2)",
                         "F.max_pool2d(x, 2)")
        yield KernelCase(f"pool/max3/{n}x{c}x{size}", x,
                         "max_pool(x, kernel=3, stride=2, padding=1)", "F.max_pool2d(x, 3, 2, 1)")
        yield KernelCase(f"pool/avg/{n}x{c}x{size}", x, "avg_pool(x, kernel=2)",
                         "F.avg_pool2d(x, 2)")
        yield KernelCase(f"pool/max-grad/{n}x{c}x{size}",
                         f"{x}, g: f32[{n}, {c}, {size // 2}, {size // 2}]",
                         "max_pool(x, kernel=2)", "F.max_pool2d(x, 2)", grads=["x"])


def norm():
    for rows, width in [(64, 768), (2048, 256), (4096, 64)]:
        x = f"x: f32[{rows}, {width}], w: f32[{width}], b: f32[{width}]"
        rms = f"x: f32[{rows}, {width}], w: f32[{width}]"
        g = f", g: f32[{rows}, {width}]"
        layer = f"F.layer_norm(x, ({width},), w, b, 1e-5)"
        root = f"F.rms_norm(x, ({width},), w, 1e-6)"
        yield KernelCase(f"norm/layer/{rows}x{width}", x, "layer_norm(x, w, b)", layer)
        yield KernelCase(f"norm/layer-grad/{rows}x{width}", x + g, "layer_norm(x, w, b)", layer,
                         grads=["x", "w", "b"])
        yield KernelCase(f"norm/rms/{rows}x{width}", rms, "rms_norm(x, w)", root)
        yield KernelCase(f"norm/rms-grad/{rows}x{width}", rms + g, "rms_norm(x, w)", root,
                         grads=["x", "w"])
    for n, c, size in [(8, 64, 32), (32, 16, 14)]:
        x = f"x: f32[{n}, {c}, {size}, {size}], w: f32[{c}], b: f32[{c}], m: f32[{c}], v: f32[{c}]"
        g = f", g: f32[{n}, {c}, {size}, {size}]"
        batch = "y, mean, var = batch_norm(x, w, b, m, v, training=true); y"
        peer = "F.batch_norm(x, None, None, w, b, True)"
        yield KernelCase(f"norm/batch/{n}x{c}x{size}", x, batch, peer)
        yield KernelCase(f"norm/batch-grad/{n}x{c}x{size}", x + g, batch, peer,
                         grads=["x", "w", "b"])
    x = "x: f32[8, 64, 32, 32], w: f32[64], b: f32[64]"
    yield KernelCase("norm/group/8x64x32", x, "group_norm(x, w, b, groups=8)",
                     "F.group_norm(x, 8, w, b, 1e-5)")
    yield KernelCase("norm/group-grad/8x64x32", x + ", g: f32[8, 64, 32, 32]",
                     "group_norm(x, w, b, groups=8)", "F.group_norm(x, 8, w, b, 1e-5)",
                     grads=["x", "w", "b"])


def attention():
    for b, h, t, d, causal in [(1, 8, 64, 64, False), (4, 4, 128, 64, True), (1, 8, 512, 64, False),
                               (1, 8, 512, 64, True), (2, 4, 1024, 64, True), (1, 4, 2048, 64, True),
                               (8, 4, 128, 32, False), (1, 8, 256, 128, False)]:
        shape = f"f32[{b}, {h}, {t}, {d}]"
        ours = f"y, l = attention(q, k, v, causal={str(causal).lower()}); y"
        peer = f"F.scaled_dot_product_attention(q, k, v, is_causal={causal})"
        name = f"{b}x{h}x{t}x{d}" + ("-causal" if causal else "")
        yield KernelCase(f"attention/{name}", f"q: {shape}, k: {shape}, v: {shape}", ours, peer)
        if t <= 512:
            yield KernelCase(f"attention/grad/{name}",
                             f"q: {shape}, k: {shape}, v: {shape}, g: {shape}", ours, peer,
                             grads=["q", "k", "v"])


def sort():
    for rows, width in [(1, 1000), (64, 1000), (1, 1000000), (4096, 32)]:
        x = f"x: f32[{rows}, {width}]"
        yield KernelCase(f"sort/sort/{rows}x{width}", x, "v, i = sort(x); v, i",
                         "torch.sort(x, stable=True)")
        yield KernelCase(f"sort/argsort/{rows}x{width}", x, "argsort(x)",
                         "torch.argsort(x, stable=True)")
    for rows, width, k in [(1, 1000000, 100), (64, 10000, 10), (4096, 100, 5), (64, 1000, 100)]:
        yield KernelCase(f"sort/topk/{rows}x{width}-{k}", f"x: f32[{rows}, {width}]",
                         f"v, i = topk(x, k={k}); v, i", f"torch.topk(x, {k})")


def embedding_bag():
    for rows, width, bags, size in [(10000, 16, 2048, 26), (100000, 16, 2048, 26),
                                    (1000000, 16, 2048, 26), (100000, 64, 512, 50),
                                    (1000000, 8, 4096, 10), (100000, 128, 512, 20),
                                    (10000, 32, 4096, 1), (100000, 64, 64, 200)]:
        inputs = f"w: f32[{rows}, {width}], ids: i64[{bags}, {size}] < {rows}"
        name = f"{rows}x{width}-{bags}x{size}"
        yield KernelCase(f"embedding_bag/{name}", inputs, "embedding_bag(w, ids)",
                         "F.embedding_bag(ids, w, mode='sum')")
    for rows, width, bags, size in [(10000, 16, 2048, 26), (100000, 16, 2048, 26),
                                    (100000, 64, 512, 50), (1000000, 8, 4096, 10)]:
        name = f"{rows}x{width}-{bags}x{size}"
        yield KernelCase(
            f"embedding_bag/grad/{name}",
            f"ids: i64[{bags}, {size}] < {rows}, g: f32[{bags}, {width}]",
            f"program kernels\nparam @w : f32[{rows}, {width}]\n"
            f"fn loss(ids: i64[{bags}, {size}], g: f32[{bags}, {width}]) -> f32[] {{\n"
            "  return sum(embedding_bag(@w, ids) * g)\n}\nf = grad(loss)\n",
            "back()",
            setup=f"w = torch.zeros({rows}, {width}, requires_grad=True)\n"
                  "def back():\n"
                  "    w.grad = None\n"
                  "    loss = (F.embedding_bag(ids, w, mode='sum', sparse=True) * g).sum()\n"
                  "    loss.backward()\n"
                  "    return loss.detach()\n",
            check=[], steps=True)


# A fused optimizer step is the fastest of what PyTorch has, mostly; the best of them takes part.
BEST = """
import time
def best(optimizers):
    def seconds(optimizer):
        for _ in range(3):
            optimizer.step()
        begin = time.perf_counter()
        for _ in range(20):
            optimizer.step()
        return time.perf_counter() - begin
    return min(optimizers, key=seconds)
def variants(kind, **settings):
    made = []
    for how in ({"fused": True}, {"foreach": True}, {"foreach": False}):
        try:
            made.append(kind(parameters, **settings, **how))
        except (TypeError, RuntimeError, ValueError):
            pass
    return best(made)
"""


def dense_step(name, count, size, rule, slots, settings, peer):
    """`count` params of `size`, all updated by one rule."""
    program = "program kernels\nvar @t : i64[] = 0\n"
    updates = ""
    for k in range(count):
        program += f"param @w{k} : f32[{size}] = ones\n"
        states = []
        for slot in slots:
            program += f"var @{slot}{k} : f32[{size}] = 0 {{ slot = true }}\n"
            states.append(f"@{slot}{k}")
        updates += (f"    update(@w{k}, [{', '.join(states)}], g, 0.001, {rule}{settings})\n")
    program += (f"fn f(g: f32[{size}]) -> i64[] {{\n  t = @t + 1\n  commit {{\n{updates}"
                "    write(@t, t)\n  }\n  return t\n}\n")
    return KernelCase(
        f"optimizer/{name}/{count}x{size}", f"g: f32[{size}]", program, "optimizer.step()",
        setup=BEST + f"parameters = [torch.nn.Parameter(torch.ones({size})) for _ in range({count})]\n"
        "for p in parameters:\n    p.grad = g.clone()\n" + f"optimizer = variants({peer})\n",
        check=[], steps=True)


def optimizer():
    for count, size in [(1, 1000), (1, 100000), (1, 10000000), (50, 2000)]:
        yield dense_step("momentum", count, size, "momentum", ["m"], ", momentum=0.9",
                         "torch.optim.SGD, lr=0.001, momentum=0.9")
        yield dense_step("adagrad", count, size, "adagrad", ["a"], ", eps=1e-10",
                         "torch.optim.Adagrad, lr=0.001")
        yield dense_step("adam", count, size, "adam", ["m", "v"],
                         ", step=t, beta1=0.9, beta2=0.999, eps=1e-08",
                         "torch.optim.Adam, lr=0.001")


def elementwise():
    for name, ours, peer in [("relu", "relu(x)", "torch.relu(x)"), ("exp", "exp(x)", "torch.exp(x)"),
                             ("gelu", "gelu(x)", "F.gelu(x)"), ("tanh", "tanh(x)", "torch.tanh(x)"),
                             ("sigmoid", "sigmoid(x)", "torch.sigmoid(x)")]:
        for n in (10000, 1000000):
            yield KernelCase(f"elementwise/{name}/{n}", f"x: f32[{n}]", ours, peer)
    for shape, other in [("1024, 1024", "1024"), ("1024, 1024", "1024, 1"), ("1000000", "1000000")]:
        label = shape.replace(", ", "x") + "+" + other.replace(", ", "x")
        yield KernelCase(f"elementwise/add/{label}", f"x: f32[{shape}], y: f32[{other}]", "x + y",
                         "x + y")


def move():
    for shape, perm in [("1024, 1024", [1, 0]), ("64, 128, 256", [0, 2, 1]),
                        ("32, 128, 8, 64", [0, 2, 1, 3]), ("16, 32, 32, 64", [0, 3, 1, 2])]:
        label = shape.replace(", ", "x") + "-" + "".join(map(str, perm))
        yield KernelCase(f"move/transpose/{label}", f"x: f32[{shape}]",
                         f"transpose(x, perm={perm})", f"x.permute({perm}).contiguous()")
    for rows, a, b in [(2048, 416, 13), (64, 1000, 1000)]:
        yield KernelCase(f"move/concat/{rows}x{a}+{b}", f"x: f32[{rows}, {a}], y: f32[{rows}, {b}]",
                         "concat(x, y, axis=1)", "torch.cat([x, y], 1)")
        yield KernelCase(f"move/slice/{rows}x{a}", f"x: f32[{rows}, {a}]",
                         f"slice(x, axis=1, begin=3, end={a - 2})",
                         f"x[:, 3:{a - 2}].contiguous()")
    yield KernelCase("move/cumsum/1000x1000", "x: f32[1000, 1000]", "cumsum(x)",
                     "torch.cumsum(x, -1)")
    yield KernelCase("move/flip/1024x1024", "x: f32[1024, 1024]", "flip(x, axes=[1])",
                     "torch.flip(x, [1])")
    yield KernelCase("move/pad/64x3x32x32", "x: f32[64, 3, 32, 32]",
                     "pad(x, before=[0, 0, 4, 4], after=[0, 0, 4, 4])", "F.pad(x, (4, 4, 4, 4))")
    yield KernelCase("move/cast/1000000", "x: f32[1000000]", "cast(x, dtype=bf16)",
                     "x.to(torch.bfloat16)")


def cases():
    for family in (matmul, conv, pool, norm, softmax, reduce, gather, move, elementwise, attention,
                   sort, embedding_bag, optimizer):
        yield from family()
