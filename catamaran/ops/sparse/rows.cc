// ops/sparse/rows.cc
//
// Arithmetic on sparse gradients: what clipping, guards and dense optimizers need of them. They
// stay as they are, views of the ids and gradients of the run; only rows_to_dense and
// rows_square_norm add up equal keys.

#include <cmath>

#include "catamaran/ops/kernel_support.h"
#include "catamaran/ops/row_sums.h"

namespace catamaran {
namespace {

const char kNoSecond[] = "a sparse gradient is not differentiated again";

RowsValue& RowsOut(const KernelContext& c) { return *static_cast<RowsValue*>(c.out().object); }
const RowsValue& RowsIn(const KernelContext& c, int i) {
  return *static_cast<const RowsValue*>(c.in(i).object);
}

bool WantRows(InferContext& c, int i) {
  if (c.has(i) && c.type(i).is_rows()) return true;
  return c.Fail("wants rows, found " + (c.has(i) ? c.type(i).ToString() : "nothing"));
}

OpTraits HoldingTraits() {
  OpTraits traits;
  traits.holds_operands = true;
  return traits;
}

KernelStatus RunToDense(KernelContext& c) {
  const RowsValue& rows = RowsIn(c, 0);
  DispatchFloating(
      c.out().tensor.dtype,
      [&]<class T>(T) {
        T* y = c.out().data<T>();
        const int64_t count = c.out().shape()[0];
        std::fill_n(y, c.out().size(), T(0));
        ForEachRow<T>(rows, [&](uint64_t key, const T* row, T factor) {
          if (key >= static_cast<uint64_t>(count)) {
            Fail(ErrorCode::kBadData, "key {} is outside of the {} rows", key, count);
          }
          T* to = y + static_cast<int64_t>(key) * rows.width;
          for (int64_t i = 0; i < rows.width; ++i) to[i] += row[i] * factor;
        });
      },
      "rows_to_dense");
  return KernelStatus::kDone;
}

KernelStatus RunConcat(KernelContext& c) {
  RowsValue& out = RowsOut(c);
  out.dtype = RowsIn(c, 0).dtype;
  out.width = RowsIn(c, 0).width;
  out.segments.clear();
  for (int i = 0; i < c.num_ins; ++i) {
    const std::vector<RowsSegment>& segments = RowsIn(c, i).segments;
    out.segments.insert(out.segments.end(), segments.begin(), segments.end());
  }
  return KernelStatus::kDone;
}

double ScalarOf(const Slot& slot) {
  return DispatchFloating(
      slot.tensor.dtype, [&]<class T>(T) { return static_cast<double>(*slot.data<T>()); }, "scale");
}

KernelStatus RunScale(KernelContext& c) {
  RowsValue& out = RowsOut(c);
  const RowsValue& in = RowsIn(c, 0);
  const double scale = ScalarOf(c.in(1));
  out.dtype = in.dtype;
  out.width = in.width;
  out.segments.assign(in.segments.begin(), in.segments.end());
  for (RowsSegment& segment : out.segments) segment.scale *= scale;
  return KernelStatus::kDone;
}

KernelStatus RunSquareNorm(KernelContext& c) {
  const RowsValue& rows = RowsIn(c, 0);
  DispatchFloating(
      rows.dtype,
      [&]<class T>(T) {
        const RowSums<T>& sums = RowSums<T>::Of(rows);
        double total = 0;
        for (int64_t k = 0; k < sums.size(); ++k) {
          const T* row = sums.row(k);
          for (int64_t i = 0; i < rows.width; ++i) {
            total += static_cast<double>(row[i]) * static_cast<double>(row[i]);
          }
        }
        *c.out().data<T>() = static_cast<T>(total);
      },
      "rows_square_norm");
  return KernelStatus::kDone;
}

KernelStatus RunAllFinite(KernelContext& c) {
  const RowsValue& rows = RowsIn(c, 0);
  bool finite = true;
  DispatchFloating(
      rows.dtype,
      [&]<class T>(T) {
        ForEachRow<T>(rows, [&](uint64_t, const T* row, T factor) {
          for (int64_t i = 0; i < rows.width; ++i) finite &= std::isfinite(row[i] * factor);
        });
      },
      "rows_all_finite");
  *c.out().data<bool>() = finite;
  return KernelStatus::kDone;
}

}  // namespace

void DefineRowsToDense(OpSet& ops) {
  ops.Define("rows_to_dense")
      .Example(R"(param @w : f32[1000, 16]
fn gradient(g: rows<f32[16]>) -> f32[1000, 16] {
  return rows_to_dense(g, @w)
})")
      .Group("sparse")
      .Doc(
          "A sparse gradient as a tensor like the parameter: zeros where there is no row, equal "
          "keys added up in order.")
      .Formula("y[k] = sum of the rows with key k")
      .In("rows")
      .In("like", "the parameter; only its shape matters")
      .Infer([](InferContext& c) {
        if (!WantRows(c, 0) || !c.WantFloat(1) || !c.WantMinRank(1, 1)) return;
        const Type& rows = c.type(0);
        const Type& like = c.type(1);
        if (like.rank() != rows.rank() + 1 || like.dtype() != rows.dtype()) {
          c.Fail("the rows do not fit that parameter");
          return;
        }
        for (int i = 0; i < rows.rank(); ++i) {
          if (!c.Unify(rows.dim(i), like.dim(i + 1), "dimensions of a row")) return;
        }
        c.SetResult(like);
      })
      .NoGrad(kNoSecond)
      .Reference("", RunToDense);
}

void DefineRowsConcat(OpSet& ops) {
  ops.Define("rows_concat")
      .Example(R"(fn both(a: rows<f32[16]>, b: rows<f32[16]>) -> rows<f32[16]> {
  return rows_concat(a, b)
})")
      .Group("sparse")
      .Doc("All the rows of several sparse gradients of one state, in order: their sum.")
      .Formula("y = rows[0], rows[1], …")
      .VariadicIn("rows")
      .Traits(HoldingTraits())
      .Infer([](InferContext& c) {
        if (c.num_operands() == 0) {
          c.Fail("wants at least one operand");
          return;
        }
        for (int i = 0; i < c.num_operands(); ++i) {
          if (!WantRows(c, i)) return;
          if (i > 0 && !(c.type(i) == c.type(0))) {
            c.Fail("wants rows of one type");
            return;
          }
        }
        c.SetResult(c.type(0));
      })
      .NoGrad(kNoSecond)
      .Reference("", RunConcat);
}

