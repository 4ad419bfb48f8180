// serve/wire/grpc/stream_infer.h
//
// One stream of requests and answers. Answers come as they are ready, so a later request's may be
// first; ids tell them apart. A request that fails is answered with a message, and the stream goes
// on. For inference_service.cc only: it includes gRPC.
//
// Thread safety: gRPC and the Server call it from their threads; it deletes itself when all is
// done.

#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>

#include "catamaran/serve/infer.h"
#include "catamaran/serve/wire/grpc/calls.h"
#include "catamaran/serve/wire/inference.pb.h"

namespace catamaran {

// The context's deadline by the steady clock; max if there is none.
InferRequest::TimePoint DeadlineOf(const grpc::CallbackServerContext& context);

class StreamInfer final : public grpc::ServerBidiReactor<inference::ModelInferRequest,
                                                         inference::ModelStreamInferResponse> {
 public:
  StreamInfer(Gateway& gateway, const grpc::CallbackServerContext& context,
              const CallMetrics& metrics);

 private:
  // Requests that are not answered, and answers that are not sent: no more is read meanwhile.
  static constexpr size_t kMaxOpen = 64;

  using Reply = std::unique_ptr<inference::ModelStreamInferResponse>;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void ReadRequest(CallMetrics::TimePoint began);
  void OnDone() override { delete this; }

  void Answered(const std::string& id, Status status, const InferResponse& response, bool raw,
                CallMetrics::TimePoint began);
  // What is to be done next, once the lock is held no more.
  void GoOn(std::unique_lock<std::mutex> lock);

  Gateway& gateway_;
  const CallMetrics& metrics_;
  const InferRequest::TimePoint deadline_;
  const std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
  inference::ModelInferRequest request_;

  std::mutex mutex_;
  std::deque<Reply> replies_;  // the first is being written if writing_
  size_t inferring_ = 0;
  bool reading_ = false, writing_ = false;
  bool no_more_ = false;  // the client has sent all
  bool broken_ = false;   // nobody reads the answers
  bool finished_ = false;
  Status refused_;
};

}  // namespace catamaran
