"""The register of oracles: functions from a call of an op to what another system gives for it.

  @oracle("softmax")
  def softmax(c):
      return torch.softmax(c.x, c.axis)

`c` has the operands by the names of the op's arguments, as torch tensors (None when left out), the
operands in order as c.inputs, the attributes by name (words and dtypes as strings), and
c.lengths(name) for the sequence lengths of a ragged operand. The function returns a tensor or a
list of them; None in place of a result that is not compared. Gradients come from autograd.
"""

import torch

ORACLES = {}
OPTIONS = {}
# Ops that are not compared, and why.
WITHOUT = {}

DTYPES = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16,
          "bf16": torch.bfloat16, "i8": torch.int8, "u8": torch.uint8, "i32": torch.int32,
          "i64": torch.int64, "u64": torch.int64, "bool": torch.bool}


def oracle(*names, gradient=True, tolerance=1.0, random=True):
    """gradient: compare gradients too; tolerance: times the usual; random: also random inputs."""
    def register(function):
        for name in names:
            ORACLES[name] = function
            OPTIONS[name] = {"gradient": gradient, "tolerance": tolerance, "random": random}
        return function
    return register


def without(reason, *names):
    for name in names:
        WITHOUT[name] = reason


class Call:
    """One call of an op: its operands and attributes."""

    def __init__(self, operands, inputs, lengths, attrs, op):
        self.op = op
        self.inputs = inputs
        self.attrs = attrs
        self.by_name = dict(attrs)
        self.lengths_by_name = {}
        for k, name in enumerate(operands):
            self.by_name[name] = inputs[k] if k < len(inputs) else None
            self.lengths_by_name[name] = lengths[k] if k < len(lengths) else None

    def __getattr__(self, name):
        try:
            return self.by_name[name]
        except KeyError:
            return None

    def lengths(self, name):
        return self.lengths_by_name[name]
