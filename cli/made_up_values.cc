#include "cli/made_up_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "catamaran/base/hash.h"
#include "catamaran/base/random.h"
#include "catamaran/tensor/cast.h"

namespace catamaran::cli {
namespace {

// Where numbers that choose something stand among the operands, and which axis of the first operand
// they choose from; -1 is the last.
struct Chooser {
  std::string_view op;
  int operand;
  int axis;
};
constexpr std::array kChoosers = {
    Chooser{"softmax_cross_entropy", 1, -1},
    Chooser{"nll", 1, -1},
    Chooser{"softmax_focal", 1, -1},
    Chooser{"multi_margin", 1, -1},
    Chooser{"embedding", 1, 0},
    Chooser{"embedding_bag", 1, 0},
    Chooser{"gather", 1, 0},
    Chooser{"index_select", 1, 0},
    Chooser{"take_along", 1, -1},
    Chooser{"gather_nd", 1, 0},
};

std::optional<int64_t> Evaluate(const Dim& dim, const DimBinding& dims) {
  return dim.Evaluate([&](const std::string& name) -> std::optional<int64_t> {
    const auto found = dims.find(name);
    if (found == dims.end()) return std::nullopt;
    return found->second;
  });
}

// The parameter that a value is another form of, or -1.
int ParamBehind(const Function& function, const Value* value) {
  while (value != nullptr) {
    for (int i = 0; i < function.num_params(); ++i) {
      if (function.param(i) == value) return i;
    }
    const Op* op = value->def();
    if (op == nullptr || op->num_operands() == 0) return -1;
    const bool same = op->Is("cast") || op->Is("reshape") || op->Is("squeeze") ||
                      op->Is("unsqueeze") || op->Is("slice") || op->Is("expand");
    value = same ? op->operand(0) : nullptr;
  }
  return -1;
}

// How many things the integers of each argument choose from; 0: they choose nothing.
std::vector<int64_t> Choices(const Function& function, const DimBinding& dims) {
  std::vector<int64_t> choices(static_cast<size_t>(function.num_params()), 0);
  const auto limit = [&](const Value* value, std::optional<int64_t> most) {
    const int param = ParamBehind(function, value);
    if (param < 0 || !most || *most < 1) return;
    int64_t& least = choices[static_cast<size_t>(param)];
    least = least == 0 ? *most : std::min(least, *most);
  };
  ForEachOp(function.body(), [&](Op& op) {
    if (op.Is("one_hot")) {
      const Type& type = op.result()->type;
      limit(op.operand(0), Evaluate(type.dim(type.rank() - 1), dims));
      return;
    }
    if (op.Is("ragged_take")) limit(op.operand(1), 1);  // every sequence has a first element
    for (const Chooser& chooser : kChoosers) {
      if (!op.Is(chooser.op) || op.num_operands() <= chooser.operand) continue;
      const Value* from = op.operand(0);
      if (from == nullptr || !from->type.is_tensor() || from->type.rank() == 0) continue;
      int axis = chooser.axis < 0 ? from->type.rank() - 1 : chooser.axis;
      if (const Dim* given = op.attr("axis").get<Dim>(); given && given->is_constant()) {
        axis = static_cast<int>(given->constant());
        if (axis < 0) axis += from->type.rank();
      }
      if (axis < 0 || axis >= from->type.rank()) continue;
      limit(op.operand(chooser.operand), Evaluate(from->type.dim(axis), dims));
    }
  });
  return choices;
}

// Sizes that arguments which were given have.
void BindGiven(const Executable& executable, const std::vector<bool>& given,
               const std::vector<FedValue>& values, DimBinding& dims) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (!given[i]) continue;
    const std::vector<Dim> wanted = executable.input_type(i).StorageDims();
    const Shape& found = values[i].values.shape();
    for (size_t axis = 0; axis < wanted.size() && static_cast<int>(axis) < found.rank(); ++axis) {
      if (wanted[axis].name()) dims[*wanted[axis].name()] = found[static_cast<int>(axis)];
    }
  }
}

