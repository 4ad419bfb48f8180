// The kernels of matmul and matmul_leading.

#include "catamaran/ops/blas.h"
#include "catamaran/ops/kernel_support.h"
#include "catamaran/ops/matrix/gemm.h"
#include "catamaran/ops/matrix/matmul.h"
#include "catamaran/ops/onednn.h"

namespace catamaran {

using reference::MatmulOffset;
using reference::MatmulSizes;

namespace {

// Rows and columns as stored; a vector is one row.
int64_t StoredRows(const Shape& shape) { return shape.rank() < 2 ? 1 : shape[shape.rank() - 2]; }
int64_t StoredColumns(const Shape& shape) { return shape[shape.rank() - 1]; }

// The sizes of this run: a leading dimension may be smaller than it was when they were prepared.
// Only of matmul; with a vector as b, its "columns" are k.
MatmulSizes MatmulRun(const KernelContext& c) {
  MatmulSizes s = c.sizes<MatmulSizes>();
  const Shape& a = c.in(0).shape();
  const Shape& b = c.in(1).shape();
  s.k = s.transpose_a ? StoredRows(a) : StoredColumns(a);
  s.n = b.rank() < 2 ? 1 : s.transpose_b ? StoredRows(b) : StoredColumns(b);
  if (s.folded) {
    s.m = RowsOf(c.out(), s.n);  // not of the operand, whose rows may have no elements
  } else {
    s.m = s.transpose_a ? StoredColumns(a) : StoredRows(a);
    s.batch = RowsOf(c.out(), s.m * s.n);
  }
  return s;
}

MatmulSizes LeadingRun(const KernelContext& c) {
  MatmulSizes s = c.sizes<MatmulSizes>();
  s.k = RowsOf(c.in(0), LastDim(c.in(0)));
  return s;
}

template <bool leading>
MatmulSizes RunSizes(const KernelContext& c) {
  return leading ? LeadingRun(c) : MatmulRun(c);
}

// Calls part(q, begin, end) for the rows of every product, over the pool.
template <class F>
void SplitRows(const KernelContext& c, const MatmulSizes& s, F&& part) {
  // A product is worth a thread from about a million operations on; blocks of 16 rows keep the
  // libraries' inner loops full.
  const int64_t row_cost = std::max<int64_t>(1, 2 * s.n * s.k);
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

// Calls gemm on the rows [begin, end) of each product.
template <class T, class F>
void SplitProduct(const KernelContext& c, const MatmulSizes& s, F&& gemm) {
  const int64_t lda = s.transpose_a ? s.m : s.k, ldb = s.transpose_b ? s.k : s.n;
  const T* a = c.in(0).data<T>();
  const T* b = c.in(1).data<T>();
  T* y = c.out().data<T>();
  SplitRows(c, s, [&](int64_t q, int64_t begin, int64_t end) {
    const T* a_q = a + MatmulOffset(q, s.a_step, s) + (s.transpose_a ? begin : begin * s.k);
    const T* b_q = b + MatmulOffset(q, s.b_step, s);
    gemm(s.transpose_a != 0, s.transpose_b != 0, end - begin, s.n, s.k, a_q, lda, b_q, ldb,
         y + (q * s.m + begin) * s.n, s.n);
  });
}

template <bool leading>
KernelStatus RunReference(KernelContext& c) {
  const MatmulSizes s = RunSizes<leading>(c);
  DispatchAmong<double, float, int8_t, uint8_t, int32_t, int64_t, uint64_t>(
      c.in(0).tensor.dtype,
      [&]<class T>(T) {
        reference::Matmul(c.in(0).data<T>(), c.in(1).data<T>(), c.out().data<T>(), s);
      },
      "matmul");
  return KernelStatus::kDone;
}

template <bool leading>
KernelStatus RunBlas(KernelContext& c) {
  const MatmulSizes s = RunSizes<leading>(c);
  DispatchFloating(
      c.in(0).tensor.dtype,
      [&]<class T>(T) { SplitProduct<T>(c, s, [](auto... args) { blas::Gemm(args...); }); },
      "matmul");
  return KernelStatus::kDone;
}

template <bool leading>
KernelStatus RunSgemm(KernelContext& c) {
  SplitProduct<float>(c, RunSizes<leading>(c), onednn::Sgemm);
  return KernelStatus::kDone;
}

struct PreparedMatmul final : Prepared {
  int64_t m = 0, n = 0, k = 0;
  std::unique_ptr<onednn::Primitive> primitive;
};

template <bool leading>
KernelStatus RunPrimitive(KernelContext& c) {
  const MatmulSizes s = RunSizes<leading>(c);
  const auto* prepared = static_cast<const PreparedMatmul*>(c.prepared);
  const bool threads = c.pool != nullptr && c.pool->threads() > 1 && s.batch == 1 && s.m >= 32 &&
                       s.m * s.n * s.k >= 500'000;
  if (threads || s.m != prepared->m || s.n != prepared->n || s.k != prepared->k) {
    return RunSgemm<leading>(c);
  }
  SplitRows(c, s, [&](int64_t q, int64_t, int64_t) {
    prepared->primitive->Run(c.in(0).data<float>() + MatmulOffset(q, s.a_step, s),
                             c.in(1).data<float>() + MatmulOffset(q, s.b_step, s),
                             c.out().data<float>() + q * s.m * s.n);
  });
  return KernelStatus::kDone;
}

std::unique_ptr<Prepared> PreparePrimitive(const KernelQuery& q) {
  const MatmulSizes s = q.sizes->As<MatmulSizes>();
  auto prepared = std::make_unique<PreparedMatmul>();
  prepared->m = s.m, prepared->n = s.n, prepared->k = s.k;
  prepared->primitive = onednn::MakeMatmul(s.transpose_a != 0, s.transpose_b != 0, s.m, s.n, s.k);
  return prepared;
}

bool WantsSgemm(const KernelQuery& q) {
  if (!onednn::kAvailable || !IsF32(q)) return false;
  const MatmulSizes s = q.sizes->As<MatmulSizes>();
  return SgemmIsFaster(s.transpose_b != 0, s.m, s.n, s.k);
}

bool WantsPrimitive(const KernelQuery& q) {
  if (!onednn::kAvailable || !IsF32(q)) return false;
  const MatmulSizes s = q.sizes->As<MatmulSizes>();
  return s.m >= 8 && s.k >= 8 && s.n >= 8 && !IsSmallProduct(s.transpose_b != 0, s.m, s.n, s.k);
}

// --- bf16 as it is, where the processor multiplies it.

struct PreparedBf16 final : Prepared {
  int64_t m = 0, n = 0, k = 0;
  std::unique_ptr<onednn::Bf16Matmul> product;
};

std::unique_ptr<Prepared> PrepareBf16(const KernelQuery& q) {
  const MatmulSizes s = q.sizes->As<MatmulSizes>();
  auto prepared = std::make_unique<PreparedBf16>();
  prepared->m = s.m, prepared->n = s.n, prepared->k = s.k;
  prepared->product = onednn::MakeBf16Matmul(s.transpose_a != 0, s.transpose_b != 0, s.m, s.n, s.k);
  return prepared;
}

bool WantsBf16(const KernelQuery& q) {
  if (!onednn::kAvailable || q.in[0]->tensor.dtype != DType::kBF16 || !HasBf16(q.isa)) return false;
  const MatmulSizes s = q.sizes->As<MatmulSizes>();
  return s.m >= 8 && s.k >= 8 && s.n >= 8 &&
         static_cast<PreparedBf16&>(*PrepareBf16(q)).product != nullptr;
}

template <bool leading>
KernelStatus RunBf16(KernelContext& c) {
  const MatmulSizes s = RunSizes<leading>(c);
  if (s.m == 0 || s.n == 0 || s.k == 0) {
    std::fill_n(c.out().data<BF16>(), c.out().size(), BF16());
    return KernelStatus::kDone;
  }
  const auto* prepared = static_cast<const PreparedBf16*>(c.prepared);
  const onednn::Bf16Matmul* product = prepared->product.get();
  std::unique_ptr<onednn::Bf16Matmul> smaller;  // for sizes of this run only
  if (s.m != prepared->m || s.n != prepared->n || s.k != prepared->k) {
    smaller = onednn::MakeBf16Matmul(s.transpose_a != 0, s.transpose_b != 0, s.m, s.n, s.k);
    product = smaller.get();
  }
  Split(c.pool, s.batch, s.m * s.n * s.k / 16, [&](int64_t begin, int64_t end) {
    for (int64_t q = begin; q < end; ++q) {
      product->Run(c.in(0).data<const BF16>() + MatmulOffset(q, s.a_step, s),
                   c.in(1).data<const BF16>() + MatmulOffset(q, s.b_step, s),
                   c.out().data<BF16>() + q * s.m * s.n);
    }
  });
  return KernelStatus::kDone;
}

bool ComputesInFloat(const KernelQuery& q) {
  const DType dtype = q.in[0]->tensor.dtype;
  return dtype == DType::kF32 || dtype == DType::kF64;
}

OpCost Cost(const KernelQuery& q) {
  const MatmulSizes s = q.sizes->As<MatmulSizes>();
  double bytes = 0;
  for (const Slot* slot : {q.in[0], q.in[1], q.out[0]}) {
    bytes += static_cast<double>(slot->size()) * static_cast<double>(SizeOf(slot->tensor.dtype));
  }
  const double batch = static_cast<double>(s.batch), m = static_cast<double>(s.m),
               n = static_cast<double>(s.n), k = static_cast<double>(s.k);
  return {2 * batch * m * n * k, bytes};
}

template <bool leading>
void AddKernels(OpBuilder& op) {
  Kernel bf16 = FastKernel("onednn_bf16", RunBf16<leading>, WantsBf16);
  bf16.prepare = PrepareBf16;
  bf16.half = true;
  op.Fast(std::move(bf16));
  op.Fast(FastKernel("onednn_sgemm", RunSgemm<leading>, WantsSgemm));
  Kernel primitive = FastKernel("onednn", RunPrimitive<leading>, WantsPrimitive);
  primitive.prepare = PreparePrimitive;
  op.Fast(std::move(primitive));
  op.Fast(FastKernel("openblas", RunBlas<leading>, ComputesInFloat));
  op.Reference("Matmul", RunReference<leading>).Cost(Cost);
}

}  // namespace

MatmulSizes MatmulSizesOf(const Shape& a, const Shape& b, bool transpose_a, bool transpose_b) {
  MatmulSizes s{};
  s.transpose_a = transpose_a, s.transpose_b = transpose_b, s.batch = 1;
  s.k = transpose_a ? StoredRows(a) : StoredColumns(a);
  s.m = transpose_a ? StoredColumns(a) : StoredRows(a);
  s.n = b.rank() < 2 ? 1 : transpose_b ? StoredRows(b) : StoredColumns(b);
  const int a_batch = std::max(0, a.rank() - 2), b_batch = std::max(0, b.rank() - 2);
  const int rank = std::max(a_batch, b_batch);
  const auto a_strides = a.RowMajorStrides(), b_strides = b.RowMajorStrides();
  // Rows of several matrices times one matrix are rows of one product. A ragged operand is stored
  // like that already.
  if (b_batch == 0 && !transpose_a) {
    for (int axis = 0; axis < a_batch; ++axis) s.m *= a[axis];
    s.folded = 1;
    return s;
  }
  for (int axis = 0; axis < rank; ++axis) {
    const int in_a = axis - (rank - a_batch), in_b = axis - (rank - b_batch);
    const int64_t a_dim = in_a < 0 ? 1 : a[in_a], b_dim = in_b < 0 ? 1 : b[in_b];
    const int64_t dim = a_dim == 1 ? b_dim : a_dim;
    const int64_t a_step = a_dim == 1 ? 0 : a_strides[static_cast<size_t>(in_a)];
    const int64_t b_step = b_dim == 1 ? 0 : b_strides[static_cast<size_t>(in_b)];
    s.batch *= dim;
    if (dim == 1) continue;
    // Axes that run through both operands as one are one.
    const int64_t last = s.rank - 1;
    if (s.rank > 0 && s.a_step[last] == dim * a_step && s.b_step[last] == dim * b_step) {
      s.dims[last] *= dim, s.a_step[last] = a_step, s.b_step[last] = b_step;
    } else {
      s.dims[s.rank] = dim, s.a_step[s.rank] = a_step, s.b_step[s.rank] = b_step;
      ++s.rank;
    }
  }
  return s;
}

void WriteMatmulSizes(const MatmulSizes& s, Words& words) {
  words << s.m << s.n << s.k << s.transpose_a << s.transpose_b << s.folded << s.batch << s.rank;
  for (int64_t dim : s.dims) words << dim;
  for (int64_t step : s.a_step) words << step;
  for (int64_t step : s.b_step) words << step;
}

void AddMatmulKernels(OpBuilder& op, bool leading) {
  leading ? AddKernels<true>(op) : AddKernels<false>(op);
}

}  // namespace catamaran
