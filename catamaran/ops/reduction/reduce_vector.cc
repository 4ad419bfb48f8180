#include "catamaran/ops/reduction/reduce_vector.h"

#include <cstddef>
#include <vector>

#include "catamaran/ops/kernel_support.h"
#include "catamaran/ops/reduction/reduce_isa.h"

namespace catamaran {
namespace {

using reference::ReduceSizes;

constexpr int64_t kWideColumns = 128;         // of several narrow rows taken as one
constexpr int64_t kRowsAtOnce = 256;          // results of one task that folds along rows
constexpr int64_t kWorthPieces = 128 * 1024;  // elements; fewer are not cut
constexpr int64_t kManyTasks = 16;            // as many tasks are enough without pieces
constexpr int64_t kMaxPieces = 64;
constexpr int64_t kPieceElements = 32 * 1024;

bool ElementOf(DType dtype, ReduceElement* element) {
  switch (dtype) {
    case DType::kF32:
      *element = ReduceElement::kF32;
      return true;
    case DType::kF64:
      *element = ReduceElement::kF64;
      return true;
    case DType::kI8:
      *element = ReduceElement::kI8;
      return true;
    case DType::kU8:
    case DType::kBool:
      *element = ReduceElement::kU8;
      return true;
    case DType::kI32:
      *element = ReduceElement::kI32;
      return true;
    case DType::kI64:
      *element = ReduceElement::kI64;
      return true;
    case DType::kU64:
      *element = ReduceElement::kU64;
      return true;
    default:
      return false;
  }
}

class ReducePlan : public Prepared {
 public:
  const Reducer* reducer = nullptr;
  ReduceFinish::Mode mode = ReduceFinish::kValue;
  bool moments = false;
  KernelFn reference = nullptr;
};

// Some axes that are walked together.
struct Axes {
  int count = 0;
  int64_t dim[kMaxRank], stride[kMaxRank];

  void Add(int64_t d, int64_t s) {
    dim[count] = d;
    stride[count++] = s;
  }
  int64_t size() const {
    int64_t product = 1;
    for (int i = 0; i < count; ++i) product *= dim[i];
    return product;
  }
  int64_t Offset(int64_t index) const {
    int64_t offset = 0;
    for (int i = count - 1; i >= 0; --i) {
      offset += index % dim[i] * stride[i];
      index /= dim[i];
    }
    return offset;
  }
};

// The reduction as a loop nest: for each of `outer` and for each group of `width` (results that
// lie next to each other), fold `fold` after `along`.
struct Nest {
  Axes outer;            // axes that stay
  Axes fold;             // axes that go, but for the innermost
  int64_t along = 1;     // the innermost that goes
  int64_t width = 1;     // the innermost that stays
  bool columns = false;  // width lies inside of along
};

Nest NestOf(const ReduceSizes& s) {
  int64_t dim[kMaxRank];
  bool goes[kMaxRank];
  int n = 0;
  for (int64_t a = 0; a < s.rank; ++a) {
    if (s.dims[a] == 1) continue;
    const bool reduced = s.reduced[a] != 0;
    if (n > 0 && goes[n - 1] == reduced) {
      dim[n - 1] *= s.dims[a];
    } else {
      dim[n] = s.dims[a];
      goes[n++] = reduced;
    }
  }
  int64_t stride[kMaxRank];
  int64_t next = 1;
  for (int a = n - 1; a >= 0; --a) {
    stride[a] = next;
    next *= dim[a];
  }
  Nest nest;
  nest.columns = n > 0 && !goes[n - 1];
  if (n > 0) (nest.columns ? nest.width : nest.along) = dim[n - 1];
  if (n > 1) (nest.columns ? nest.along : nest.width) = dim[n - 2];
  for (int a = 0; a < n - 2; ++a) (goes[a] ? nest.fold : nest.outer).Add(dim[a], stride[a]);
  return nest;
}

class Reduction {
 public:
  Reduction(KernelContext& context, const Reducer& r, const Nest& nest, const ReduceFinish& how)
      : r_(r),
        nest_(nest),
        how_(how),
        pool_(context.pool),
        x_(context.in(0).data<const std::byte>()),
        y_(context.out().data<std::byte>()),
        result_bytes_(static_cast<int64_t>(SizeOf(context.out().tensor.dtype))),
        group_(GroupOf(nest)),
        groups_((nest.width + group_ - 1) / group_),
        tasks_(nest.outer.size() * groups_),
        folds_(nest.fold.size()) {}

