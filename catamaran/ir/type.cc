#include "catamaran/ir/type.h"

#include <algorithm>
#include <utility>

namespace catamaran {

Type Type::Tensor(DType dtype, std::vector<Dim> dims, int ragged_axis) {
  return Type(std::make_shared<const Data>(
      Data{TypeKind::kTensor, dtype, static_cast<int8_t>(ragged_axis), std::move(dims), nullptr}));
}

Type Type::Rows(DType dtype, std::vector<Dim> row_dims) {
  return Type(
      std::make_shared<const Data>(Data{TypeKind::kRows, dtype, -1, std::move(row_dims), nullptr}));
}

Type Type::Stack(Type element) {
  return Type(std::make_shared<const Data>(
      Data{TypeKind::kStack, DType::kF32, -1, {}, std::move(element.data_)}));
}

Type Type::Chan(Type element) {
  return Type(std::make_shared<const Data>(
      Data{TypeKind::kChan, DType::kF32, -1, {}, std::move(element.data_)}));
}

Type Type::WithDType(DType dtype) const {
  Data copy = *data_;
  copy.dtype = dtype;
  return Type(std::make_shared<const Data>(std::move(copy)));
}

Type Type::WithDims(std::vector<Dim> dims) const {
  Data copy = *data_;
  copy.dims = std::move(dims);
  return Type(std::make_shared<const Data>(std::move(copy)));
}

std::vector<Dim> Type::StorageDims() const {
  std::vector<Dim> dims = data_->dims;
  if (is_ragged()) dims.erase(dims.begin());
  return dims;
}

Type Type::Substitute(FunctionRef<std::optional<Dim>(const std::string&)> replace) const {
  if (!data_) return *this;
  Data copy = *data_;
  for (Dim& d : copy.dims) d = d.Substitute(replace);
  if (copy.element) copy.element = Type(copy.element).Substitute(replace).data_;
  return Type(std::make_shared<const Data>(std::move(copy)));
}

void Type::ForEachName(FunctionRef<void(const std::string&)> visit) const {
  if (!data_) return;
  for (const Dim& d : data_->dims) d.ForEachName(visit);
  if (data_->element) Type(data_->element).ForEachName(visit);
}

std::string Type::ToString() const {
  if (!data_) return "?";
  if (kind() == TypeKind::kStack) return "stack<" + element().ToString() + ">";
  if (kind() == TypeKind::kChan) return "chan<" + element().ToString() + ">";
  std::string text(Name(dtype()));
  text += '[';
  for (int i = 0; i < rank(); ++i) {
    if (i > 0) text += ", ";
    if (i == ragged_axis()) text += '*';
    text += dim(i).ToString();
  }
  text += ']';
  return is_rows() ? "rows<" + text + ">" : text;
}

bool operator==(const Type& a, const Type& b) {
  if (a.data_ == b.data_) return true;
  if (!a.data_ || !b.data_) return false;
  const Type::Data &x = *a.data_, &y = *b.data_;
  if (x.kind != y.kind) return false;
  if (x.kind == TypeKind::kStack || x.kind == TypeKind::kChan) {
    return Type(x.element) == Type(y.element);
  }
  return x.dtype == y.dtype && x.ragged_axis == y.ragged_axis && x.dims == y.dims;
}

}  // namespace catamaran
