// How einsum contracts its operands two by two: permutations and sums where they are needed, then
// products of matrices.

#include <algorithm>
#include <map>

#include "catamaran/ops/blas.h"
#include "catamaran/ops/kernel_support.h"
#include "catamaran/ops/matrix/einsum.h"
#include "catamaran/ops/matrix/gemm.h"

namespace catamaran {

namespace {

// Where a step reads or writes: an operand, the result, or scratch memory at an offset.
struct Place {
  enum class Kind { kOperand, kResult, kScratch } kind = Kind::kOperand;
  int64_t at = 0;
};

// to[…] = sum over the inner indices of from[…].
struct CopyStep {
  Place from, to;
  std::vector<int64_t> dims, from_steps, to_steps;  // of what is kept
  std::vector<int64_t> sum_dims, sum_steps;
  int64_t clear = 0;  // elements of `to` that are set to 0 first
};

// One product of matrices for each index of the batch; operands and result lie anywhere.
struct ProductStep {
  Place a, b, c;
  std::vector<int64_t> dims, a_steps, b_steps, c_steps;  // of the batch
  int64_t batch = 1, m = 1, n = 1, k = 1;
  int64_t lda = 1, ldb = 1, ldc = 1;
  bool transpose_a = false, transpose_b = false;
};

struct Step {
  bool is_product = false;
  CopyStep copy;
  ProductStep product;
};

// An operand or an intermediate result: its indices, each once.
struct View {
  Place place;
  std::string indices;
  std::vector<int64_t> strides;

  int64_t StrideOf(char index) const { return strides[indices.find(index)]; }
  bool Has(char index) const { return indices.find(index) != std::string::npos; }
};

class EinsumPlan final : public Prepared {
 public:
  EinsumPlan(const EinsumSpec& spec, std::span<const Shape> inputs, const Shape& output) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      for (size_t axis = 0; axis < spec.inputs[i].size(); ++axis) {
        const int64_t dim = inputs[i][static_cast<int>(axis)];
        int64_t& size = sizes_.try_emplace(spec.inputs[i][axis], 1).first->second;
        if (dim != 1) size = dim;
      }
    }
    for (const auto& [index, size] : sizes_) empty_ |= size == 0;
    result_ = ViewOf({Place::Kind::kResult, 0}, spec.output, output);
    result_count_ = output.num_elements();
    // A repeated index in the result leaves elements that nothing is written to.
    diagonal_ = result_count_ != CountOf(result_.indices);
    if (empty_) return;
    View view = ViewOf({Place::Kind::kOperand, 0}, spec.inputs[0], inputs[0]);
    for (size_t i = 1; i < inputs.size(); ++i) {
      std::string needed = spec.output;
      for (size_t k = i + 1; k < inputs.size(); ++k) needed += spec.inputs[k];
      view = Contract(
          view, ViewOf({Place::Kind::kOperand, static_cast<int64_t>(i)}, spec.inputs[i], inputs[i]),
          needed, i + 1 == inputs.size());
    }
    if (view.place.kind != Place::Kind::kResult) Finish(view);
  }

  int64_t scratch() const { return scratch_; }

  template <class T>
  void Run(const KernelContext& c) const {
    if (empty_) {
      std::fill_n(c.out().data<T>(), result_count_, T(0));
      return;
    }
    for (const Step& step : steps_) {
      step.is_product ? RunProduct<T>(c, step.product) : RunCopy<T>(c, step.copy);
    }
  }

 private:
  int64_t CountOf(const std::string& indices) const {
    int64_t count = 1;
    for (char index : indices) count *= sizes_.at(index);
    return count;
  }

  // Indices of size 1, and those along which the tensor repeats, are left out.
  View ViewOf(Place place, const std::string& indices, const Shape& shape) const {
    View view{place, {}, {}};
    const auto strides = shape.RowMajorStrides();
    for (size_t axis = 0; axis < indices.size(); ++axis) {
      if (shape[static_cast<int>(axis)] == 1) continue;
      const size_t found = view.indices.find(indices[axis]);
      if (found != std::string::npos) {
        view.strides[found] += strides[axis];
      } else {
        view.indices += indices[axis];
        view.strides.push_back(strides[axis]);
      }
    }
    return view;
  }

  Place NewScratch(int64_t count) {
    const Place place{Place::Kind::kScratch, scratch_};
    scratch_ += (count + 15) / 16 * 16;
    return place;
  }

  // Whether the view lies in memory in just this order.
  bool IsPacked(const View& view, const std::string& order) const {
    if (view.indices.size() != order.size()) return false;
    int64_t stride = 1;
    for (size_t i = order.size(); i-- > 0;) {
      if (view.StrideOf(order[i]) != stride) return false;
      stride *= sizes_.at(order[i]);
    }
    return true;
  }

