#include "catamaran/serve/wire/grpc/stream_infer.h"

#include <algorithm>
#include <utility>

#include "catamaran/serve/wire/grpc/infer_messages.h"

namespace catamaran {

InferRequest::TimePoint DeadlineOf(const grpc::CallbackServerContext& context) {
  using System = std::chrono::system_clock;
  const System::time_point deadline = context.deadline();
  const System::time_point now = System::now();
  // Far away is none, and sums stay in range.
  if (deadline - now > std::chrono::hours(24)) return InferRequest::TimePoint::max();
  return std::chrono::steady_clock::now() + (deadline - now);
}

StreamInfer::StreamInfer(Gateway& gateway, const grpc::CallbackServerContext& context,
                         const CallMetrics& metrics)
    : gateway_(gateway), metrics_(metrics), deadline_(DeadlineOf(context)) {
  refused_ = CheckRight(gateway, context, Right::kInfer);
  no_more_ = !refused_.ok();
  GoOn(std::unique_lock(mutex_));
}

void StreamInfer::GoOn(std::unique_lock<std::mutex> lock) {
  if (finished_) return;
  if (broken_ && !writing_) replies_.clear();
  const bool read = !reading_ && !no_more_ && !broken_ && inferring_ + replies_.size() < kMaxOpen;
  const bool write = !writing_ && !replies_.empty();
  const bool finish = !read && !reading_ && !write && !writing_ && inferring_ == 0 &&
                      (no_more_ || broken_) && replies_.empty();
  reading_ = reading_ || read;
  writing_ = writing_ || write;
  finished_ = finish;
  const inference::ModelStreamInferResponse* reply = write ? replies_.front().get() : nullptr;
  const Status status = refused_;
  // Once it is finished and the lock is gone, so may this be.
  lock.unlock();
  if (read) StartRead(&request_);
  if (write) StartWrite(reply);
  if (finish) Finish(ToGrpc(status));
}

void StreamInfer::OnReadDone(bool ok) {
  const auto began = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  if (!ok) {
    reading_ = false;
    no_more_ = true;
    return GoOn(std::move(lock));
  }
  ++inferring_;
  lock.unlock();
  // The next is not read before this one is.
  if (IsLarge(request_) && gateway_.large().Run([this, began] { ReadRequest(began); })) return;
  ReadRequest(began);
}

void StreamInfer::ReadRequest(CallMetrics::TimePoint began) {
  const std::string id = request_.id();
  const bool raw = request_.raw_input_contents_size() > 0;
  InferRequest request;
  const Status status = Guarded([&]() -> Status {
    request = ReadInferRequest(request_, gateway_.max_rows());
    return {};
  });
  std::unique_lock lock(mutex_);
  reading_ = false;
  GoOn(std::move(lock));
  // While inferring_ counts this request the stream does not end.
  if (!status.ok()) return Answered(id, status, {}, raw, began);
  request.deadline = std::min(request.deadline, deadline_);
  request.cancelled = cancelled_;
  // What Infer throws is thrown before it would call back.
  Status thrown = Guarded([&]() -> Status {
    gateway_.server().Infer(std::move(request),
                            [this, id, raw, began](Status end, const InferResponse& answer) {
                              Answered(id, std::move(end), answer, raw, began);
                            });
    return {};
  });
  if (!thrown.ok()) Answered(id, std::move(thrown), {}, raw, began);
}

void StreamInfer::Answered(const std::string& id, Status status, const InferResponse& response,
                           bool raw, CallMetrics::TimePoint began) {
  auto reply = std::make_unique<inference::ModelStreamInferResponse>();
  if (status.ok()) {
    status = Guarded([&]() -> Status {
      WriteInferResponse(response, raw, *reply->mutable_infer_response());
      return {};
    });
  }
  if (!status.ok()) {
    reply->Clear();
    reply->set_error_message(status.message.empty() ? Name(status.code) : status.message);
    reply->mutable_infer_response()->set_id(id);
  }
  metrics_.Count(status.code, began);
  std::unique_lock lock(mutex_);
  --inferring_;
  replies_.push_back(std::move(reply));
  GoOn(std::move(lock));
}

void StreamInfer::OnWriteDone(bool ok) {
  std::unique_lock lock(mutex_);
  writing_ = false;
  replies_.pop_front();
  broken_ = broken_ || !ok;
  GoOn(std::move(lock));
}

void StreamInfer::OnCancel() {
  cancelled_->store(true, std::memory_order_relaxed);
  std::unique_lock lock(mutex_);
  broken_ = true;
  GoOn(std::move(lock));
}

}  // namespace catamaran
