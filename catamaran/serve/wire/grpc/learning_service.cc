#include "catamaran/serve/wire/grpc/learning_service.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "catamaran/serve/learning.h"
#include "catamaran/serve/wire/grpc/infer_messages.h"
#include "catamaran/serve/wire/grpc/learning_messages.h"
#include "catamaran/serve/wire/learning_calls.h"

namespace catamaran {
namespace {

// Finds what the model learns by and hands it to `body(learning, call)`.
template <class Body>
grpc::ServerUnaryReactor* BeginLearning(const Gateway& gateway,
                                        const grpc::CallbackServerContext& context,
                                        const CallMetrics& metrics, Right needed,
                                        const std::string& model, const Body& body) {
  return Begin(gateway, context, metrics, needed, [&](UnaryCall* call) {
    std::shared_ptr<catamaran::Learning> learning;
    catamaran::Status found = FindLearning(gateway.server(), model, learning);
    if (found.ok()) body(*learning, call);
    return found;
  });
}

}  // namespace

LearningService::LearningService(Gateway& gateway, Watches& watches)
    : gateway_(gateway),
      watches_(watches),
      train_(gateway.metrics(), "grpc", "Train"),
      feedback_(gateway.metrics(), "grpc", "Feedback"),
      commit_(gateway.metrics(), "grpc", "Commit"),
      status_(gateway.metrics(), "grpc", "Status"),
      pause_(gateway.metrics(), "grpc", "Pause"),
      resume_(gateway.metrics(), "grpc", "Resume"),
      rollback_(gateway.metrics(), "grpc", "Rollback") {}

grpc::ServerUnaryReactor* LearningService::Train(Context* context, const v1::TrainRequest* message,
                                                 v1::TrainReply* reply) {
  return Begin(gateway_, *context, train_, Right::kLearn, [&](UnaryCall* call) {
    const auto read = [this, message, reply, call]() -> catamaran::Status {
      std::shared_ptr<catamaran::Learning> learning;
      catamaran::Status found = FindLearning(gateway_.server(), message->model(), learning);
      if (!found.ok()) return found;
      learning->Train(ReadTrainRequest(*message, gateway_.max_rows()),
                      [call, reply](const catamaran::Status& status, const TrainReply& done) {
                        reply->set_rows(done.rows);
                        reply->set_log_offset(done.log_offset);
                        call->End(status);
                      });
      return found;
    };
    return ReadHere(gateway_, call, IsLarge(*message), read);
  });
}

grpc::ServerUnaryReactor* LearningService::Feedback(Context* context,
                                                    const v1::FeedbackRequest* message,
                                                    v1::FeedbackReply* reply) {
  return Begin(gateway_, *context, feedback_, Right::kLearn, [&](UnaryCall* call) {
    const auto read = [this, message, reply, call]() -> catamaran::Status {
      std::shared_ptr<catamaran::Learning> learning;
      catamaran::Status found = FindLearning(gateway_.server(), message->model(), learning);
      if (!found.ok()) return found;
      learning->Feedback(ReadFeedbackRequest(*message, gateway_.max_rows()),
                         [call, reply](const catamaran::Status& status, const FeedbackReply& done) {
                           reply->set_items(done.items);
                           reply->set_log_offset(done.log_offset);
                           call->End(status);
                         });
      return found;
    };
    return ReadHere(gateway_, call, IsLarge(*message), read);
  });
}

grpc::ServerUnaryReactor* LearningService::Commit(Context* context,
                                                  const v1::CommitRequest* message,
                                                  v1::CommitReply* reply) {
  return BeginLearning(
      gateway_, *context, commit_, Right::kAdmin, message->model(),
      [&](catamaran::Learning& learning, UnaryCall* call) {
        learning.Commit([call, reply](const catamaran::Status& status, const CommitReply& done) {
          reply->set_commit(done.commit);
          reply->set_step(done.step);
          reply->set_log_offset(done.log_offset);
          call->End(status);
        });
      });
}

grpc::ServerUnaryReactor* LearningService::Status(Context* context,
                                                  const v1::StatusRequest* message,
                                                  v1::StatusReply* reply) {
  return BeginLearning(gateway_, *context, status_, Right::kLearn, message->model(),
                       [&](catamaran::Learning& learning, UnaryCall* call) {
                         WriteStatus(learning.status(), *reply);
                         WriteCommits(learning.Commits(), *reply);
                         call->End({});
                       });
}

grpc::ServerWriteReactor<v1::StatusReply>* LearningService::Watch(Context* context,
                                                                  const v1::WatchRequest* message) {
  constexpr int64_t kDefaultMs = 1000, kMinMs = 100, kMaxMs = 3'600'000;
  catamaran::Status status = CheckRight(gateway_, *context, Right::kLearn);
  std::shared_ptr<catamaran::Learning> learning;
  if (status.ok()) status = FindLearning(gateway_.server(), message->model(), learning);
  const int64_t ms =
      message->interval_ms() == 0 ? kDefaultMs : std::clamp(message->interval_ms(), kMinMs, kMaxMs);
  return new catamaran::Watch<v1::StatusReply>(
      gateway_, watches_, status, std::chrono::milliseconds(ms),
      [this, model = message->model()](v1::StatusReply& reply) {
        std::shared_ptr<catamaran::Learning> now;
        catamaran::Status found = FindLearning(gateway_.server(), model, now);
        if (!found.ok()) return found;
        WriteStatus(now->status(), reply);
        WriteCommits(now->Commits(), reply);
        return found;
      });
}

grpc::ServerUnaryReactor* LearningService::Pause(Context* context, const v1::PauseRequest* message,
                                                 v1::StatusReply* reply) {
  return BeginLearning(
      gateway_, *context, pause_, Right::kAdmin, message->model(),
      [&](catamaran::Learning& learning, UnaryCall* call) {
        learning.Pause([call, reply](const catamaran::Status& status, const LearningStatus& now) {
          WriteStatus(now, *reply);
          call->End(status);
        });
      });
}

grpc::ServerUnaryReactor* LearningService::Resume(Context* context,
                                                  const v1::ResumeRequest* message,
                                                  v1::StatusReply* reply) {
  return BeginLearning(
      gateway_, *context, resume_, Right::kAdmin, message->model(),
      [&](catamaran::Learning& learning, UnaryCall* call) {
        learning.Resume([call, reply](const catamaran::Status& status, const LearningStatus& now) {
          WriteStatus(now, *reply);
          call->End(status);
        });
      });
}

grpc::ServerUnaryReactor* LearningService::Rollback(Context* context,
                                                    const v1::RollbackRequest* message,
                                                    v1::RollbackReply* reply) {
  return BeginLearning(gateway_, *context, rollback_, Right::kAdmin, message->model(),
                       [&](catamaran::Learning& learning, UnaryCall* call) {
                         learning.Rollback(message->commit(),
                                           [call, reply](const catamaran::Status& status,
                                                         const RollbackReply& done) {
                                             reply->set_commit(done.commit);
                                             reply->set_step(done.step);
                                             reply->set_skipped_steps(done.skipped_steps);
                                             reply->set_skipped_examples(done.skipped_examples);
                                             call->End(status);
                                           });
                       });
}

}  // namespace catamaran
