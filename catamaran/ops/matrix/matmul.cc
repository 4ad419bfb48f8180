// ops/matrix/matmul.cc
//
// matmul(a, b): the product of vectors, matrices or stacks of matrices, either transposed on
// request. matmul_leading(a, b): the sum over all leading axes of the outer products of rows; the
// gradient of a weight that many rows share.

#include "catamaran/ops/matrix/matmul.h"

#include "catamaran/ops/kernel_support.h"

namespace catamaran {
namespace {

bool WantNumbers(InferContext& c, int i) {
  if (!c.WantTensor(i)) return false;
  const DType dtype = c.type(i).dtype();
  if (IsFloat(dtype) || IsInteger(dtype)) return true;
  return c.Fail("wants numbers, found " + c.type(i).ToString() + "; cast it");
}

// The dimensions before the last two.
std::vector<Dim> BatchDims(const Type& type) {
  const auto dims = type.dims();
  return {dims.begin(), dims.begin() + std::max(0, type.rank() - 2)};
}

void InferMatmul(InferContext& c) {
  if (!WantNumbers(c, 0) || !WantNumbers(c, 1) || !c.WantSameDType(0, 1)) return;
  const Type& a = c.type(0);
  const Type& b = c.type(1);
  const int ra = a.rank(), rb = b.rank();
  if (ra == 0 || rb == 0) return (void)c.Fail("wants vectors or matrices; mul scales by a number");
  const bool ta = c.op().attr("transpose_a").AsBool(), tb = c.op().attr("transpose_b").AsBool();
  if ((ta && ra == 1) || (tb && rb == 1)) return (void)c.Fail("a vector cannot be transposed");
  if (b.is_ragged() || (a.is_ragged() && (ra < 3 || rb > 2 || ta))) {
    return (void)c.Fail(
        "a ragged value can only be the first operand, such as f32[B, *T, K], not transposed, with "
        "a matrix or a vector as the second");
  }
  const Dim& inner_a = a.dim(ta ? ra - 2 : ra - 1);
  const Dim& inner_b = b.dim(rb == 1 || tb ? rb - 1 : rb - 2);
  if (!c.Unify(inner_a, inner_b, "inner dimensions")) return;
  std::vector<Dim> dims;
  if (rb <= 2) {
    dims = BatchDims(a);
  } else {
    int ragged = -1;
    const Type a_batch = Type::Tensor(a.dtype(), BatchDims(a));
    const Type b_batch = Type::Tensor(b.dtype(), BatchDims(b));
    if (!c.Broadcast(a_batch, b_batch, &dims, &ragged)) return;
  }
  if (ra > 1) dims.push_back(a.dim(ta ? ra - 1 : ra - 2));
  if (rb > 1) dims.push_back(b.dim(tb ? rb - 2 : rb - 1));
  c.SetResult(Type::Tensor(a.dtype(), std::move(dims), a.ragged_axis()));
}

void FillMatmulSizes(const KernelQuery& q, Words& words) {
  WriteMatmulSizes(
      MatmulSizesOf(q.in[0]->shape(), q.in[1]->shape(), q.op->attr("transpose_a").AsBool(),
                    q.op->attr("transpose_b").AsBool()),
      words);
}

Var Reshape(Var x, std::vector<Dim> dims) {
  return x.emitter()->Emit("reshape", {x}, {{"shape", Attr::Dims(dims)}});
}
std::vector<Dim> DimsOf(Var x) { return {x.type().dims().begin(), x.type().dims().end()}; }

void GradMatmul(GradContext& c) {
  Emitter& e = c.emit();
  const bool ta = c.attr("transpose_a").AsBool(), tb = c.attr("transpose_b").AsBool();
  // Vectors become matrices of one row or column, and dy what their product would be.
  Var a = c.operand(0), b = c.operand(1), dy = c.grad();
  const bool a_vector = a.type().rank() == 1, b_vector = b.type().rank() == 1;
  std::vector<Dim> dims = DimsOf(dy);
  if (b_vector) {
    b = Reshape(b, {b.type().dim(0), 1});
    dims.push_back(1);
  }
  if (a_vector) {
    a = Reshape(a, {1, a.type().dim(0)});
    dims.insert(dims.end() - 1, Dim(1));
  }
  if (a_vector || b_vector) dy = Reshape(dy, dims);

  const auto product = [&](Var x, Var y, bool tx, bool ty) {
    return e.Emit("matmul", {x, y}, {{"transpose_a", tx}, {"transpose_b", ty}});
  };
  const auto set = [&](int i, Var grad, Var as_matrix, bool vector) {
    if (!(grad.type() == as_matrix.type())) grad = c.SumTo(grad, as_matrix);
    c.SetGrad(i, vector ? Reshape(grad, DimsOf(c.operand(i))) : grad);
  };
  if (c.wanted(0)) {
    set(0, ta ? product(b, dy, tb, true) : product(dy, b, false, !tb), a, a_vector);
  }
  if (!c.wanted(1)) return;
  if (!ta && a.type().rank() > 2 && b.type().rank() == 2) {
    set(1, tb ? e.Emit("matmul_leading", {dy, a}) : e.Emit("matmul_leading", {a, dy}), b, b_vector);
  } else {
    set(1, tb ? product(dy, a, true, ta) : product(a, dy, !ta, false), b, b_vector);
  }
}

void InferLeading(InferContext& c) {
  if (!c.WantFloat(0) || !c.WantFloat(1) || !c.WantSameDType(0, 1)) return;
  const Type& a = c.type(0);
  const Type& b = c.type(1);
  if (a.rank() < 2 || a.rank() != b.rank() || a.ragged_axis() != b.ragged_axis()) {
    c.Fail("wants two operands of the same rank, at least 2");
    return;
  }
  for (int i = 0; i < a.rank() - 1; ++i) {
    if (!c.Unify(a.dim(i), b.dim(i), "leading dimensions")) return;
  }
  c.SetResult(Type::Tensor(a.dtype(), {a.dim(a.rank() - 1), b.dim(b.rank() - 1)}));
}

void FillLeadingSizes(const KernelQuery& q, Words& words) {
  const int64_t m = LastDim(*q.in[0]), n = LastDim(*q.in[1]), k = RowsOf(*q.in[0], m);
  WriteMatmulSizes(MatmulSizesOf({k, m}, {k, n}, true, false), words);
}

void GradLeading(GradContext& c) {
  Emitter& e = c.emit();
  const Var a = c.operand(0), b = c.operand(1), u = c.grad();
  if (c.wanted(0)) c.SetGrad(0, e.Emit("matmul", {b, u}, {{"transpose_b", true}}));
  if (c.wanted(1)) c.SetGrad(1, e.Emit("matmul", {a, u}));
}

Sample Of(Tensor a, Tensor b, bool ta = false, bool tb = false) {
  Sample sample;
  sample.inputs = {std::move(a), std::move(b)};
  if (ta) sample.attrs.push_back({"transpose_a", true});
  if (tb) sample.attrs.push_back({"transpose_b", true});
  return sample;
}
Sample Of(const Shape& a, const Shape& b, bool ta = false, bool tb = false) {
  return Of(Uniform(a, -1, 1), Uniform(b, -1, 1, 2), ta, tb);
}

Sample RaggedSample(const Shape& a, const Shape& b, std::vector<std::vector<int64_t>> lengths) {
  Sample sample = Of(a, b);
  sample.ragged_lengths = std::move(lengths);
  return sample;
}

}  // namespace

void DefineMatmul(OpSet& ops) {
  OpBuilder op = ops.Define("matmul");
  op.Group("matrix")
      .Doc(
          "The product of two vectors, matrices, or each pair in two stacks of matrices. A vector "
          "as a is one row, as b one column, and the result lacks that axis. The axes before the "
          "last two broadcast: a matrix is shared by a whole stack. With a matrix or a vector as "
          "b, a may be ragged. Integers wrap around.")
      .Formula("y[…, i, j] = sum over p of a[…, i, p] * b[…, p, j]")
      .In("a", "[K], […, M, K], or […, K, M] when transposed")
      .In("b", "[K], […, K, N], or […, N, K] when transposed")
      .WithAttr("transpose_a", AttrKind::kBool, false, "use a with its last two axes exchanged")
      .WithAttr("transpose_b", AttrKind::kBool, false, "use b with its last two axes exchanged")
      .Traits(RaggedTraits())
      .Infer(InferMatmul)
      .Sizes("MatmulSizes", FillMatmulSizes)
      .Grad(GradMatmul)
      .AddSample(Of(Floats({2, 3}, {1, 2, 3, 4, 5, 6}), Floats({3, 2}, {1, 0, 0, 1, 2, -1})))
      .AddSample(Of({3, 4}, {4, 5}))
      .AddSample(Of({4, 3}, {4, 5}, true))
      .AddSample(Of({3, 4}, {5, 4}, false, true))
      .AddSample(Of({4, 3}, {5, 4}, true, true))
      .AddSample(Of({2, 3, 4}, {2, 4, 2}))
      .AddSample(Of({2, 4, 3}, {2, 2, 4}, true, true))
      .AddSample(Of({2, 2, 3, 4}, {4, 2}))
      .AddSample(Of({2, 3, 4}, {2, 4}, false, true))
      .AddSample(Of({2, 4, 3}, {4, 2}, true))
      // Vectors.
      .AddSample(Of({4}, {4}))
      .AddSample(Of({4}, {4, 3}))
      .AddSample(Of({4}, {3, 4}, false, true))
      .AddSample(Of({3, 4}, {4}))
      .AddSample(Of({4, 3}, {4}, true))
      .AddSample(Of({4}, {2, 4, 3}))
      .AddSample(Of({2, 2, 3, 4}, {4}))
      .AddSample(Of({37}, {37, 67}))
      .AddSample(Of({67, 37}, {37}))
      // Stacks that broadcast.
      .AddSample(Of({3, 4}, {2, 4, 2}))
      .AddSample(Of({2, 1, 3, 4}, {3, 4, 2}))
      .AddSample(Of({1, 3, 4}, {2, 4, 2}))
      .AddSample(Of({2, 3, 4}, {1, 2, 4}, false, true))
      .AddSample(Of({2, 1, 2, 4, 3}, {2, 1, 1, 4, 2}, true))
      .AddSample(Of({9, 11}, {11, 67}))
      .AddSample(Of({9, 11}, {13, 11}, false, true))
      .AddSample(Of({3, 9, 11}, {3, 11, 13}))
      .AddSample(Of(Empty({0, 4}), Uniform({4, 2}, -1, 1)))
      .AddSample(Of(Empty({3, 0}), Empty({0, 2})))
      .AddSample(Of(Empty({0}), Empty({0})))
      .AddSample(Of(Empty({0, 3, 4}), Uniform({1, 4, 2}, -1, 1)))
      .AddSample(Of(RandomInts({3, 4}, -9, 9), RandomInts({4, 2}, -9, 9)))
      .AddSample(Of(RandomInts({2, 3, 4}, -9, 9, DType::kI32), RandomInts({4}, -9, 9, DType::kI32)))
      .AddSample(RaggedSample({5, 3}, {3, 2}, {{2, 0, 3}, {}}))
      .AddSample(RaggedSample({5, 2, 3}, {3, 2}, {{2, 0, 3}, {}}))
      .AddSample(RaggedSample({5, 3}, {3}, {{2, 0, 3}, {}}));
  Sample infinite = Of(Floats({2, 2}, {INFINITY, 1, NAN, 2}), Floats({2, 2}, {1, 0, -1, 2}));
  infinite.check_gradient = false;
  op.AddSample(std::move(infinite));
  AddMatmulKernels(op, false);

  OpBuilder leading = ops.Define("matmul_leading");
  leading.Group("matrix")
      .Doc("The sum over all leading axes of the outer products of two stacks of rows.")
      .Formula("y[i, j] = sum over … of a[…, i] * b[…, j]")
      .In("a", "[…, M]")
      .In("b", "[…, N]")
      .Traits(RaggedTraits())
      .Infer(InferLeading)
      .Sizes("MatmulSizes", FillLeadingSizes)
      .Grad(GradLeading)
      .AddSample(Of(Floats({2, 1, 2}, {1, 2, 3, 4}), Floats({2, 1, 2}, {1, 0, 0, 1})))
      .AddSample(Of({2, 3, 4}, {2, 3, 2}))
      .AddSample(Of({5, 9}, {5, 70}))
      .AddSample(Of(Empty({0, 3, 4}), Empty({0, 3, 2})))
      .AddSample(RaggedSample({5, 3}, {5, 2}, {{2, 0, 3}, {2, 0, 3}}));
  AddMatmulKernels(leading, true);
}

}  // namespace catamaran