  void Run() {
    const int64_t group = std::min(group_, nest_.width);
    const int64_t work = folds_ * nest_.along * group;
    if (tasks_ < kManyTasks && tasks_ * work >= kWorthPieces && Pieces(group) > 1) {
      return RunPieces(group);
    }
    Split(pool_, tasks_, work / 8, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        alignas(64) std::byte acc[kMaxColumns * kMaxAccBytes];
        const int64_t n = Count(task);
        r_.init(acc, n);
        Fold(task, 0, folds_, 0, nest_.along, acc);
        Finish(task, acc);
      }
    });
  }

 private:
  // Rows are shared out so that there are tasks enough; what lies together in memory stays so.
  static int64_t GroupOf(const Nest& nest) {
    if (nest.columns) return kMaxColumns;
    if (nest.fold.count > 0) return kRowsAtOnce;
    const int64_t share = nest.outer.size() * nest.width / (2 * kManyTasks);
    return std::clamp<int64_t>(share, 1, kRowsAtOnce);
  }

  // What is cut: the outermost that goes.
  int64_t Units() const { return folds_ > 1 ? folds_ : nest_.along; }
  int64_t PieceSize(int64_t group) const {
    const int64_t unit = group * (folds_ > 1 ? nest_.along : 1);
    const int64_t least = std::max<int64_t>(1, kPieceElements / unit);
    return std::max(least, (Units() + kMaxPieces - 1) / kMaxPieces);
  }
  int64_t Pieces(int64_t group) const {
    const int64_t size = PieceSize(group);
    return (Units() + size - 1) / size;
  }

  void RunPieces(int64_t group) {
    const int64_t pieces = Pieces(group), size = PieceSize(group);
    const int64_t bytes = (group * r_.acc_bytes + 63) / 64 * 64;
    thread_local std::vector<std::byte> memory;
    memory.resize(static_cast<size_t>(tasks_ * pieces * bytes));
    std::byte* parts = memory.data();
    Split(pool_, tasks_ * pieces, kWorthPieces, [&](int64_t begin, int64_t end) {
      for (int64_t item = begin; item < end; ++item) {
        const int64_t task = item / pieces, first = item % pieces * size;
        const int64_t last = std::min(Units(), first + size);
        r_.init(parts + item * bytes, Count(task));
        if (folds_ > 1) {
          Fold(task, first, last, 0, nest_.along, parts + item * bytes);
        } else {
          Fold(task, 0, 1, first, last, parts + item * bytes);
        }
      }
    });
    for (int64_t task = 0; task < tasks_; ++task) {
      std::byte* acc = parts + task * pieces * bytes;
      for (int64_t k = 1; k < pieces; ++k) r_.merge(acc + k * bytes, acc, Count(task));
      Finish(task, acc);
    }
  }

  int64_t First(int64_t task) const { return task % groups_ * group_; }
  int64_t Count(int64_t task) const { return std::min(group_, nest_.width - First(task)); }

