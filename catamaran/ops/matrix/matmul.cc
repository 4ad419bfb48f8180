// ops/matrix/matmul.cc
//
// matmul(a, b): the product of matrices, or of stacks of matrices, either transposed on request.
// matmul_leading(a, b): the sum over all leading axes of the outer products of rows; the gradient
// of a weight that many rows share.

#include <cmath>

#include "catamaran/ops/blas.h"
#include "catamaran/ops/kernel_support.h"
#include "catamaran/ops/onednn.h"

// reference-begin
namespace catamaran::reference {

// batch products of op(a)[m, k] with op(b)[k, n]; `shared_b`: one b for all.
struct MatmulSizes {
  int64_t batch, m, n, k, transpose_a, transpose_b, shared_b;
};

template <class T>
void Matmul(const T* a, const T* b, T* y, const MatmulSizes& s) {
  const int64_t a_row = s.transpose_a ? 1 : s.k, a_step = s.transpose_a ? s.m : 1;
  const int64_t b_row = s.transpose_b ? 1 : s.n, b_step = s.transpose_b ? s.k : 1;
  for (int64_t q = 0; q < s.batch; ++q) {
    for (int64_t i = 0; i < s.m; ++i) {
      for (int64_t j = 0; j < s.n; ++j) y[i * s.n + j] = T(0);
      for (int64_t p = 0; p < s.k; ++p) {
        const T x = a[i * a_row + p * a_step];
        for (int64_t j = 0; j < s.n; ++j) y[i * s.n + j] += x * b[p * b_row + j * b_step];
      }
    }
    a += s.m * s.k;
    y += s.m * s.n;
    if (!s.shared_b) b += s.k * s.n;
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::MatmulSizes;

// The sizes with the number of rows of this run, which a ragged dimension may change.
MatmulSizes RunSizes(const KernelContext& c) {
  MatmulSizes s = c.sizes<MatmulSizes>();
  if (c.op->Is("matmul_leading")) {
    s.k = RowsOf(c.in(0), LastDim(c.in(0)));
  } else if (s.shared_b && !s.transpose_a) {
    s.m = RowsOf(c.out(), s.n);  // not of the operand, whose rows may have no elements
  }
  return s;
}

// Calls gemm(rows of the product [begin, end) of batch q) over the pool.
template <class T, class F>
void SplitProduct(const KernelContext& c, const MatmulSizes& s, F&& gemm) {
  const int64_t lda = s.transpose_a ? s.m : s.k, ldb = s.transpose_b ? s.k : s.n;
  const T* a = c.in(0).data<T>();
  const T* b = c.in(1).data<T>();
  T* y = c.out().data<T>();
  const auto part = [&](int64_t q, int64_t begin, int64_t end) {
    const T* a_q = a + q * s.m * s.k + (s.transpose_a ? begin : begin * s.k);
    const T* b_q = s.shared_b ? b : b + q * s.k * s.n;
    gemm(s.transpose_a != 0, s.transpose_b != 0, end - begin, s.n, s.k, a_q, lda, b_q, ldb,
         y + (q * s.m + begin) * s.n, s.n);
  };
  // A product is worth a thread from about a million operations on; blocks of 16 rows keep the
  // libraries' inner loops full.
  const int64_t row_cost = 2 * s.n * s.k;
  const bool split = c.pool != nullptr && c.pool->threads() > 1;
  if (split && s.batch > 1) {
    Split(c.pool, s.batch, s.m * row_cost / 16, [&](int64_t begin, int64_t end) {
      for (int64_t q = begin; q < end; ++q) part(q, 0, s.m);
    });
  } else if (split && s.m >= 32 && s.m * row_cost >= 1'000'000) {
    const int64_t grain = std::max<int64_t>(16, (500'000 / row_cost + 15) / 16 * 16);
    c.pool->ParallelFor(s.m, grain, [&](int64_t begin, int64_t end) { part(0, begin, end); });
  } else {
    for (int64_t q = 0; q < s.batch; ++q) part(q, 0, s.m);
  }
}

KernelStatus RunReference(KernelContext& c) {
  const MatmulSizes s = RunSizes(c);
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::Matmul(c.in(0).data<T>(), c.in(1).data<T>(), c.out().data<T>(), s);
      },
      "matmul");
  return KernelStatus::kDone;
}

KernelStatus RunBlas(KernelContext& c) {
  const MatmulSizes s = RunSizes(c);
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) { SplitProduct<T>(c, s, [](auto... args) { blas::Gemm(args...); }); },
      "matmul");
  return KernelStatus::kDone;
}

KernelStatus RunSgemm(KernelContext& c) {
  SplitProduct<float>(c, RunSizes(c), onednn::Sgemm);
  return KernelStatus::kDone;
}

struct PreparedMatmul final : Prepared {
  int64_t m = 0, n = 0, k = 0;
  std::unique_ptr<onednn::Primitive> primitive;
};

KernelStatus RunPrimitive(KernelContext& c) {
  const MatmulSizes s = RunSizes(c);
  const auto* prepared = static_cast<const PreparedMatmul*>(c.prepared);
  const bool threads =
      c.pool != nullptr && c.pool->threads() > 1 && s.m >= 32 && s.m * s.n * s.k >= 500'000;
  if (threads || s.m != prepared->m || s.k != prepared->k) return RunSgemm(c);
  prepared->primitive->Run(c.in(0).data<float>(), c.in(1).data<float>(), c.out().data<float>());
  return KernelStatus::kDone;
}

std::unique_ptr<Prepared> PreparePrimitive(const KernelQuery& q) {
  const MatmulSizes s = q.sizes->As<MatmulSizes>();
  auto prepared = std::make_unique<PreparedMatmul>();
  prepared->m = s.m, prepared->n = s.n, prepared->k = s.k;
  prepared->primitive = onednn::MakeMatmul(s.transpose_a != 0, s.transpose_b != 0, s.m, s.n, s.k);
  return prepared;
}

// Which library, as measured on AVX-512 (time of one product on one core, µs; m k n):
//                             OpenBLAS   sgemm   matmul primitive
//   1 784 512                     26       23       53
//   784 1 512, a transposed       31       46       36
//   1 512 10                     0.6      1.1      0.8
//   32 784 512                   283      221      252
//   32 512 784, b transposed     314      351      255
//   512 784 512                 3937     3602     3659
//   512 512 784, b transposed   3879     3768     3656
//   512 512 10                   109      106       72
bool WantsSgemm(const KernelQuery& q) {
  if (!onednn::kAvailable || !IsF32(q)) return false;
  const MatmulSizes s = q.sizes->As<MatmulSizes>();
  if (s.n < 64 || s.k < 8) return false;
  return s.m < 8 || !s.transpose_b;
}

bool WantsPrimitive(const KernelQuery& q) {
  if (!onednn::kAvailable || !IsF32(q)) return false;
  const MatmulSizes s = q.sizes->As<MatmulSizes>();
  return s.batch == 1 && s.m >= 8 && s.k >= 8 && s.n >= 8;
}

void InferMatmul(InferContext& c) {
  if (!c.WantFloat(0) || !c.WantFloat(1) || !c.WantSameDType(0, 1)) return;
  const Type& a = c.type(0);
  const Type& b = c.type(1);
  if (a.rank() < 2 || b.rank() < 2) {
    c.Fail("wants matrices; reshape a vector to [1, K] or [K, 1]");
    return;
  }
  const bool ta = c.op().attr("transpose_a").AsBool(), tb = c.op().attr("transpose_b").AsBool();
  const bool shared = b.rank() == 2 && a.rank() > 2;
  if (b.is_ragged() || (a.is_ragged() && !shared)) {
    c.Fail("a ragged value can only be the first operand, with a matrix as the second");
    return;
  }
  if (shared && ta) {
    c.Fail("transpose_a wants operands of the same rank");
    return;
  }
  if (!shared && a.rank() != b.rank()) {
    c.Fail("wants operands of the same rank, or a matrix as the second");
    return;
  }
  const int ra = a.rank(), rb = b.rank();
  const Dim& inner_a = a.dim(ta ? ra - 2 : ra - 1);
  const Dim& inner_b = b.dim(tb ? rb - 1 : rb - 2);
  if (!c.Unify(inner_a, inner_b, "inner dimensions")) return;
  if (!shared) {
    for (int i = 0; i < ra - 2; ++i) {
      if (!c.Unify(a.dim(i), b.dim(i), "batch dimensions")) return;
    }
  }
  std::vector<Dim> dims(a.dims().begin(), a.dims().end());
  if (ta) dims[ra - 2] = a.dim(ra - 1);
  dims[ra - 1] = b.dim(tb ? rb - 2 : rb - 1);
  c.SetResult(Type::Tensor(a.dtype(), std::move(dims), a.ragged_axis()));
}

// The last two sizes of a stored matrix.
std::pair<int64_t, int64_t> Matrix(const Slot& slot) {
  const Shape& shape = slot.shape();
  return {shape[shape.rank() - 2], shape[shape.rank() - 1]};
}

void FillMatmulSizes(const KernelQuery& q, Words& words) {
  const bool ta = q.op->attr("transpose_a").AsBool(), tb = q.op->attr("transpose_b").AsBool();
  const auto [a_rows, a_columns] = Matrix(*q.in[0]);
  const auto [b_rows, b_columns] = Matrix(*q.in[1]);
  MatmulSizes s{
      1, ta ? a_columns : a_rows, tb ? b_rows : b_columns, ta ? a_rows : a_columns, ta, tb, 0};
  const Shape& shape = q.in[0]->shape();
  for (int i = 0; i < shape.rank() - 2; ++i) s.batch *= shape[i];
  // Rows of several matrices times one matrix are rows of one product. A ragged operand is stored
  // like that already.
  if (q.in[1]->shape().rank() == 2) {
    s.shared_b = 1;
    if (!ta) {
      s.m *= s.batch;
      s.batch = 1;
    }
  }
  words << s.batch << s.m << s.n << s.k << s.transpose_a << s.transpose_b << s.shared_b;
}

void GradMatmul(GradContext& c) {
  Emitter& e = c.emit();
  const bool ta = c.attr("transpose_a").AsBool(), tb = c.attr("transpose_b").AsBool();
  const Var a = c.operand(0), b = c.operand(1), dy = c.grad();
  const auto product = [&](Var x, Var y, bool tx, bool ty) {
    return e.Emit("matmul", {x, y}, {{"transpose_a", tx}, {"transpose_b", ty}});
  };
  if (c.wanted(0)) c.SetGrad(0, ta ? product(b, dy, tb, true) : product(dy, b, false, !tb));
  if (!c.wanted(1)) return;
  if (a.type().rank() > b.type().rank()) {
    c.SetGrad(1, tb ? e.Emit("matmul_leading", {dy, a}) : e.Emit("matmul_leading", {a, dy}));
  } else {
    c.SetGrad(1, tb ? product(dy, a, true, ta) : product(a, dy, !ta, false));
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
  const int64_t m = LastDim(*q.in[0]), n = LastDim(*q.in[1]);
  words << int64_t{1} << m << n << RowsOf(*q.in[0], m) << true << false << true;
}

void GradLeading(GradContext& c) {
  Emitter& e = c.emit();
  const Var a = c.operand(0), b = c.operand(1), u = c.grad();
  if (c.wanted(0)) c.SetGrad(0, e.Emit("matmul", {b, u}, {{"transpose_b", true}}));
  if (c.wanted(1)) c.SetGrad(1, e.Emit("matmul", {a, u}));
}

OpCost Cost(const KernelQuery& q) {
  const MatmulSizes s = q.sizes->As<MatmulSizes>();
  const double batch = static_cast<double>(s.batch), m = static_cast<double>(s.m),
               n = static_cast<double>(s.n), k = static_cast<double>(s.k);
  const double numbers = batch * (m * k + m * n) + (s.shared_b ? 1 : batch) * k * n;
  return {2 * batch * m * n * k, numbers * static_cast<double>(SizeOf(q.in[0]->tensor.dtype))};
}

void AddKernels(OpBuilder& op) {
  op.Fast(FastKernel("onednn_sgemm", RunSgemm, WantsSgemm));
  Kernel primitive = FastKernel("onednn", RunPrimitive, WantsPrimitive);
  primitive.prepare = PreparePrimitive;
  op.Fast(std::move(primitive));
  op.Fast(FastKernel("openblas", RunBlas, nullptr));
  op.Reference("Matmul", RunReference).Cost(Cost);
}

Sample Of(Tensor a, Tensor b, bool ta = false, bool tb = false) {
  Sample sample;
  sample.inputs = {std::move(a), std::move(b)};
  if (ta) sample.attrs.push_back({"transpose_a", true});
  if (tb) sample.attrs.push_back({"transpose_b", true});
  return sample;
}

Sample RaggedSample(Tensor a, Tensor b, std::vector<std::vector<int64_t>> lengths) {
  Sample sample = Of(std::move(a), std::move(b));
  sample.ragged_lengths = std::move(lengths);
  return sample;
}

}  // namespace

void DefineMatmul(OpSet& ops) {
  OpBuilder op = ops.Define("matmul");
  op.Group("matrix")
      .Doc(
          "The product of two matrices, or of each pair in two stacks of matrices. A matrix as "
          "the second operand is shared by all; the first may then be ragged.")
      .Formula("y[…, i, j] = sum over p of a[…, i, p] * b[…, p, j]")
      .In("a", "[…, M, K], or [K, M] when transposed")
      .In("b", "[K, N] or […, K, N], or [N, K] when transposed")
      .WithAttr("transpose_a", AttrKind::kBool, false, "use a with its last two axes exchanged")
      .WithAttr("transpose_b", AttrKind::kBool, false, "use b with its last two axes exchanged")
      .Traits(RaggedTraits())
      .Infer(InferMatmul)
      .Sizes("MatmulSizes", FillMatmulSizes)
      .Grad(GradMatmul)
      .AddSample(Of(Uniform({3, 4}, -1, 1), Uniform({4, 5}, -1, 1, 2)))
      .AddSample(Of(Uniform({4, 3}, -1, 1), Uniform({4, 5}, -1, 1, 2), true))
      .AddSample(Of(Uniform({3, 4}, -1, 1), Uniform({5, 4}, -1, 1, 2), false, true))
      .AddSample(Of(Uniform({4, 3}, -1, 1), Uniform({5, 4}, -1, 1, 2), true, true))
      .AddSample(Of(Uniform({2, 3, 4}, -1, 1), Uniform({2, 4, 2}, -1, 1, 2)))
      .AddSample(Of(Uniform({2, 4, 3}, -1, 1), Uniform({2, 2, 4}, -1, 1, 2), true, true))
      .AddSample(Of(Uniform({2, 2, 3, 4}, -1, 1), Uniform({4, 2}, -1, 1, 2)))
      .AddSample(Of(Uniform({2, 3, 4}, -1, 1), Uniform({2, 4}, -1, 1, 2), false, true))
      .AddSample(Of(Uniform({9, 11}, -1, 1), Uniform({11, 67}, -1, 1, 2)))
      .AddSample(Of(Uniform({9, 11}, -1, 1), Uniform({13, 11}, -1, 1, 2), false, true))
      .AddSample(Of(Empty({0, 4}), Uniform({4, 2}, -1, 1)))
      .AddSample(Of(Empty({3, 0}), Empty({0, 2})))
      .AddSample(RaggedSample(Uniform({5, 3}, -1, 1), Uniform({3, 2}, -1, 1, 2), {{2, 0, 3}, {}}));
  AddKernels(op);

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
      .AddSample(Of(Uniform({2, 3, 4}, -1, 1), Uniform({2, 3, 2}, -1, 1, 2)))
      .AddSample(Of(Uniform({5, 9}, -1, 1), Uniform({5, 70}, -1, 1, 2)))
      .AddSample(Of(Empty({0, 3, 4}), Empty({0, 3, 2})))
      .AddSample(
          RaggedSample(Uniform({5, 3}, -1, 1), Uniform({5, 2}, -1, 1, 2), {{2, 0, 3}, {2, 0, 3}}));
  AddKernels(leading);
}

}  // namespace catamaran
