// ops/matrix/einsum.cc
//
// einsum(operands…, equation): sums of products over named indices.

#include "catamaran/ops/matrix/einsum.h"

#include <fmt/format.h>

#include <map>

#include "catamaran/ops/kernel_support.h"

// reference-begin
namespace catamaran::reference {

// Every index has a size, and a distance in each operand (0 where that does not have it) and in
// the result. An index that stands twice in an operand is its diagonal: the distances add up.
struct EinsumSizes {
  int64_t operands, indices, count;  // count: elements of the result
  int64_t dims[16];
  int64_t steps[8][16];
  int64_t out_steps[16];
};

template <class T>
void Einsum(const T* const* operands, T* y, const EinsumSizes& s) {
  for (int64_t i = 0; i < s.count; ++i) y[i] = T(0);
  int64_t total = 1;
  for (int64_t i = 0; i < s.indices; ++i) total *= s.dims[i];
  for (int64_t n = 0; n < total; ++n) {
    int64_t left = n, out = 0;
    int64_t at[8] = {};
    for (int64_t i = s.indices - 1; i >= 0; --i) {
      const int64_t index = left % s.dims[i];
      left /= s.dims[i];
      out += index * s.out_steps[i];
      for (int64_t k = 0; k < s.operands; ++k) at[k] += index * s.steps[k][i];
    }
    T product = T(1);
    for (int64_t k = 0; k < s.operands; ++k) product = static_cast<T>(product * operands[k][at[k]]);
    y[out] = static_cast<T>(y[out] + product);
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::EinsumSizes;

EinsumSpec SpecOf(const Op& op) {
  std::vector<int> ranks;
  for (int i = 0; i < op.num_operands(); ++i) ranks.push_back(op.operand(i)->type.rank());
  return ParseEinsum(op.attr("equation").AsWord(), ranks);
}

bool IsOne(const Dim& dim) { return dim.is_constant() && dim.constant() == 1; }

// How an index is called in messages.
std::string IndexName(char index) {
  return index >= '0' && index <= '9' ? std::string("an index of ...")
                                      : fmt::format("index {}", index);
}

void Infer(InferContext& c) {
  const int count = c.num_operands();
  if (count == 0 || count > kEinsumOperands) {
    return (void)c.Fail(fmt::format("wants 1 to {} operands", kEinsumOperands));
  }
  for (int i = 0; i < count; ++i) {
    if (!c.WantTensor(i) || !c.WantSameDType(0, i)) return;
  }
  const DType dtype = c.type(0).dtype();
  if (!IsFloat(dtype) && !IsInteger(dtype)) return (void)c.Fail("wants numbers; cast them");
  const EinsumSpec spec = SpecOf(c.op());
  if (!spec.error.empty()) return (void)c.Fail(spec.error);
  std::map<char, Dim> sizes;
  for (int i = 0; i < count; ++i) {
    const std::string& indices = spec.inputs[static_cast<size_t>(i)];
    std::map<char, Dim> own;
    for (size_t axis = 0; axis < indices.size(); ++axis) {
      const char index = indices[axis];
      const Dim& dim = c.type(i).dim(static_cast<int>(axis));
      if (own.contains(index) && !c.Unify(own[index], dim, "sizes of " + IndexName(index))) return;
      own[index] = dim;
    }
    for (const auto& [index, dim] : own) {
      const auto [found, is_new] = sizes.try_emplace(index, dim);
      if (is_new || IsOne(dim)) continue;
      if (!IsOne(found->second) && !c.Unify(found->second, dim, "sizes of " + IndexName(index))) {
        return;
      }
      if (IsOne(found->second) || dim.is_constant()) found->second = dim;
    }
  }
  if (sizes.size() > static_cast<size_t>(kEinsumIndices)) {
    return (void)c.Fail(fmt::format("has {} indices; at most {}", sizes.size(), kEinsumIndices));
  }
  std::vector<Dim> dims;
  for (char index : spec.output) dims.push_back(sizes.at(index));
  if (dims.size() > static_cast<size_t>(kMaxRank)) {
    return (void)c.Fail(fmt::format("a tensor has at most {} dimensions", kMaxRank));
  }
  c.SetResult(Type::Tensor(dtype, std::move(dims)));
}

EinsumSizes SizesOf(const KernelQuery& q) {
  const EinsumSpec spec = SpecOf(*q.op);
  EinsumSizes s{};
  s.operands = static_cast<int64_t>(q.in.size());
  s.count = q.out[0]->size();
  std::map<char, size_t> numbers;
  for (size_t k = 0; k < q.in.size(); ++k) {
    const Shape& shape = q.in[k]->shape();
    const auto strides = shape.RowMajorStrides();
    for (size_t axis = 0; axis < spec.inputs[k].size(); ++axis) {
      const auto [found, is_new] = numbers.try_emplace(spec.inputs[k][axis], numbers.size());
      const size_t index = found->second;
      const int64_t dim = shape[static_cast<int>(axis)];
      if (is_new || dim != 1) s.dims[index] = dim;
      if (dim != 1) s.steps[k][index] += strides[axis];
    }
  }
  s.indices = static_cast<int64_t>(numbers.size());
  const auto strides = q.out[0]->shape().RowMajorStrides();
  for (size_t axis = 0; axis < spec.output.size(); ++axis) {
    s.out_steps[numbers.at(spec.output[axis])] += strides[axis];
  }
  return s;
}

KernelStatus RunReference(KernelContext& c) {
  DispatchAmong<double, float, int8_t, uint8_t, int32_t, int64_t, uint64_t>(
      c.out().tensor.dtype,
      [&]<class T>(T) {
        const T* operands[kEinsumOperands];
        for (int i = 0; i < c.num_ins; ++i) operands[i] = c.in(i).data<const T>();
        reference::Einsum(operands, c.out().data<T>(), c.sizes<EinsumSizes>());
      },
      "einsum");
  return KernelStatus::kDone;
}

std::unique_ptr<Prepared> Plan(const KernelQuery& q) {
  std::vector<Shape> shapes;
  for (const Slot* slot : q.in) shapes.push_back(slot->shape());
  return PlanEinsum(SpecOf(*q.op), shapes, q.out[0]->shape());
}

KernelStatus RunPlan(KernelContext& c) {
  RunEinsumPlan(*c.prepared, c);
  return KernelStatus::kDone;
}

// The indices of `...` get letters that are not in use, so that equations can be written.
void NameDigits(EinsumSpec& spec) {
  std::string all = spec.output;
  for (const std::string& input : spec.inputs) all += input;
  std::map<char, char> names;
  char next = 'A';
  const auto rename = [&](std::string& indices) {
    for (char& index : indices) {
      if (index < '0' || index > '9') continue;
      auto [found, is_new] = names.try_emplace(index, next);
      if (is_new) {
        while (all.find(next) != std::string::npos) next = next == 'Z' ? 'a' : char(next + 1);
        found->second = next;
        all += next;
      }
      index = found->second;
    }
  };
  for (std::string& input : spec.inputs) rename(input);
  rename(spec.output);
}

// The gradient at an operand is the einsum of what arrives with all others. Indices that only this
// operand has were summed over: the gradient repeats along them.
Var GradAt(GradContext& c, const EinsumSpec& spec, size_t at) {
  Emitter& e = c.emit();
  const std::string& target = spec.inputs[at];
  const Type& type = c.op().operand(static_cast<int>(at))->type;
  std::string equation = spec.output, known = spec.output, once;
  std::vector<Var> operands = {c.grad()};
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    if (i == at) continue;
    equation += "," + spec.inputs[i];
    known += spec.inputs[i];
    operands.push_back(c.operand(static_cast<int>(i)));
  }
  std::string reached;
  std::vector<Dim> spread;  // sizes of `once`, 1 where the gradient repeats
  std::vector<Dim> full;
  for (size_t axis = 0; axis < target.size(); ++axis) {
    const char index = target[axis];
    if (once.find(index) != std::string::npos) continue;
    once += index;
    if (known.find(index) != std::string::npos) reached += index;
  }
  Var grad = e.Emit("einsum", operands, {{"equation", equation + "->" + reached}});
  size_t axis = 0;
  for (char index : once) {
    const bool repeats = reached.find(index) == std::string::npos;
    const Dim own = type.dim(static_cast<int>(target.find(index)));
    spread.push_back(repeats ? Dim(1) : grad.type().dim(static_cast<int>(axis)));
    full.push_back(repeats ? own : spread.back());
    if (!repeats) ++axis;
  }
  if (once.size() != reached.size()) {
    grad = e.Emit("reshape", {grad}, {{"shape", Attr::Dims(spread)}});
    grad = e.Emit("expand", {grad}, {{"shape", Attr::Dims(full)}});
  }
  if (once.size() != target.size()) {
    grad = e.Emit("einsum", {grad}, {{"equation", once + "->" + target}});
  }
  const Var operand = c.operand(static_cast<int>(at));
  return grad.type() == operand.type() ? grad : c.SumTo(grad, operand);
}

void Grad(GradContext& c) {
  EinsumSpec spec = SpecOf(c.op());
  NameDigits(spec);
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    if (c.wanted(static_cast<int>(i))) c.SetGrad(static_cast<int>(i), GradAt(c, spec, i));
  }
}

OpCost Cost(const KernelQuery& q) {
  const EinsumSizes s = q.sizes->As<EinsumSizes>();
  OpCost cost;
  cost.operations = static_cast<double>(s.operands);
  for (int64_t i = 0; i < s.indices; ++i) cost.operations *= static_cast<double>(s.dims[i]);
  for (const auto& slots : {q.in, q.out}) {
    for (const Slot* slot : slots) {
      cost.bytes +=
          static_cast<double>(slot->size()) * static_cast<double>(SizeOf(slot->tensor.dtype));
    }
  }
  return cost;
}

Sample Of(const char* equation, std::vector<Tensor> inputs) {
  return {.inputs = std::move(inputs), .attrs = {{"equation", equation}}, .note = equation};
}
Sample OfShapes(const char* equation, const std::vector<Shape>& shapes) {
  std::vector<Tensor> inputs;
  for (const Shape& shape : shapes) inputs.push_back(Uniform(shape, -1, 1, 1 + inputs.size()));
  return Of(equation, std::move(inputs));
}

}  // namespace

