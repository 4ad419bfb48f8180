#include "catamaran/ir/proto_dims.h"

#include <algorithm>
#include <string_view>

#include "catamaran/base/error.h"
#include "catamaran/ir/proto.h"
#include "catamaran/tensor/shape.h"

namespace catamaran {
namespace {

// Combines neighbours until one is left: the intermediate results stay as small as can be.
template <class Combine>
Dim Fold(std::vector<Dim> parts, int64_t of_none, Combine combine) {
  if (parts.empty()) return Dim(of_none);
  while (parts.size() > 1) {
    size_t kept = 0;
    for (size_t i = 0; i < parts.size(); i += 2, ++kept) {
      parts[kept] = i + 1 < parts.size() ? combine(parts[i], parts[i + 1]) : parts[i];
    }
    parts.resize(kept);
  }
  return parts[0];
}

// A dimension's name must not read as an expression.
bool IsDimName(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return c > ' ' && c != 0x7f &&
           std::string_view("+-*/(),[]<>\"").find(c) == std::string_view::npos;
  });
}

bool IsQuotient(const Dim& dim) {
  if (dim.is_constant() || dim.sum()->terms.size() != 1) return false;
  const Dim::Term& term = dim.sum()->terms[0];
  return term.coefficient == 1 && term.factors.size() == 1 && term.factors[0].quotient;
}

}  // namespace

ProtoPools::ProtoPools(const v1::Program& program, size_t& budget) : budget_(budget) {
  dims_.reserve(program.dims_size());
  for (const v1::Dim& dim : program.dims()) dims_.push_back(ReadDim(dim));
  types_.reserve(program.types_size() + 1);
  types_.emplace_back();
  type_depths_.push_back(0);
  for (const v1::Type& type : program.types()) types_.push_back(ReadType(type));
}

const Dim& ProtoPools::dim(uint32_t place) const {
  if (place >= dims_.size()) {
    Fail(ErrorCode::kInvalidProgram, "dimension {} is referred to where {} are known", place,
         dims_.size());
  }
  return dims_[place];
}

const Type& ProtoPools::type(uint32_t number) const {
  if (number >= types_.size()) {
    Fail(ErrorCode::kInvalidProgram, "type {} is referred to where {} are known", number,
         types_.size() - 1);
  }
  return types_[number];
}

DType ProtoPools::ToDType(int number) {
  if (number < 1 || number > static_cast<int>(std::size(kAllDTypes))) {
    Fail(ErrorCode::kInvalidProgram, "there is no dtype with the number {}", number);
  }
  return static_cast<DType>(number - 1);
}

void ProtoPools::Charge(const Dim& dim) {
  const size_t cost = dim.is_constant() ? 8 : dim.sum()->text.size();
  if (cost > budget_)
    Fail(ErrorCode::kInvalidProgram,
         "the dimension expressions are too large for a file of this size");
  budget_ -= cost;
}

Dim ProtoPools::ReadFactor(const v1::Dim::Factor& factor) {
  if (!factor.name().empty()) {
    if (!IsDimName(factor.name()))
      Fail(ErrorCode::kInvalidProgram, "a dimension has an impossible name");
    return Dim::Name(factor.name());
  }
  const Dim quotient = dim(factor.numerator()) / dim(factor.denominator());
  if (!IsQuotient(quotient))
    Fail(ErrorCode::kInvalidProgram, "the quotient {} is not in lowest terms", quotient.ToString());
  return quotient;
}

Dim ProtoPools::ReadDim(const v1::Dim& dim) {
  std::vector<Dim> terms;
  for (const v1::Dim::Term& term : dim.terms()) {
    std::vector<Dim> factors = {Dim(term.coefficient())};
    for (const v1::Dim::Factor& factor : term.factors()) {
      factors.push_back(ReadFactor(factor));
      Charge(factors.back());
    }
    terms.push_back(Fold(std::move(factors), 1, [](const Dim& a, const Dim& b) { return a * b; }));
  }
  Dim sum = Fold(std::move(terms), 0, [](const Dim& a, const Dim& b) { return a + b; });
  Charge(sum);
  return sum;
}

Type ProtoPools::ReadType(const v1::Type& type) {
  type_depths_.push_back(0);
  if (type.kind() == v1::Type::STACK || type.kind() == v1::Type::CHAN) {
    const Type& element = this->type(type.element());
    if (!element) Fail(ErrorCode::kInvalidProgram, "a stack or chan has no element type");
    type_depths_.back() = type_depths_[type.element()] + 1;
    if (type_depths_.back() > ProtoLimits::kElementDepth)
      Fail(ErrorCode::kInvalidProgram, "a type is nested too deep");
    return type.kind() == v1::Type::STACK ? Type::Stack(element) : Type::Chan(element);
  }
  if (type.kind() != v1::Type::TENSOR && type.kind() != v1::Type::ROWS) {
    Fail(ErrorCode::kInvalidProgram, "there is no kind of type with the number {}",
         static_cast<int>(type.kind()));
  }
  const DType dtype = ToDType(type.dtype());
  if (type.dims_size() > kMaxRank) {
    Fail(ErrorCode::kInvalidProgram, "a type has {} dimensions; at most {} are possible",
         type.dims_size(), kMaxRank);
  }
  std::vector<Dim> dims;
  for (uint32_t place : type.dims()) dims.push_back(dim(place));
  if (type.kind() == v1::Type::ROWS) return Type::Rows(dtype, std::move(dims));
  if (type.ragged() == 0) return Type::Tensor(dtype, std::move(dims));
  if (type.ragged() != 1 || dims.size() < 2 || !dims[1].name()) {
    Fail(ErrorCode::kInvalidProgram,
         "only the second dimension of a type can be ragged, and it must be a name");
  }
  return Type::Tensor(dtype, std::move(dims), 1);
}

}  // namespace catamaran