  void Fold(int64_t task, int64_t fold_begin, int64_t fold_end, int64_t begin, int64_t end,
            std::byte* acc) const {
    const int64_t outer = nest_.outer.Offset(task / groups_), n = Count(task);
    for (int64_t f = fold_begin; f < fold_end; ++f) {
      const int64_t base = outer + nest_.fold.Offset(f);
      if (nest_.columns) {
        Across(base + begin * nest_.width + First(task), end - begin, n, acc);
      } else if (begin == 0 && end == nest_.along) {
        r_.along(At(base + First(task) * nest_.along), n, nest_.along, acc);
      } else {
        for (int64_t o = 0; o < n; ++o) {
          r_.along(At(base + (First(task) + o) * nest_.along + begin), 1, end - begin,
                   acc + o * r_.acc_bytes);
        }
      }
    }
  }

  // Rows of few columns are taken several at a time as one wide row.
  void Across(int64_t offset, int64_t rows, int64_t n, std::byte* acc) const {
    const int64_t wide = kWideColumns / nest_.width;
    if (wide < 2 || rows < 4 * wide) return r_.across(At(offset), rows, nest_.width, n, acc);
    alignas(64) std::byte parts[kWideColumns * kMaxAccBytes];
    r_.init(parts, wide * n);
    r_.across(At(offset), rows / wide, wide * n, wide * n, parts);
    for (int64_t k = 0; k < wide; ++k) r_.merge(parts + k * n * r_.acc_bytes, acc, n);
    const int64_t done = rows / wide * wide;
    r_.across(At(offset + done * n), rows - done, n, n, acc);
  }

  void Finish(int64_t task, const std::byte* acc) const {
    const int64_t at = task / groups_ * nest_.width + First(task);
    r_.finish(acc, y_ + at * result_bytes_, Count(task), how_);
  }

  const std::byte* At(int64_t element) const { return x_ + element * r_.element_bytes; }

  const Reducer& r_;
  const Nest& nest_;
  const ReduceFinish& how_;
  ThreadPool* pool_;
  const std::byte* x_;
  std::byte* y_;
  int64_t result_bytes_;
  int64_t group_;   // results of one task, at most
  int64_t groups_;  // in a row of `width` results
  int64_t tasks_;
  int64_t folds_;
};

KernelStatus RunVectorReduce(KernelContext& context) {
  const auto& plan = *static_cast<const ReducePlan*>(context.prepared);
  const ReduceSizes s = ReduceSizesNow(context);
  const int64_t count = reference::ReducedElements(s);
  if (count == 0 || context.out().size() == 0) return plan.reference(context);
  ReduceFinish how{plan.mode, static_cast<double>(count), 1};
  if (s.divide) how.divisor = how.count;
  if (plan.moments) {
    how.divisor = std::max(how.count - s.number, 0.0);
    how.mode = s.flag ? ReduceFinish::kRoot : ReduceFinish::kValue;
  }
  const Nest nest = NestOf(s);
  Reduction(context, *plan.reducer, nest, how).Run();
  return KernelStatus::kDone;
}

}  // namespace

Kernel VectorReduceKernel(ReduceChoice (*choose)(const KernelQuery&), KernelFn reference) {
  Kernel kernel;
  kernel.name = "vector";
  kernel.run = RunVectorReduce;
  kernel.supports = [choose](const KernelQuery& query) {
    ReduceElement element;
    const ReduceChoice choice = choose(query);
    return choice.fits && ElementOf(query.in[0]->tensor.dtype, &element) &&
           ReduceFunctionsFor(query.isa).reducer(choice.kind, element) != nullptr;
  };
  kernel.prepare = [choose, reference](const KernelQuery& query) {
    auto plan = std::make_unique<ReducePlan>();
    ReduceElement element{};
    const ReduceChoice choice = choose(query);
    ElementOf(query.in[0]->tensor.dtype, &element);
    plan->reducer = ReduceFunctionsFor(query.isa).reducer(choice.kind, element);
    plan->mode = choice.mode;
    plan->moments = choice.kind == ReduceKind::kMoments;
    plan->reference = reference;
    return plan;
  };
  return kernel;
}

}  // namespace catamaran
