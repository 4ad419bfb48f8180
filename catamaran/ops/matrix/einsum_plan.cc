#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "catamaran/base/small_vector.h"
#include "catamaran/ops/blas.h"
#include "catamaran/ops/kernel_support.h"
#include "catamaran/ops/matrix/einsum.h"
#include "catamaran/ops/matrix/gemm.h"

namespace catamaran {

namespace {

// One operand's text: the letters, and where `...` stands (or npos).
struct Subscript {
  std::string letters;
  size_t dots = std::string::npos;
};

bool ParseSubscript(std::string_view text, Subscript& subscript, std::string& error) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 3) == "..." && subscript.dots == std::string::npos) {
      subscript.dots = subscript.letters.size();
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(text[i]))) {
      subscript.letters += text[i];
    } else {
      error = fmt::format("\"{}\" is not a list of letters with at most one ...", text);
      return false;
    }
  }
  return true;
}

// With the last `count` of `most` digits in the place of the dots.
std::string Expand(const Subscript& subscript, int count, int most) {
  if (subscript.dots == std::string::npos) return subscript.letters;
  std::string digits;
  for (int i = most - count; i < most; ++i) digits += static_cast<char>('0' + i);
  return subscript.letters.substr(0, subscript.dots) + digits +
         subscript.letters.substr(subscript.dots);
}

}  // namespace

EinsumSpec ParseEinsum(std::string_view equation, std::span<const int> ranks) {
  EinsumSpec spec;
  std::string text;
  for (char c : equation) {
    if (c != ' ') text += c;
  }
  const size_t arrow = text.find("->");
  std::vector<Subscript> inputs;
  std::string_view left = std::string_view(text).substr(0, arrow);
  while (true) {
    const size_t comma = left.find(',');
    if (!ParseSubscript(left.substr(0, comma), inputs.emplace_back(), spec.error)) return spec;
    if (comma == std::string_view::npos) break;
    left.remove_prefix(comma + 1);
  }
  if (inputs.size() != ranks.size()) {
    spec.error = fmt::format("the equation \"{}\" has {} operands, {} are given", equation,
                             inputs.size(), ranks.size());
    return spec;
  }
  int most = 0;
  std::vector<int> counts;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int letters = static_cast<int>(inputs[i].letters.size()), rest = ranks[i] - letters;
    const bool dots = inputs[i].dots != std::string::npos;
    if (dots ? rest < 0 : rest != 0) {
      spec.error = fmt::format("\"{}\" names {} axes{}; operand {} has {}", inputs[i].letters,
                               letters, dots ? " and ..." : "", i, ranks[i]);
      return spec;
    }
    counts.push_back(rest);
    most = std::max(most, rest);
  }
  std::map<char, int> uses;
  for (size_t i = 0; i < inputs.size(); ++i) {
    spec.inputs.push_back(Expand(inputs[i], counts[i], most));
    for (char index : spec.inputs.back()) ++uses[index];
  }
  if (arrow == std::string::npos) {
    for (int i = 0; i < most; ++i) spec.output += static_cast<char>('0' + i);
    for (const auto& [index, count] : uses) {
      if (count == 1 && std::isalpha(static_cast<unsigned char>(index))) spec.output += index;
    }
    return spec;
  }
  Subscript output;
  if (!ParseSubscript(std::string_view(text).substr(arrow + 2), output, spec.error)) return spec;
  spec.output = Expand(output, most, most);
  for (char index : spec.output) {
    if (!uses.contains(index)) {
      spec.error = fmt::format("index {} of the result is in no operand", index);
      return spec;
    }
  }
  return spec;
}

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

struct ProductStep {
  Place a, b, c;
  int64_t batch = 1, m = 1, n = 1, k = 1;
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

  View Contract(View a, View b, const std::string& needed, bool last) {
    std::string shared, inner, free_a, free_b;
    for (char index : a.indices) {
      const bool kept = needed.find(index) != std::string::npos;
      if (b.Has(index)) {
        (kept ? shared : inner) += index;
      } else if (kept) {
        free_a += index;
      }
    }
    for (char index : b.indices) {
      if (!a.Has(index) && needed.find(index) != std::string::npos) free_b += index;
    }
    if (last) {
      // In the result's order, so that the product can be the result.
      shared = Ordered(result_.indices, shared);
      free_a = Ordered(result_.indices, free_a);
      free_b = Ordered(result_.indices, free_b);
      if (IsPacked(result_, shared + free_b + free_a) && !free_a.empty() && !free_b.empty()) {
        std::swap(a, b);
        std::swap(free_a, free_b);
      }
    }
    Step step;
    step.is_product = true;
    ProductStep& product = step.product;
    product.batch = CountOf(shared);
    product.m = CountOf(free_a), product.n = CountOf(free_b), product.k = CountOf(inner);
    // As they lie, transposed, or else packed.
    product.transpose_a =
        !IsPacked(a, shared + free_a + inner) && IsPacked(a, shared + inner + free_a);
    product.a = Pack(a, product.transpose_a ? shared + inner + free_a : shared + free_a + inner);
    product.transpose_b =
        !IsPacked(b, shared + inner + free_b) && IsPacked(b, shared + free_b + inner);
    product.b = Pack(b, product.transpose_b ? shared + free_b + inner : shared + inner + free_b);
    View view;
    view.indices = shared + free_a + free_b;
    const bool direct = last && !diagonal_ && IsPacked(result_, view.indices);
    view.place = direct ? result_.place : NewScratch(CountOf(view.indices));
    int64_t stride = CountOf(view.indices);
    for (char index : view.indices) view.strides.push_back(stride /= sizes_.at(index));
    product.c = view.place;
    steps_.push_back(std::move(step));
    return view;
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
    steps_.push_back(std::move(step));
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
    T sum = T(0);
    for (int64_t i = 0; i < s.sum_dims[axis]; ++i) {
      sum += SumOver(s, from + i * s.sum_steps[axis], axis + 1);
    }
    return sum;
  }

  template <class T>
  static void CopyFrom(const CopyStep& s, const T* from, T* to, size_t axis) {
    if (axis == s.dims.size()) {
      *to = SumOver(s, from, 0);
      return;
    }
    const int64_t step = s.from_steps[axis], to_step = s.to_steps[axis];
    if (axis + 1 == s.dims.size() && s.sum_dims.empty()) {
      for (int64_t i = 0; i < s.dims[axis]; ++i) to[i * to_step] = from[i * step];
      return;
    }
    for (int64_t i = 0; i < s.dims[axis]; ++i) {
      CopyFrom(s, from + i * step, to + i * to_step, axis + 1);
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
    const int64_t lda = s.transpose_a ? s.m : s.k, ldb = s.transpose_b ? s.k : s.n;
    if (s.m == 1 && s.n == 1 && s.k == 1) {
      for (int64_t q = 0; q < s.batch; ++q) y[q] = a[q] * b[q];
      return;
    }
    Split(c.pool, s.batch, s.m * s.n * s.k / 8, [&](int64_t begin, int64_t end) {
      for (int64_t q = begin; q < end; ++q) {
        const T* a_q = a + q * s.m * s.k;
        const T* b_q = b + q * s.k * s.n;
        if (s.m == 1 && s.n == 1) {
          y[q] = blas::Dot(s.k, a_q, b_q);
        } else {
          Gemm(s.transpose_a, s.transpose_b, s.m, s.n, s.k, a_q, lda, b_q, ldb, y + q * s.m * s.n,
               s.n);
        }
      }
    });
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