void DefineRowsScale(OpSet& ops) {
  ops.Define("rows_scale")
      .Example(R"(fn half(g: rows<f32[16]>) -> rows<f32[16]> {
  return rows_scale(g, 0.5)
})")
      .Group("sparse")
      .Doc("A sparse gradient times a number.")
      .Formula("y = scale * rows")
      .In("rows")
      .In("scale", "a scalar")
      .Traits(HoldingTraits())
      .Infer([](InferContext& c) {
        if (!WantRows(c, 0)) return;
        c.AdoptLiteral(1, c.type(0).dtype());
        if (c.WantFloat(1) && c.WantRank(1, 0)) c.SetResult(c.type(0));
      })
      .NoGrad(kNoSecond)
      .Reference("", RunScale);
}

void DefineRowsSquareNorm(OpSet& ops) {
  ops.Define("rows_square_norm")
      .Example(R"(fn norm(g: rows<f32[16]>) -> f32[] {
  return sqrt(rows_square_norm(g))
})")
      .Group("sparse")
      .Doc("The sum of the squares of a sparse gradient's numbers, after equal keys were added up.")
      .Formula("y = sum over keys k and i of (sum of the rows with key k)[i]^2")
      .In("rows")
      .Infer([](InferContext& c) {
        if (WantRows(c, 0)) c.SetResult(Type::Scalar(c.type(0).dtype()));
      })
      .NoGrad(kNoSecond)
      .Reference("", RunSquareNorm);
}

void DefineRowsAllFinite(OpSet& ops) {
  ops.Define("rows_all_finite")
      .Example(R"(fn usable(g: rows<f32[16]>) -> bool[] {
  return rows_all_finite(g)
})")
      .Group("sparse")
      .Doc("Whether no number of a sparse gradient is infinite or NaN.")
      .Formula("y = all of isfinite(rows)")
      .In("rows")
      .Infer([](InferContext& c) {
        if (WantRows(c, 0)) c.SetResult(Type::Scalar(DType::kBool));
      })
      .StopsGrad()
      .Reference("", RunAllFinite);
}

}  // namespace catamaran