  // The view as a dense tensor in this order; other indices are summed over.
  Place Pack(const View& view, const std::string& order) {
    if (IsPacked(view, order)) return view.place;
    Step step;
    CopyStep& copy = step.copy;
    copy.from = view.place;
    copy.to = NewScratch(CountOf(order));
    int64_t stride = CountOf(order);
    for (char index : order) {
      stride /= sizes_.at(index);
      copy.dims.push_back(sizes_.at(index));
      copy.from_steps.push_back(view.StrideOf(index));
      copy.to_steps.push_back(stride);
    }
    AddSums(view, order, copy);
    Merge(copy);
    steps_.push_back(std::move(step));
    return steps_.back().copy.to;
  }

  void AddSums(const View& view, const std::string& kept, CopyStep& copy) const {
    for (char index : view.indices) {
      if (kept.find(index) != std::string::npos) continue;
      copy.sum_dims.push_back(sizes_.at(index));
      copy.sum_steps.push_back(view.StrideOf(index));
    }
  }

  // The order in which the result has those of its indices that are in `indices`.
  static std::string Ordered(const std::string& order, const std::string& indices) {
    std::string out;
    for (char index : order) {
      if (indices.find(index) != std::string::npos) out += index;
    }
    return out;
  }

  // Whether the indices run through the view as one, and how far apart their elements are.
  bool IsOne(const View& view, const std::string& indices, int64_t* stride) const {
    *stride = 0;
    for (size_t i = indices.size(); i-- > 0;) {
      if (i + 1 == indices.size()) {
        *stride = view.StrideOf(indices[i]);
      } else if (view.StrideOf(indices[i]) !=
                 view.StrideOf(indices[i + 1]) * sizes_.at(indices[i + 1])) {
        return false;
      }
    }
    return true;
  }

  // Whether the view is a matrix [rows, columns], or that transposed, for the libraries.
  bool IsMatrix(const View& view, const std::string& rows, const std::string& columns,
                int64_t* distance, bool* transposed) const {
    int64_t row = 0, column = 0;
    if (!IsOne(view, rows, &row) || !IsOne(view, columns, &column)) return false;
    const int64_t m = CountOf(rows), n = CountOf(columns);
    *transposed = false;
    if (column == 1 || columns.empty()) {
      *distance = rows.empty() ? n : row;
      if (*distance >= n) return true;
    }
    *transposed = true;
    *distance = columns.empty() ? m : column;
    return (row == 1 || rows.empty()) && *distance >= m;
  }

  // A dense copy of the view in this order; indices that are not in it are summed over.
  View Packed(const View& view, const std::string& order) {
    View packed{Pack(view, order), order, {}};
    int64_t stride = CountOf(order);
    for (char index : order) packed.strides.push_back(stride /= sizes_.at(index));
    return packed;
  }

  // Moves indices from the front of `free` to the batch until the rest is one in the view.
  void SplitOff(const View& view, std::string& free, std::string& batch) const {
    int64_t stride = 0;
    while (!IsOne(view, free, &stride)) {
      batch += free[0];
      free.erase(0, 1);
    }
  }

