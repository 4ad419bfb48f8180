#include "bench/serve/learning_client.h"

#include "catamaran/base/error.h"

namespace catamaran::bench {
namespace {

void Check(const grpc::Status& status, const char* call) {
  if (!status.ok()) Fail("{}: {}", call, status.error_message());
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
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 10);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 20);
  return grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port),
                                   grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

LearningClient::LearningClient(int grpc_port, std::string model)
    : model_(std::move(model)),
      channel_(Connect(grpc_port)),
      inference_(inference::GRPCInferenceService::NewStub(channel_)),
      learning_(v1::Learning::NewStub(channel_)) {}

bool LearningClient::Ready() {
  grpc::ClientContext context;
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
  grpc::ClientContext context;
  inference::ModelInferResponse reply;
  Check(inference_->ModelInfer(&context, request, &reply), "infer");
}

void LearningClient::Feedback(const std::string& id, double value, int64_t event_time_ns) {
  v1::FeedbackRequest request;
  request.set_model(model_);
  v1::FeedbackItem& item = *request.add_items();
  item.set_id(id);
  item.set_value(value);
  item.set_event_time_ns(event_time_ns);
  grpc::ClientContext context;
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
            {"label",
             "FP32",
             {static_cast<int64_t>(labels.size())},
             std::string(reinterpret_cast<const char*>(labels.data()), labels.size() * 4)});
  request.set_event_time_ns(event_time_ns);
  request.set_idempotency_key(idempotency_key);
  grpc::ClientContext context;
  v1::TrainReply reply;
  Check(learning_->Train(&context, request, &reply), "train");
}

void LearningClient::Pause() {
  v1::PauseRequest request;
  request.set_model(model_);
  grpc::ClientContext context;
  v1::StatusReply reply;
  Check(learning_->Pause(&context, request, &reply), "pause");
}

void LearningClient::Resume() {
  v1::ResumeRequest request;
  request.set_model(model_);
  grpc::ClientContext context;
  v1::StatusReply reply;
  Check(learning_->Resume(&context, request, &reply), "resume");
}

void LearningClient::Commit() {
  v1::CommitRequest request;
  request.set_model(model_);
  grpc::ClientContext context;
  v1::CommitReply reply;
  Check(learning_->Commit(&context, request, &reply), "commit");
}

v1::StatusReply LearningClient::Status() {
  v1::StatusRequest request;
  request.set_model(model_);
  grpc::ClientContext context;
  v1::StatusReply reply;
  Check(learning_->Status(&context, request, &reply), "status");
  return reply;
}

}  // namespace catamaran::bench
