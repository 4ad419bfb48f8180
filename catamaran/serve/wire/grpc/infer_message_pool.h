// serve/wire/grpc/infer_message_pool.h
//
// The messages of ModelInfer, used again from call to call: a message that is cleared keeps the
// memory of its tensors and names for the next one. For inference_service.h only: it includes gRPC.
//
// Thread safety: all methods may be called concurrently. It outlives the calls.

#pragma once

#include <grpcpp/support/message_allocator.h>

#include <memory>
#include <mutex>
#include <vector>

#include "catamaran/serve/wire/inference.pb.h"

namespace catamaran {

class InferMessagePool final
    : public grpc::MessageAllocator<inference::ModelInferRequest, inference::ModelInferResponse> {
 public:
  using Messages = grpc::MessageHolder<inference::ModelInferRequest, inference::ModelInferResponse>;

  Messages* AllocateMessages() override {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        Pair* const pair = free_.back().release();
        free_.pop_back();
        return pair;
      }
    }
    return new Pair(*this);
  }

 private:
  static constexpr size_t kMaxFree = 256;
  static constexpr size_t kMaxBytes = 16 << 10;  // of a request whose memory is kept
  static constexpr int kMaxTensors = 64;

  struct Pair final : Messages {
    explicit Pair(InferMessagePool& owner) : pool(owner) {
      set_request(&own_request);
      set_response(&own_response);
    }
    void Release() override { pool.TakeBack(std::unique_ptr<Pair>(this)); }

    InferMessagePool& pool;
    inference::ModelInferRequest own_request;
    inference::ModelInferResponse own_response;
  };

  // Large ones, and what comes as lists of elements, are rare enough to be made anew.
  static bool IsSmall(const inference::ModelInferRequest& request,
                      const inference::ModelInferResponse& response) {
    if (request.inputs_size() != request.raw_input_contents_size() ||
        request.inputs_size() > kMaxTensors || request.outputs_size() > kMaxTensors ||
        response.outputs_size() > kMaxTensors || !request.parameters().empty()) {
      return false;
    }
    size_t bytes =
        request.model_name().size() + request.model_version().size() + request.id().size();
    for (const auto& input : request.inputs()) {
      if (input.has_contents() || !input.parameters().empty()) return false;
      bytes += input.name().size() + input.datatype().size() +
               static_cast<size_t>(input.shape_size()) * sizeof(int64_t);
    }
    for (const std::string& raw : request.raw_input_contents()) bytes += raw.size();
    for (const auto& output : request.outputs()) {
      if (!output.parameters().empty()) return false;
      bytes += output.name().size();
    }
    for (const std::string& raw : response.raw_output_contents()) bytes += raw.size();
    return bytes <= kMaxBytes;
  }

  void TakeBack(std::unique_ptr<Pair> pair) {
    if (!IsSmall(pair->own_request, pair->own_response)) return;
    pair->own_request.Clear();
    pair->own_response.Clear();
    const std::lock_guard lock(mutex_);
    if (free_.size() < kMaxFree) free_.push_back(std::move(pair));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Pair>> free_;
};

}  // namespace catamaran
