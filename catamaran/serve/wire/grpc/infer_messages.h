// serve/wire/grpc/infer_messages.h
//
// The protocol's messages, and what the Server takes and gives.

#pragma once

#include <string>

#include "catamaran/serve/infer.h"
#include "catamaran/serve/server.h"
#include "catamaran/serve/wire/inference.pb.h"
#include "catamaran/serve/wire/request_inputs.h"

namespace catamaran {

using InputMessages =
    google::protobuf::RepeatedPtrField<inference::ModelInferRequest::InferInputTensor>;
using RawContents = google::protobuf::RepeatedPtrField<std::string>;

// These throw an Error that names the input or parameter if something is wrong.
void ReadInputs(const InputMessages& inputs, const RawContents& raw, RequestInputs& into);
// TooManyRows beyond `max_rows`.
InferRequest ReadInferRequest(const inference::ModelInferRequest& message,
                              int64_t max_rows = kAnyRows);
// By what it costs to read.
bool IsLarge(const inference::ModelInferRequest& message);

// Elements as raw bytes if the request had it so, or where a dtype has no field of its own.
void WriteInferResponse(const InferResponse& response, bool raw,
                        inference::ModelInferResponse& message);

void WriteModelMetadata(const ModelMetadata& metadata, inference::ModelMetadataResponse& message);

}  // namespace catamaran
