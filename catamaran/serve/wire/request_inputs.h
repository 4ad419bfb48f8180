// serve/wire/request_inputs.h
//
// The tensors of a request as they come over a wire, checked and turned into what the Server takes.
// Texts (BYTES) are raw features: with one among the inputs, the inputs are columns of rows that go
// through the model's transforms; an input of texts named `rows` holds whole rows, JSON objects.
//
// Every function throws an Error, which names the input, if what came is wrong.
//
// Thread safety: one thread at a time.

#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/base/error.h"
#include "catamaran/serve/infer.h"
#include "catamaran/tensor/tensor.h"

namespace catamaran {

// One request has more rows or items than the service takes in one.
class TooManyRows : public Error {
 public:
  using Error::Error;
};
inline constexpr int64_t kAnyRows = std::numeric_limits<int64_t>::max();
// Throws TooManyRows; `what`: "rows".
void CheckRowCount(std::string_view what, uint64_t found, int64_t most);

class RequestInputs {
 public:
  explicit RequestInputs(int64_t max_rows = kAnyRows) : max_rows_(max_rows) {}

  // Elements in row-major order, little-endian; texts each behind its length in four bytes. The
  // bytes are copied.
  void AddRaw(std::string_view name, std::string_view datatype, std::span<const int64_t> shape,
              std::string_view bytes);
  void AddTensor(std::string_view name, Tensor tensor);
  void AddTexts(std::string_view name, std::span<const int64_t> shape,
                std::vector<std::string> texts);
  // `count` rows are to come.
  void BeginRows(uint64_t count) const { CheckRowCount("rows", count, max_rows_); }
  // A JSON object.
  void AddRow(std::string row);
  // Of tensors whose leading dimension is that of rows, as all that are learned from have it.
  void CheckTensorRows() const;

  // What was added, as tensors or as rows.
  void MoveTo(std::vector<NamedTensor>& inputs, std::vector<std::string>& rows);

 private:
  struct Column {
    std::string name;
    Tensor tensor;  // or
    std::vector<std::string> texts;
    Shape shape;
    bool is_text = false;
  };

  void CheckNames() const;
  void AppendRows(std::vector<std::string>& rows) const;

  const int64_t max_rows_;
  std::vector<Column> columns_;
  std::vector<std::string> rows_;
  bool texts_ = false;
};

// The shape of an input; an Error that names it if a dimension is negative or there are too many.
Shape InputShape(std::string_view name, std::span<const int64_t> dims);

// An Error that names the input unless `found` is the number of the shape's elements.
void CheckElementCount(std::string_view name, const Shape& shape, uint64_t found);

}  // namespace catamaran
