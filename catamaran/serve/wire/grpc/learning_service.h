// serve/wire/grpc/learning_service.h
//
// catamaran.v1.Learning over a Gateway. For grpc_server.cc only: it includes gRPC.

#pragma once

#include "catamaran/serve/wire/grpc/calls.h"
#include "catamaran/serve/wire/grpc/watch.h"
#include "catamaran/serve/wire/learning.grpc.pb.h"

namespace catamaran {

class LearningService final : public v1::Learning::CallbackService {
 public:
  LearningService(Gateway& gateway, Watches& watches);

  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;
  Unary* Train(Context* context, const v1::TrainRequest* request, v1::TrainReply* reply) override;
  Unary* Feedback(Context* context, const v1::FeedbackRequest* request,
                  v1::FeedbackReply* reply) override;
  Unary* Commit(Context* context, const v1::CommitRequest* request,
                v1::CommitReply* reply) override;
  Unary* Status(Context* context, const v1::StatusRequest* request,
                v1::StatusReply* reply) override;
  grpc::ServerWriteReactor<v1::StatusReply>* Watch(Context* context,
                                                   const v1::WatchRequest* request) override;
  Unary* Pause(Context* context, const v1::PauseRequest* request, v1::StatusReply* reply) override;
  Unary* Resume(Context* context, const v1::ResumeRequest* request,
                v1::StatusReply* reply) override;
  Unary* Rollback(Context* context, const v1::RollbackRequest* request,
                  v1::RollbackReply* reply) override;

 private:
  Gateway& gateway_;
  Watches& watches_;
  const CallMetrics train_, feedback_, commit_, status_, pause_, resume_, rollback_;
};

}  // namespace catamaran
