// Any bytes as gRPC's messages. The first byte chooses which. What is read as inputs and written as
// outputs is the same when read again.

#include <cstdio>
#include <cstdlib>

#include "catamaran/base/error.h"
#include "catamaran/serve/wire/grpc/infer_messages.h"
#include "catamaran/serve/wire/grpc/learning_messages.h"

using namespace catamaran;

namespace {

[[noreturn]] void Wrong(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// The outputs as inputs of another request.
inference::ModelInferRequest Again(const inference::ModelInferResponse& response) {
  inference::ModelInferRequest request;
  for (const auto& output : response.outputs()) {
    auto& input = *request.add_inputs();
    input.set_name(output.name());
    input.set_datatype(output.datatype());
    *input.mutable_shape() = output.shape();
    if (output.has_contents()) *input.mutable_contents() = output.contents();
  }
  *request.mutable_raw_input_contents() = response.raw_output_contents();
  return request;
}

void CheckRoundTrip(const InferRequest& request, bool raw) {
  InferResponse response;
  response.outputs = request.inputs;
  inference::ModelInferResponse message;
  WriteInferResponse(response, raw, message);
  const InferRequest again = ReadInferRequest(Again(message));
  if (again.inputs.size() != request.inputs.size()) Wrong("another number of tensors");
  for (size_t i = 0; i < again.inputs.size(); ++i) {
    if (again.inputs[i].name != request.inputs[i].name) Wrong("another name");
    if (!again.inputs[i].tensor.Equals(request.inputs[i].tensor)) Wrong("another tensor");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const void* const bytes = data + 1;
  const int length = static_cast<int>(size - 1);
  try {
    if (data[0] % 4 == 0) {
      v1::TrainRequest message;
      if (message.ParseFromArray(bytes, length)) ReadTrainRequest(message);
    } else if (data[0] % 4 == 1) {
      v1::FeedbackRequest message;
      if (message.ParseFromArray(bytes, length)) ReadFeedbackRequest(message);
    } else {
      inference::ModelInferRequest message;
      if (!message.ParseFromArray(bytes, length)) return 0;
      const InferRequest request = ReadInferRequest(message);
      CheckRoundTrip(request, true);
      CheckRoundTrip(request, false);
    }
  } catch (const Error&) {
  }
  return 0;
}