Tensor Numbers(DType dtype, const Shape& shape, int64_t choices, const MadeUpOptions& options,
               uint64_t stream) {
  const int64_t n = shape.num_elements();
  const auto uniform = [&](int64_t i) {
    const PhiloxBlock block = Philox(options.seed, static_cast<uint64_t>(i), stream);
    return UniformDouble(block.words[0], block.words[1]);
  };
  if (dtype == DType::kU64 && choices == 0) {
    // Small numbers are frequent: a rank is drawn uniformly in its logarithm.
    Tensor ids = Tensor::Allocate(dtype, shape);
    const double range = std::log(static_cast<double>(options.ids));
    for (int64_t i = 0; i < n; ++i) {
      const auto rank = static_cast<uint64_t>(std::exp(uniform(i) * range));
      ids.mutable_data<uint64_t>()[static_cast<size_t>(i)] = HashCombine(stream, rank);
    }
    return ids;
  }
  Tensor numbers = Tensor::Allocate(DType::kF64, shape);
  const bool whole = !IsFloat(dtype);
  const auto count = static_cast<double>(choices > 0 ? choices : 2);
  for (int64_t i = 0; i < n; ++i) {
    const double u = uniform(i);
    numbers.mutable_data<double>()[static_cast<size_t>(i)] = whole ? std::floor(u * count) : u;
  }
  return Cast(numbers, dtype);
}

// Lengths from 1 to twice the mean.
Tensor Offsets(int64_t rows, int64_t mean, uint64_t seed) {
  Tensor offsets = Tensor::Allocate(DType::kI64, {rows + 1});
  int64_t at = 0;
  for (int64_t i = 0; i <= rows; ++i) {
    offsets.mutable_data<int64_t>()[static_cast<size_t>(i)] = at;
    const double u = UniformFloat(Philox(seed, static_cast<uint64_t>(i), 1).words[0]);
    at += mean == 0 ? 0 : 1 + static_cast<int64_t>(u * static_cast<double>(2 * mean - 1));
  }
  return offsets;
}

}  // namespace

void MakeUpValues(const Executable& executable, MadeUpOptions& options,
                  const std::vector<bool>& given, std::vector<FedValue>& values) {
  DimBinding sizes = options.dims;
  BindGiven(executable, given, values, sizes);
  std::map<std::string, Tensor> offsets;  // by ragged name
  for (size_t i = 0; i < values.size(); ++i) {
    const Type& type = executable.input_type(i);
    if (given[i] && type.is_ragged()) offsets[type.ragged_name()] = values[i].offsets;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (given[i]) continue;
    const Type& type = executable.input_type(i);
    const std::string ragged = type.is_ragged() ? type.ragged_name() : "";
    type.ForEachName([&](const std::string& name) {
      if (name != ragged && !sizes.contains(name)) {
        options.dims[name] = sizes[name] = options.default_size;
      }
    });
    if (ragged.empty()) continue;
    if (!offsets.contains(ragged)) {
      if (!options.dims.contains(ragged)) options.dims[ragged] = options.default_length;
      offsets[ragged] =
          Offsets(Evaluate(type.dim(0), sizes).value_or(0), options.dims[ragged], options.seed + i);
    }
    sizes[ragged] = offsets[ragged].data<int64_t>().back();
    values[i].offsets = offsets[ragged];
  }
  const std::vector<int64_t> choices = Choices(*executable.plan().function, sizes);
  for (size_t i = 0; i < values.size(); ++i) {
    if (given[i]) continue;
    const Type& type = executable.input_type(i);
    Shape shape;
    for (const Dim& dim : type.StorageDims()) shape.Append(Evaluate(dim, sizes).value_or(0));
    values[i].values =
        Numbers(type.dtype(), shape, i < choices.size() ? choices[i] : 0, options, i);
  }
}

}  // namespace catamaran::cli
