#include "bench/serve/learning_client.h"

#include <chrono>

#include "catamaran/base/error.h"

namespace catamaran::bench {
namespace {

constexpr auto kPatience = std::chrono::minutes(1);

ErrorCode CodeOfStatus(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::CANCELLED:
      return ErrorCode::kUnavailable;
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return ErrorCode::kResourceExhausted;
    case grpc::StatusCode::INTERNAL:
    case grpc::StatusCode::UNKNOWN:
      return ErrorCode::kInternal;
    default:
      return ErrorCode::kInvalidArgument;
  }
}

void Check(const grpc::Status& status, const char* call) {
  if (!status.ok()) Fail(CodeOfStatus(status.error_code()), "{}: {}", call, status.error_message());
}

struct Context : grpc::ClientContext {
  Context() { set_deadline(std::chrono::system_clock::now() + kPatience); }
};

// A call that says nothing but which model it is for.
template <class Request, class Reply>
Reply CallFor(const std::string& model, v1::Learning::Stub& stub,
              grpc::Status (v1::Learning::Stub::*call)(grpc::ClientContext*, const Request&,
                                                       Reply*),
              const char* name) {
  Request request;
  request.set_model(model);
  Context context;
  Reply reply;
  Check((stub.*call)(&context, request, &reply), name);
  return reply;
}

template <class Request>
void AddTensor(Request& request, const LoadTensor& tensor) {
  auto& input = *request.add_inputs();
  input.set_name(tensor.name);
  input.set_datatype(tensor.datatype);
  for (const int64_t dim : tensor.shape) input.add_shape(dim);
  request.add_raw_input_contents(tensor.bytes);
}

std::shared_ptr<grpc::Channel> Connect(int port) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
  // A server that is started anew is looked for often.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 10);
  // How long one try may take: a server that is busy does not answer at once.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 20);
  return grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port),
                                   grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

LearningClient::LearningClient(int grpc_port, std::string model, std::string label)
    : model_(std::move(model)),
      label_(std::move(label)),
      channel_(Connect(grpc_port)),
      inference_(inference::GRPCInferenceService::NewStub(channel_)),
      learning_(v1::Learning::NewStub(channel_)) {}

bool LearningClient::Ready() {
  Context context;
  inference::ServerReadyResponse reply;
  return inference_->ServerReady(&context, {}, &reply).ok() && reply.ready();
}

void LearningClient::Infer(const LoadRequest& load, const std::string& id, int64_t event_time_ns) {
  inference::ModelInferRequest request;
  request.set_model_name(load.model);
  request.set_id(id);
  for (const LoadTensor& tensor : load.inputs) AddTensor(request, tensor);
  if (event_time_ns != 0) {
    (*request.mutable_parameters())["event_time_ns"].set_int64_param(event_time_ns);
  }
  Context context;
  inference::ModelInferResponse reply;
  Check(inference_->ModelInfer(&context, request, &reply), "infer");
}

void LearningClient::Feedback(const std::string& id, double value, int64_t event_time_ns,
                              int64_t row, const std::string& idempotency_key) {
  v1::FeedbackRequest request;
  request.set_model(model_);
  v1::FeedbackItem& item = *request.add_items();
  item.set_id(id);
  item.set_row(row);
  item.set_value(value);
  item.set_event_time_ns(event_time_ns);
  item.set_idempotency_key(idempotency_key);
  Context context;
  v1::FeedbackReply reply;
  Check(learning_->Feedback(&context, request, &reply), "feedback");
}

void LearningClient::Train(const std::vector<LoadTensor>& features,
                           const std::vector<float>& labels, int64_t event_time_ns,
                           const std::string& idempotency_key) {
  v1::TrainRequest request;
  request.set_model(model_);
  for (const LoadTensor& tensor : features) AddTensor(request, tensor);
  AddTensor(request,
            {label_,
             "FP32",
             {static_cast<int64_t>(labels.size())},
             std::string(reinterpret_cast<const char*>(labels.data()), labels.size() * 4)});
  request.set_event_time_ns(event_time_ns);
  request.set_idempotency_key(idempotency_key);
  Context context;
  v1::TrainReply reply;
  Check(learning_->Train(&context, request, &reply), "train");
}

void LearningClient::Pause() { CallFor(model_, *learning_, &v1::Learning::Stub::Pause, "pause"); }
void LearningClient::Resume() {
  CallFor(model_, *learning_, &v1::Learning::Stub::Resume, "resume");
}
void LearningClient::Commit() {
  CallFor(model_, *learning_, &v1::Learning::Stub::Commit, "commit");
}
v1::StatusReply LearningClient::Status() {
  return CallFor(model_, *learning_, &v1::Learning::Stub::Status, "status");
}

}  // namespace catamaran::bench