  View Contract(View a, View b, const std::string& needed, bool last) {
    std::string batch, inner, free_a, free_b;
    for (char index : a.indices) {
      const bool kept = needed.find(index) != std::string::npos;
      if (b.Has(index)) {
        (kept ? batch : inner) += index;
      } else if (kept) {
        free_a += index;
      }
    }
    for (char index : b.indices) {
      if (!a.Has(index) && needed.find(index) != std::string::npos) free_b += index;
    }
    const std::string all_a = batch + free_a + inner, all_b = batch + free_b + inner;
    if (all_a.size() != a.indices.size()) a = Packed(a, all_a);
    if (all_b.size() != b.indices.size()) b = Packed(b, all_b);

    // Straight into the result, where its indices allow it.
    View out = result_;
    bool direct = last && !diagonal_;
    if (direct) {
      free_a = Ordered(result_.indices, free_a);
      free_b = Ordered(result_.indices, free_b);
      std::string with_a = free_a, with_b = free_b, moved = batch;
      SplitOff(result_, with_a, moved);
      SplitOff(result_, with_b, moved);
      int64_t row = 0, column = 0;
      IsOne(result_, with_a, &row);
      IsOne(result_, with_b, &column);
      if ((!with_b.empty() && column != 1) || (with_b.empty() && row == 1)) {
        std::swap(a, b);
        std::swap(with_a, with_b);
        std::swap(free_a, free_b);
        std::swap(row, column);
      }
      direct = column == 1 || with_b.empty();
      if (direct) batch = moved, free_a = with_a, free_b = with_b;
    }
    if (!direct) {
      out = View{{}, batch + free_a + free_b, {}};
      out.place = NewScratch(CountOf(out.indices));
      int64_t stride = CountOf(out.indices);
      for (char index : out.indices) out.strides.push_back(stride /= sizes_.at(index));
    }

    Step step;
    step.is_product = true;
    ProductStep& product = step.product;
    product.m = CountOf(free_a), product.n = CountOf(free_b), product.k = CountOf(inner);
    product.batch = CountOf(batch);
    if (!IsMatrix(a, free_a, inner, &product.lda, &product.transpose_a)) {
      a = Packed(a, Ordered(batch, a.indices) + free_a + inner);
      IsMatrix(a, free_a, inner, &product.lda, &product.transpose_a);
    }
    if (!IsMatrix(b, inner, free_b, &product.ldb, &product.transpose_b)) {
      b = Packed(b, Ordered(batch, b.indices) + inner + free_b);
      IsMatrix(b, inner, free_b, &product.ldb, &product.transpose_b);
    }
    int64_t row = 0;
    IsOne(out, free_a, &row);
    product.ldc = free_a.empty() ? std::max<int64_t>(1, product.n) : row;
    for (char index : batch) {
      product.dims.push_back(sizes_.at(index));
      product.a_steps.push_back(a.Has(index) ? a.StrideOf(index) : 0);
      product.b_steps.push_back(b.Has(index) ? b.StrideOf(index) : 0);
      product.c_steps.push_back(out.StrideOf(index));
    }
    product.a = a.place, product.b = b.place, product.c = out.place;
    steps_.push_back(std::move(step));
    return out;
  }

  void Finish(const View& view) {
    Step step;
    CopyStep& copy = step.copy;
    copy.from = view.place;
    copy.to = result_.place;
    if (diagonal_) copy.clear = result_count_;
    for (size_t i = 0; i < result_.indices.size(); ++i) {
      const char index = result_.indices[i];
      copy.dims.push_back(sizes_.at(index));
      copy.from_steps.push_back(view.StrideOf(index));
      copy.to_steps.push_back(result_.strides[i]);
    }
    AddSums(view, result_.indices, copy);
    Merge(copy);
    steps_.push_back(std::move(step));
  }

  // Neighbouring indices that run through both sides as one become one.
  static void Merge(CopyStep& s) {
    for (size_t i = s.dims.size(); i-- > 1;) {
      if (s.from_steps[i - 1] != s.from_steps[i] * s.dims[i] ||
          s.to_steps[i - 1] != s.to_steps[i] * s.dims[i]) {
        continue;
      }
      s.dims[i - 1] *= s.dims[i];
      s.from_steps[i - 1] = s.from_steps[i], s.to_steps[i - 1] = s.to_steps[i];
      s.dims.erase(s.dims.begin() + static_cast<ptrdiff_t>(i));
      s.from_steps.erase(s.from_steps.begin() + static_cast<ptrdiff_t>(i));
      s.to_steps.erase(s.to_steps.begin() + static_cast<ptrdiff_t>(i));
    }
    for (size_t i = s.sum_dims.size(); i-- > 1;) {
      if (s.sum_steps[i - 1] != s.sum_steps[i] * s.sum_dims[i]) continue;
      s.sum_dims[i - 1] *= s.sum_dims[i];
      s.sum_steps[i - 1] = s.sum_steps[i];
      s.sum_dims.erase(s.sum_dims.begin() + static_cast<ptrdiff_t>(i));
      s.sum_steps.erase(s.sum_steps.begin() + static_cast<ptrdiff_t>(i));
    }
  }

  template <class T>
  static T* At(const KernelContext& c, const Place& place) {
    switch (place.kind) {
      case Place::Kind::kOperand:
        return c.in(static_cast<int>(place.at)).data<T>();
      case Place::Kind::kResult:
        return c.out().data<T>();
      default:
        return static_cast<T*>(c.scratch) + place.at;
    }
  }

