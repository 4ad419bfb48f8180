// Requests over gRPC: messages are encoded once, and sent as bytes.

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <cstring>
#include <optional>

#include "bench/serve/transport.h"
#include "catamaran/base/error.h"
#include "catamaran/serve/wire/inference.grpc.pb.h"

namespace catamaran::bench {
namespace {

const std::string kMethod = "/inference.GRPCInferenceService/ModelInfer";

grpc::ByteBuffer Encode(const LoadRequest& request) {
  inference::ModelInferRequest message;
  message.set_model_name(request.model);
  message.set_id(request.id);
  for (const LoadTensor& tensor : request.inputs) {
    auto& input = *message.add_inputs();
    input.set_name(tensor.name);
    input.set_datatype(tensor.datatype);
    for (const int64_t dim : tensor.shape) input.add_shape(dim);
    message.add_raw_input_contents(tensor.bytes);
  }
  const grpc::Slice slice(message.SerializeAsString());
  return {&slice, 1};
}

class GrpcTransport final : public Transport {
 public:
  GrpcTransport(int port, int connections, const std::vector<LoadRequest>& requests)
      : calls_(static_cast<size_t>(connections)) {
    for (const LoadRequest& request : requests) messages_.push_back(Encode(request));
    for (Call& call : calls_) {
      grpc::ChannelArguments arguments;
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
      arguments.SetMaxReceiveMessageSize(-1);
      call.channel = grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port),
                                               grpc::InsecureChannelCredentials(), arguments);
      call.stub.emplace(call.channel);
    }
    for (Call& call : calls_) {
      if (!call.channel->WaitForConnected(std::chrono::system_clock::now() +
                                          std::chrono::seconds(60))) {
        Fail("port {}: no gRPC server answers there", port);
      }
    }
  }
  ~GrpcTransport() override {
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }

  int connections() const override { return static_cast<int>(calls_.size()); }

  void Send(int connection, size_t request) override {
    Call& call = calls_[static_cast<size_t>(connection)];
    call.reader.reset();
    call.context.emplace();
    call.reader =
        call.stub->PrepareUnaryCall(&*call.context, kMethod, messages_.at(request), &queue_);
    call.reader->StartCall();
    call.reader->Finish(&call.answer, &call.status, &call);
  }

  bool Next(Done& done, TimePoint until) override {
    const auto wait = until - std::chrono::steady_clock::now();
    void* tag = nullptr;
    bool ok = false;
    const auto next = queue_.AsyncNext(&tag, &ok, std::chrono::system_clock::now() + wait);
    if (next != grpc::CompletionQueue::GOT_EVENT) return false;
    const auto* call = static_cast<const Call*>(tag);
    done = {static_cast<int>(call - calls_.data()), call->status.ok()};
    return true;
  }

  std::vector<double> Values(int connection) override {
    Call& call = calls_[static_cast<size_t>(connection)];
    if (!call.status.ok()) Fail("gRPC: {}", call.status.error_message());
    inference::ModelInferResponse message;
    if (!grpc::GenericDeserialize<grpc::ProtoBufferReader, inference::ModelInferResponse>(
             &call.answer, &message)
             .ok() ||
        message.outputs_size() == 0) {
      Fail("gRPC: the answer has no outputs");
    }
    if (message.raw_output_contents_size() == 0) {
      const auto& values = message.outputs(0).contents().fp32_contents();
      return {values.begin(), values.end()};
    }
    const std::string& bytes = message.raw_output_contents(0);
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
    return {values.begin(), values.end()};
  }

 private:
  struct Call {
    std::shared_ptr<grpc::Channel> channel;
    std::optional<grpc::GenericStub> stub;
    std::optional<grpc::ClientContext> context;
    std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
    grpc::ByteBuffer answer;
    grpc::Status status;
  };

  std::vector<grpc::ByteBuffer> messages_;
  grpc::CompletionQueue queue_;
  std::vector<Call> calls_;
};

}  // namespace

std::unique_ptr<Transport> ConnectGrpc(int port, int connections,
                                       const std::vector<LoadRequest>& requests) {
  return std::make_unique<GrpcTransport>(port, connections, requests);
}

}  // namespace catamaran::bench