void DefineEinsum(OpSet& ops) {
  Kernel plan;
  plan.name = "contract";
  plan.supports = [](const KernelQuery& q) {
    const DType dtype = q.in[0]->tensor.dtype;
    return dtype == DType::kF32 || dtype == DType::kF64;
  };
  plan.prepare = Plan;
  plan.scratch = [](const KernelQuery& q) {
    return static_cast<size_t>(EinsumPlanScratch(*Plan(q))) * SizeOf(q.in[0]->tensor.dtype);
  };
  plan.run = RunPlan;
  ops.Define("einsum")
      .Group("matrix")
      .Doc(
          "The sum of products of the operands' elements over all indices that the result does not "
          "have. `equation` names the axes of each operand by letters and, behind ->, those of the "
          "result; without -> they are the letters that stand once, in alphabetical order. A "
          "letter that stands twice in an operand is its diagonal; twice in the result, the rest "
          "is 0. `...` stands for any axes and broadcasts; a size of 1 repeats.")
      .Formula("y[out] = sum over the other indices of a[…] * b[…] * …")
      .VariadicIn("operands", "1 to 8")
      .RequiredAttr("equation", AttrKind::kString, "\"bij,bjk->bik\" is a batch of products")
      .Infer(Infer)
      .Sizes("EinsumSizes",
             [](const KernelQuery& q, Words& words) {
               const EinsumSizes s = SizesOf(q);
               words << s.operands << s.indices << s.count;
               for (int64_t dim : s.dims) words << dim;
               for (const auto& steps : s.steps) {
                 for (int64_t step : steps) words << step;
               }
               for (int64_t step : s.out_steps) words << step;
             })
      .Fast(std::move(plan))
      .Reference("Einsum", RunReference)
      .Cost(Cost)
      .Grad(Grad)
      .AddSample(Of("ij,jk->ik", {Floats({2, 2}, {1, 2, 3, 4}), Floats({2, 2}, {1, 0, 1, 1})}))
      .AddSample(OfShapes("bij,bjk->bik", {{2, 3, 4}, {2, 4, 5}}))
      .AddSample(OfShapes("bij,bkj->bki", {{2, 3, 4}, {2, 5, 4}}))
      .AddSample(OfShapes("bhtd,bhsd->bhts", {{2, 2, 3, 4}, {2, 2, 5, 4}}))
      .AddSample(OfShapes("bthd,bshd->bhts", {{2, 3, 2, 4}, {2, 5, 2, 4}}))
      .AddSample(OfShapes("ij,jk,kl->il", {{2, 3}, {3, 4}, {4, 2}}))
      .AddSample(OfShapes("ij,kj", {{2, 3}, {4, 3}}))
      .AddSample(OfShapes("ji", {{2, 3}}))
      .AddSample(OfShapes("ii", {{3, 3}}))
      .AddSample(OfShapes("ii->i", {{3, 3}}))
      .AddSample(OfShapes("i->ii", {{3}}))
      .AddSample(OfShapes("iij,jk->ki", {{2, 2, 3}, {3, 2}}))
      .AddSample(OfShapes("ijk->j", {{2, 3, 4}}))
      .AddSample(OfShapes("ij,k->i", {{2, 3}, {4}}))
      .AddSample(OfShapes("i,i->", {{5}, {5}}))
      .AddSample(OfShapes("i,i->i", {{5}, {5}}))
      .AddSample(OfShapes("i,j->ij", {{3}, {4}}))
      .AddSample(OfShapes("bn,anm,bm->ba", {{2, 3}, {4, 3, 5}, {2, 5}}))
      .AddSample(OfShapes(" ...ij, ...jk -> ...ik ", {{2, 1, 3, 4}, {5, 4, 2}}))
      .AddSample(OfShapes("i...,i...", {{2, 3}, {2, 3}}))
      .AddSample(OfShapes("...,...->...", {{2, 3}, {3}}))
      .AddSample(OfShapes("ij,ij->ij", {{2, 3}, {1, 3}}))
      .AddSample(OfShapes(",ij->ij", {{}, {2, 3}}))
      .AddSample(Of("ij,jk->ik", {Empty({2, 0}), Empty({0, 3})}))
      .AddSample(Of("bij,bjk->bik", {Empty({0, 2, 3}), Empty({0, 3, 3})}))
      .AddSample(Of("ij,jk->ki", {RandomInts({2, 3}, -9, 9), RandomInts({3, 4}, -9, 9)}));
}

}  // namespace catamaran
