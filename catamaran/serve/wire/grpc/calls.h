// serve/wire/grpc/calls.h
//
// What all gRPC methods begin and end with: rights, counting, and statuses. For the services only:
// it includes gRPC.

#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "catamaran/serve/guarded.h"
#include "catamaran/serve/status.h"
#include "catamaran/serve/wire/gateway.h"

namespace catamaran {

inline grpc::Status ToGrpc(const Status& status) {
  constexpr grpc::StatusCode kCodes[] = {
      grpc::OK,
      grpc::INVALID_ARGUMENT,
      grpc::NOT_FOUND,
      grpc::FAILED_PRECONDITION,
      grpc::RESOURCE_EXHAUSTED,
      grpc::DEADLINE_EXCEEDED,
      grpc::UNAVAILABLE,
      grpc::CANCELLED,
      grpc::UNAUTHENTICATED,
      grpc::PERMISSION_DENIED,
      grpc::INTERNAL,
  };
  static_assert(std::size(kCodes) == static_cast<size_t>(StatusCode::kInternal) + 1);
  if (status.ok()) return grpc::Status::OK;
  // Messages travel as headers, which clients take some 8 KiB of.
  return {kCodes[static_cast<int>(status.code)], status.message.substr(0, 4000)};
}

inline Status CheckRight(const Gateway& gateway, const grpc::CallbackServerContext& context,
                         Right needed) {
  if (gateway.tokens().empty() || needed == Right::kNone) return {};
  const auto& metadata = context.client_metadata();
  const auto header = metadata.find("authorization");
  if (header == metadata.end()) return gateway.tokens().Check("", needed);
  return gateway.tokens().Check({header->second.data(), header->second.size()}, needed);
}

// One method that has one answer: who calls it may take `this` along and call Finish once, from any
// thread; then it is gone.
class UnaryCall final : public grpc::ServerUnaryReactor {
 public:
  explicit UnaryCall(const CallMetrics& metrics) : metrics_(metrics) {}

  void End(const Status& status) {
    metrics_.Count(status.code, began_);
    Finish(ToGrpc(status));
  }
  // Set when nobody waits for the answer any more.
  const std::shared_ptr<std::atomic<bool>>& cancelled() const { return cancelled_; }

 private:
  void OnCancel() override { cancelled_->store(true, std::memory_order_relaxed); }
  void OnDone() override { delete this; }
  // Both are so short that they need no thread of their own to run on, which gRPC would give them
  // otherwise: a sixth of what a call costs.
  bool InternalInlineable() override { return true; }

  const CallMetrics& metrics_;
  const CallMetrics::TimePoint began_ = std::chrono::steady_clock::now();
  const std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
};

// Checks the right, then does `body(call)`: if that returns kOk, it has seen to it that End is
// called once; else the call ends with what it returned.
template <class Body>
grpc::ServerUnaryReactor* Begin(const Gateway& gateway, const grpc::CallbackServerContext& context,
                                const CallMetrics& metrics, Right needed, const Body& body) {
  auto* call = new UnaryCall(metrics);
  Status status = CheckRight(gateway, context, needed);
  if (status.ok()) status = Guarded([&] { return body(call); });
  if (!status.ok()) call->End(status);
  return call;
}

// Does `read`, which returns and ends the call as the body of Begin: at once, or for a large
// request on a thread for such.
template <class Read>
Status ReadHere(Gateway& gateway, UnaryCall* call, bool large, Read read) {
  if (!large) return read();
  const bool taken = gateway.large().Run([call, read = std::move(read)] {
    const Status status = Guarded(read);
    if (!status.ok()) call->End(status);
  });
  if (taken) return {};
  return {StatusCode::kResourceExhausted, "too many large requests wait to be read"};
}

// The same for a body that is done when it returns.
template <class Body>
grpc::ServerUnaryReactor* Answer(const Gateway& gateway, const grpc::CallbackServerContext& context,
                                 const CallMetrics& metrics, Right needed, const Body& body) {
  auto* call = new UnaryCall(metrics);
  Status status = CheckRight(gateway, context, needed);
  if (status.ok()) status = Guarded(body);
  call->End(status);
  return call;
}

}  // namespace catamaran
