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
    ours: str            # an expression, or a whole program with a function f
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
            program = "program kernels\n"
            if self.grads:
                program += f"fn loss({arguments}) -> f32[] {{\n  return sum(({self.ours}) * g)\n}}\n"
                program += f"f = grad(loss, wrt=[{', '.join(self.grads)}])\n"
            else:
                program += f"fn f({arguments}) {{\n  return {self.ours}\n}}\n"
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


def cases():
    for family in (matmul, conv, softmax, reduce, gather):
        yield from family()
