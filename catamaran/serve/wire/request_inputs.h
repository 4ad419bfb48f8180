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
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/serve/infer.h"
#include "catamaran/tensor/tensor.h"

namespace catamaran {

class RequestInputs {
 public:
  // Elements in row-major order, little-endian; texts each behind its length in four bytes. The
  // bytes are copied.
  void AddRaw(std::string_view name, std::string_view datatype, std::span<const int64_t> shape,
              std::string_view bytes);
  void AddTensor(std::string_view name, Tensor tensor);
  void AddTexts(std::string_view name, std::span<const int64_t> shape,
                std::vector<std::string> texts);
  // A JSON object.
  void AddRow(std::string row);

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

  std::vector<Column> columns_;
  std::vector<std::string> rows_;
  bool texts_ = false;
};

// The shape of an input; an Error that names it if a dimension is negative or there are too many.
Shape InputShape(std::string_view name, std::span<const int64_t> dims);

// An Error that names the input unless `found` is the number of the shape's elements.
void CheckElementCount(std::string_view name, const Shape& shape, uint64_t found);

}  // namespace catamaran
