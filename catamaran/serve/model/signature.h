// serve/model/signature.h
//
// What a served function takes and gives, and a request's inputs as its arguments: found by name,
// with the right dtype and shape, or refused with a message that says which input is wrong, what
// was found and what is wanted.
//
// Thread safety: immutable.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/exec/executable.h"
#include "catamaran/serve/infer.h"
#include "catamaran/serve/model/row_independence.h"
#include "catamaran/serve/server.h"

namespace catamaran {

struct BoundInput {
  Tensor values;
  Tensor offsets;       // of a ragged one: i64[rows + 1]
  bool repeat = false;  // one row, which belongs to all rows of the request
};

// Arguments in the function's order, from one request.
struct BoundInputs {
  std::vector<BoundInput> arguments;
  int64_t rows = 1;
  uint64_t repeated = 0;  // bits of arguments that repeat their row, of the first 64
  // Sizes of dimensions that are not rows: requests with equal ones can be put together.
  std::vector<int64_t> sizes;
};

class Signature {
 public:
  // What one argument is, beside its type.
  struct Input {
    std::string name;
    Type type;
    std::vector<Dim> dims;  // in which it is stored: values of all sequences are one dimension
    int same_offsets = -1;  // an argument before it with the same ragged dimension
  };

  explicit Signature(const Executable& function);

  // The dimension that counts rows; empty if requests are run one by one.
  const std::string& rows() const { return independence_.rows; }
  bool batches() const { return !rows().empty(); }
  const std::string& why_not() const { return independence_.reason; }
  // Whether all dimensions but rows and ragged ones are fixed.
  bool fixed() const { return fixed_; }

  const std::vector<Input>& inputs() const { return inputs_; }
  const std::vector<std::string>& output_names() const { return output_names_; }
  const std::vector<Type>& output_types() const { return output_types_; }
  std::vector<TensorInfo> InputInfo() const;
  std::vector<TensorInfo> OutputInfo() const;

  // REQUIRES: the request has inputs, not rows.
  Status Bind(const InferRequest& request, BoundInputs& bound) const;
  // The outputs that are asked for, as indices.
  Status BindOutputs(const std::vector<std::string>& names, std::vector<size_t>& outputs) const;

  // Arguments of zeros, for warming up. REQUIRES: fixed().
  BoundInputs MakeUp(int64_t rows) const;

 private:
  Status FindInputs(const InferRequest& request, BoundInputs& bound) const;
  Status CheckShape(const Input& input, BoundInput& found) const;
  Status CheckOffsets(const Input& input, BoundInput& found) const;
  Status AgreeOnRows(BoundInputs& bound) const;
  Status AgreeOnSizes(BoundInputs& bound) const;

  RowIndependence independence_;
  bool fixed_ = true;
  std::vector<Input> inputs_;
  std::vector<std::string> output_names_;
  std::vector<Type> output_types_;
};

inline constexpr std::string_view kOffsetsSuffix = ".offsets";

}  // namespace catamaran
