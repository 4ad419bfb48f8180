#include "catamaran/serve/wire/grpc/inference_service.h"

#include <map>
#include <utility>

#include "catamaran/serve/wire/grpc/infer_messages.h"
#include "catamaran/serve/wire/grpc/stream_infer.h"
#include "catamaran/serve/wire/model_loading.h"

namespace catamaran {
namespace {

// Of a list of items, by a thread that brings requests; there are others while it is busy.
constexpr int64_t kLongestRun = 2'000'000;

// One user and many items. Such a request runs by itself in any case; rows that stand for
// themselves gather in the queue meanwhile, and cost less together.
bool IsList(const InferRequest& request) {
  bool one = false, many = false;
  for (const NamedTensor& input : request.inputs) {
    if (input.tensor.rank() == 0) continue;
    (input.tensor.shape()[0] == 1 ? one : many) = true;
  }
  return one && many;
}

}  // namespace

InferenceService::InferenceService(Gateway& gateway)
    : gateway_(gateway),
      live_(gateway.metrics(), "grpc", "ServerLive"),
      ready_(gateway.metrics(), "grpc", "ServerReady"),
      model_ready_(gateway.metrics(), "grpc", "ModelReady"),
      server_metadata_(gateway.metrics(), "grpc", "ServerMetadata"),
      model_metadata_(gateway.metrics(), "grpc", "ModelMetadata"),
      infer_(gateway.metrics(), "grpc", "ModelInfer"),
      stream_(gateway.metrics(), "grpc", "ModelStreamInfer"),
      index_(gateway.metrics(), "grpc", "RepositoryIndex"),
      load_(gateway.metrics(), "grpc", "RepositoryModelLoad"),
      unload_(gateway.metrics(), "grpc", "RepositoryModelUnload") {
  SetMessageAllocatorFor_ModelInfer(&messages_);
}

grpc::ServerUnaryReactor* InferenceService::ServerLive(Context* context,
                                                       const inference::ServerLiveRequest*,
                                                       inference::ServerLiveResponse* response) {
  return Answer(gateway_, *context, live_, Right::kNone, [&]() -> Status {
    response->set_live(gateway_.server().Live());
    return {};
  });
}

grpc::ServerUnaryReactor* InferenceService::ServerReady(Context* context,
                                                        const inference::ServerReadyRequest*,
                                                        inference::ServerReadyResponse* response) {
  return Answer(gateway_, *context, ready_, Right::kNone, [&]() -> Status {
    response->set_ready(gateway_.server().Ready());
    return {};
  });
}

grpc::ServerUnaryReactor* InferenceService::ModelReady(Context* context,
                                                       const inference::ModelReadyRequest* request,
                                                       inference::ModelReadyResponse* response) {
  return Answer(gateway_, *context, model_ready_, Right::kInfer, [&]() -> Status {
    response->set_ready(gateway_.server().ModelReady(request->name(), request->version()));
    return {};
  });
}

grpc::ServerUnaryReactor* InferenceService::ServerMetadata(
    Context* context, const inference::ServerMetadataRequest*,
    inference::ServerMetadataResponse* response) {
  return Answer(gateway_, *context, server_metadata_, Right::kInfer, [&]() -> Status {
    const catamaran::ServerMetadata metadata = gateway_.Metadata();
    response->set_name(metadata.name);
    response->set_version(metadata.version);
    for (const std::string& extension : metadata.extensions) response->add_extensions(extension);
    return {};
  });
}

grpc::ServerUnaryReactor* InferenceService::ModelMetadata(
    Context* context, const inference::ModelMetadataRequest* request,
    inference::ModelMetadataResponse* response) {
  return Answer(gateway_, *context, model_metadata_, Right::kInfer, [&] {
    catamaran::ModelMetadata metadata;
    Status status =
        gateway_.server().GetModelMetadata(request->name(), request->version(), metadata);
    if (status.ok()) WriteModelMetadata(metadata, *response);
    return status;
  });
}

grpc::ServerUnaryReactor* InferenceService::ModelInfer(Context* context,
                                                       const inference::ModelInferRequest* message,
                                                       inference::ModelInferResponse* response) {
  return Begin(gateway_, *context, infer_, Right::kInfer, [&](UnaryCall* call) -> Status {
    const bool large = IsLarge(*message);
    const auto deadline = DeadlineOf(*context);
    const auto read = [this, message, response, call, large, deadline]() -> Status {
      InferRequest request = ReadInferRequest(*message, gateway_.max_rows());
      request.deadline = std::min(request.deadline, deadline);
      request.cancelled = call->cancelled();
      // Answers that are logged take their turn at the log: better the model's threads than ours.
      if (!large && IsList(request) && gateway_.server().FindLearning(request.model) == nullptr) {
        request.run_here_ns = kLongestRun;
      }
      const bool raw = message->raw_input_contents_size() > 0;
      gateway_.server().Infer(std::move(request),
                              [call, raw, response](Status status, const InferResponse& answer) {
                                if (status.ok()) {
                                  status = Guarded([&]() -> Status {
                                    WriteInferResponse(answer, raw, *response);
                                    return {};
                                  });
                                }
                                call->End(status);
                              });
      return {};
    };
    return ReadHere(gateway_, call, large, read);
  });
}

grpc::ServerBidiReactor<inference::ModelInferRequest, inference::ModelStreamInferResponse>*
InferenceService::ModelStreamInfer(Context* context) {
  return new StreamInfer(gateway_, *context, stream_);
}

grpc::ServerUnaryReactor* InferenceService::RepositoryIndex(
    Context* context, const inference::RepositoryIndexRequest* request,
    inference::RepositoryIndexResponse* response) {
  return Answer(gateway_, *context, index_, Right::kInfer, [&]() -> Status {
    for (const ModelStatus& model : gateway_.server().List()) {
      if (request->ready() && model.state != ModelState::kReady) continue;
      auto& entry = *response->add_models();
      entry.set_name(model.name);
      entry.set_version(model.version);
      entry.set_state(Name(model.state));
      entry.set_reason(model.reason);
    }
    return {};
  });
}

grpc::ServerUnaryReactor* InferenceService::Later(Context* context, const CallMetrics& metrics,
                                                  std::function<Status()> task) {
  return Begin(gateway_, *context, metrics, Right::kAdmin, [&](UnaryCall* call) -> Status {
    const bool taken = gateway_.Later([call, task = std::move(task)] { call->End(Guarded(task)); });
    if (taken) return {};
    return {StatusCode::kResourceExhausted, "too many models wait to be loaded or unloaded"};
  });
}

grpc::ServerUnaryReactor* InferenceService::RepositoryModelLoad(
    Context* context, const inference::RepositoryModelLoadRequest* request,
    inference::RepositoryModelLoadResponse*) {
  LoadSettings settings;
  for (const auto& [name, value] : request->parameters()) {
    using Choice = inference::ModelRepositoryParameter::ParameterChoiceCase;
    switch (value.parameter_choice_case()) {
      case Choice::kBoolParam:
        settings[name] = value.bool_param() ? "true" : "false";
        break;
      case Choice::kInt64Param:
        settings[name] = std::to_string(value.int64_param());
        break;
      case Choice::kBytesParam:
        settings[name] = value.bytes_param();
        break;
      default:
        settings[name] = value.string_param();
    }
  }
  return Later(context, load_,
               [&server = gateway_.server(), model = request->model_name(),
                settings = std::move(settings)] { return LoadModel(server, model, settings); });
}

grpc::ServerUnaryReactor* InferenceService::RepositoryModelUnload(
    Context* context, const inference::RepositoryModelUnloadRequest* request,
    inference::RepositoryModelUnloadResponse*) {
  return Later(context, unload_, [&server = gateway_.server(), model = request->model_name()] {
    return server.Unload(model);
  });
}

}  // namespace catamaran
