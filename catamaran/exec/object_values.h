// exec/object_values.h
//
// Values that are not tensors: the objects that slots of rows and stack types point at. A frame
// owns one for each op that makes such a value and uses it again in every run.

#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <vector>

#include "catamaran/base/memory.h"
#include "catamaran/ir/type.h"
#include "catamaran/tensor/rows_value.h"

namespace catamaran {

class ObjectValue {
 public:
  virtual ~ObjectValue() = default;
  // What Slot::object points at.
  virtual void* pointer() = 0;
  // Before the op that makes the value runs again: empty, but with its memory.
  virtual void Reset() = 0;
};

// REQUIRES: a rows or stack type.
std::unique_ptr<ObjectValue> MakeObject(const Type& type);

// Rows that a loop hands from one iteration to the next. Segments point at memory of an iteration,
// which the next one overwrites; here they are copied, each once.
class CarriedRows {
 public:
  // The value as it enters the loop; its memory lives as long as the loop.
  void Enter();
  // Takes over what an iteration yields.
  void Keep(const RowsValue& rows);
  RowsValue* value() { return &value_; }

 private:
  const void* Copy(const void* data, size_t bytes);

  RowsValue value_;
  std::vector<BufferRef> memory_;
  std::set<const void*> mine_;
};

}  // namespace catamaran
