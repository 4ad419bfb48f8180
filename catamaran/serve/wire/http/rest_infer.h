// serve/wire/http/rest_infer.h
//
// Bodies of the Open Inference Protocol's REST form, with tensors as JSON or, as Triton has it, as
// bytes behind the JSON:
//
//   {"id": TEXT, "parameters": {…},
//    "inputs": [{"name", "shape": [N, …], "datatype", "data": [ELEMENT, …]
//                or "parameters": {"binary_data_size": BYTES}}, …],
//    "outputs": [{"name", "parameters": {"binary_data": BOOL}}, …]}
//
// and, in place of inputs, "rows": [{…}, …], raw features for the model's transforms.
//
// Functions that read throw an Error that says what is wrong, and where; TooManyRows beyond
// `max_rows`.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/serve/infer.h"
#include "catamaran/serve/learning.h"
#include "catamaran/serve/wire/http/http_message.h"

namespace catamaran {

// The JSON of a body, and the bytes behind it.
struct SplitBody {
  std::string_view json, binary;
};

// `header_length` is what Inference-Header-Content-Length says; empty: all of the body is JSON.
SplitBody Split(std::string_view body, std::string_view header_length, size_t max_json_bytes);

// Which outputs are to be bytes.
struct OutputForms {
  bool binary = false;                               // where nothing else is said
  std::map<std::string, bool, std::less<>> by_name;  // where it is

  bool IsBinary(std::string_view output) const;
};

InferRequest ReadInferBody(const SplitBody& body, OutputForms& forms, int64_t max_rows);
HttpResponse WriteInferBody(const InferResponse& response, const OutputForms& forms);

// The same inputs or rows, with "event_time_ns" and "idempotency_key".
TrainRequest ReadTrainBody(const SplitBody& body, int64_t max_rows);

}  // namespace catamaran
