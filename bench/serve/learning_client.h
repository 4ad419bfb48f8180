// bench/serve/learning_client.h
//
// What benchmarks call of a model that learns, over gRPC, one call after another.
//
// Thread safety: all methods may be called concurrently.

#pragma once

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/serve/transport.h"
#include "catamaran/serve/wire/inference.grpc.pb.h"
#include "catamaran/serve/wire/learning.grpc.pb.h"

namespace catamaran::bench {

class LearningClient {
 public:
  // `label`: the argument that Train's labels are for.
  LearningClient(int grpc_port, std::string model, std::string label = "label");

  // Whether the server answers and says that it is ready; false also if nobody is there.
  bool Ready();
  // The following throw an Error if the call fails. Its code is kUnavailable if the server cannot
  // be reached, goes away or takes more than a minute; kResourceExhausted and kInternal if it says
  // so.
  void Infer(const LoadRequest& request, const std::string& id, int64_t event_time_ns = 0);
  void Feedback(const std::string& id, double value, int64_t event_time_ns = 0, int64_t row = 0,
                const std::string& idempotency_key = "");
  // `features` and one label a row.
  void Train(const std::vector<LoadTensor>& features, const std::vector<float>& labels,
             int64_t event_time_ns = 0, const std::string& idempotency_key = "");
  void Pause();
  void Resume();
  void Commit();
  v1::StatusReply Status();

 private:
  const std::string model_, label_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<inference::GRPCInferenceService::Stub> inference_;
  const std::unique_ptr<v1::Learning::Stub> learning_;
};

}  // namespace catamaran::bench
