// A gRPC server that does nothing: it reads a message of the Open Inference Protocol and answers
// with one of the size of our answer. What gRPC alone costs.

#include <absl/synchronization/mutex.h>
#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <string>

#include "bench/worker.h"
#include "catamaran/serve/wire/inference.grpc.pb.h"

namespace {

class Echo final : public inference::GRPCInferenceService::CallbackService {
 public:
  grpc::ServerUnaryReactor* ModelInfer(grpc::CallbackServerContext* context,
                                       const inference::ModelInferRequest* request,
                                       inference::ModelInferResponse* response) override {
    response->set_model_name(request->model_name());
    response->set_model_version("1");
    response->set_id("0123456789abcdef-01234567");
    (*response->mutable_parameters())["step"].set_int64_param(1);
    auto& output = *response->add_outputs();
    output.set_name("click");
    output.set_datatype("FP32");
    output.add_shape(1);
    response->add_raw_output_contents("0123");
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

}  // namespace

int main(int argc, char** argv) {
  const std::string port = catamaran::bench::Option(argc, argv, "--port", "8001");
  // As our server does: a check of gRPC's own locks that some systems leave on.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  Echo echo;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:" + port, grpc::InsecureServerCredentials());
  builder.RegisterService(&echo);
  builder.SetMaxReceiveMessageSize(-1);
  const auto server = builder.BuildAndStart();
  if (!server) return 1;
  server->Wait();
  return 0;
}
