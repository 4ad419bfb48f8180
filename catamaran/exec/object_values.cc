#include "catamaran/exec/object_values.h"

#include <cstring>

#include "catamaran/base/error.h"
#include "catamaran/tensor/stack_value.h"

namespace catamaran {
namespace {

class RowsObject final : public ObjectValue {
 public:
  explicit RowsObject(const Type& type) {
    value_.dtype = type.dtype();
    value_.width = 1;
    for (const Dim& dim : type.dims()) value_.width *= dim.is_constant() ? dim.constant() : 0;
  }
  void* pointer() override { return &value_; }
  void Reset() override { value_.segments.clear(); }

 private:
  RowsValue value_;
};

class StackObject final : public ObjectValue {
 public:
  void* pointer() override { return &value_; }
  void Reset() override { value_.Clear(); }

 private:
  StackValue value_;
};

}  // namespace

std::unique_ptr<ObjectValue> MakeObject(const Type& type) {
  if (type.is_rows()) return std::make_unique<RowsObject>(type);
  CATAMARAN_CHECK(type.is_stack(), "a value of type {} cannot be made", type.ToString());
  return std::make_unique<StackObject>();
}

void CarriedRows::Enter() {
  value_.segments.clear();
  memory_.clear();
  mine_.clear();
}

const void* CarriedRows::Copy(const void* data, size_t bytes) {
  if (data == nullptr || mine_.contains(data)) return data;
  memory_.push_back(BufferRef::Allocate(bytes));
  if (bytes > 0) std::memcpy(memory_.back().data(), data, bytes);
  mine_.insert(memory_.back().data());
  return memory_.back().data();
}

void CarriedRows::Keep(const RowsValue& rows) {
  if (&rows == &value_) return;
  value_ = rows;
  const size_t element = SizeOf(rows.dtype);
  for (RowsSegment& segment : value_.segments) {
    const auto keys = static_cast<size_t>(segment.num_keys);
    const auto bags = static_cast<size_t>(segment.num_bags);
    const size_t gradients = segment.pool == Pool::kNone ? keys : bags;
    segment.keys = Copy(segment.keys, keys * SizeOf(segment.key_type));
    segment.offsets =
        static_cast<const int64_t*>(Copy(segment.offsets, (bags + 1) * sizeof(int64_t)));
    segment.weights = Copy(segment.weights, keys * element);
    segment.gradients =
        Copy(segment.gradients, gradients * static_cast<size_t>(rows.width) * element);
  }
}

}  // namespace catamaran