  // Sums, with the indices from `axis` on still to be walked.
  template <class T>
  static T SumOver(const CopyStep& s, const T* from, size_t axis) {
    if (axis == s.sum_dims.size()) return *from;
    const int64_t count = s.sum_dims[axis], step = s.sum_steps[axis];
    T sum = T(0);
    int64_t i = 0;
    if (axis + 1 == s.sum_dims.size()) {
      T parts[16] = {};
      if (step == 1) {
        for (; i + 16 <= count; i += 16) {
          for (int64_t k = 0; k < 16; ++k) parts[k] += from[i + k];
        }
      } else {
        for (; i + 4 <= count; i += 4) {
          for (int64_t k = 0; k < 4; ++k) parts[k] += from[(i + k) * step];
        }
      }
      for (T part : parts) sum += part;
    }
    for (; i < count; ++i) sum += SumOver(s, from + i * step, axis + 1);
    return sum;
  }

  template <class T>
  static void CopyFrom(const CopyStep& s, const T* from, T* to, size_t axis) {
    if (axis == s.dims.size()) {
      *to = SumOver(s, from, 0);
      return;
    }
    const int64_t count = s.dims[axis], step = s.from_steps[axis], to_step = s.to_steps[axis];
    const bool plain = s.sum_dims.empty();
    if (plain && axis + 1 == s.dims.size()) {
      for (int64_t i = 0; i < count; ++i) to[i * to_step] = from[i * step];
    } else if (plain && axis + 2 == s.dims.size()) {
      // In squares, so that lines of both sides are used while they are near.
      const int64_t columns = s.dims[axis + 1];
      const int64_t next = s.from_steps[axis + 1], to_next = s.to_steps[axis + 1];
      for (int64_t i0 = 0; i0 < count; i0 += 16) {
        for (int64_t j0 = 0; j0 < columns; j0 += 16) {
          const int64_t i1 = std::min(count, i0 + 16), j1 = std::min(columns, j0 + 16);
          for (int64_t i = i0; i < i1; ++i) {
            for (int64_t j = j0; j < j1; ++j) {
              to[i * to_step + j * to_next] = from[i * step + j * next];
            }
          }
        }
      }
    } else {
      for (int64_t i = 0; i < count; ++i) {
        CopyFrom(s, from + i * step, to + i * to_step, axis + 1);
      }
    }
  }

  template <class T>
  static void RunCopy(const KernelContext& c, const CopyStep& s) {
    T* to = At<T>(c, s.to);
    std::fill_n(to, s.clear, T(0));
    CopyFrom(s, static_cast<const T*>(At<T>(c, s.from)), to, 0);
  }

  template <class T>
  static void RunProduct(const KernelContext& c, const ProductStep& s) {
    const T* a = At<T>(c, s.a);
    const T* b = At<T>(c, s.b);
    T* y = At<T>(c, s.c);
    const int64_t work = s.m * s.n * s.k;
    Split(c.pool, s.batch, std::max<int64_t>(1, work / 8), [&](int64_t begin, int64_t end) {
      for (int64_t q = begin; q < end; ++q) {
        int64_t left = q, at_a = 0, at_b = 0, at_c = 0;
        for (size_t axis = s.dims.size(); axis-- > 0;) {
          const int64_t index = left % s.dims[axis];
          left /= s.dims[axis];
          at_a += index * s.a_steps[axis];
          at_b += index * s.b_steps[axis];
          at_c += index * s.c_steps[axis];
        }
        if (work == 1) {
          y[at_c] = a[at_a] * b[at_b];
        } else if (s.m == 1 && s.n == 1 && (s.k == 1 || IsContiguous(s))) {
          y[at_c] = blas::Dot(s.k, a + at_a, b + at_b);
        } else {
          Gemm(s.transpose_a, s.transpose_b, s.m, s.n, s.k, a + at_a, s.lda, b + at_b, s.ldb,
               y + at_c, s.ldc);
        }
      }
    });
  }

  // A row times a column, both without gaps.
  static bool IsContiguous(const ProductStep& s) {
    return (!s.transpose_a || s.lda == 1) && (s.transpose_b || s.ldb == 1);
  }

  std::map<char, int64_t> sizes_;
  View result_;
  int64_t result_count_ = 0;
  bool diagonal_ = false, empty_ = false;
  std::vector<Step> steps_;
  int64_t scratch_ = 0;
};

}  // namespace

std::unique_ptr<Prepared> PlanEinsum(const EinsumSpec& spec, std::span<const Shape> inputs,
                                     const Shape& output) {
  return std::make_unique<EinsumPlan>(spec, inputs, output);
}

int64_t EinsumPlanScratch(const Prepared& plan) {
  return static_cast<const EinsumPlan&>(plan).scratch();
}

void RunEinsumPlan(const Prepared& plan, const KernelContext& context) {
  DispatchFloating(
      context.out().tensor.dtype,
      [&]<class T>(T) { static_cast<const EinsumPlan&>(plan).Run<T>(context); }, "einsum");
}

}  // namespace catamaran
