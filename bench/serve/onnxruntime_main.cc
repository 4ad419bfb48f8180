// A plain inference server as one writes it in C++: gRPC (the Open Inference Protocol), ONNX
// Runtime for the model, a hash map for the embeddings. Each request is run by itself, on the
// thread that brought it.
//
//   bench_serve_onnxruntime --port P --model NAME --onnx FILE --threads N [--split]
//
// A request with one user and many items: the user's rows are looked up once and repeated for each
// item, as the model was trained; with --split they are not repeated where the graph can do
// without.

#include <absl/container/flat_hash_map.h>
#include <absl/synchronization/mutex.h>
#include <dlfcn.h>
#include <grpcpp/grpcpp.h>
#include <onnxruntime_c_api.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/ctr/rows.h"
#include "bench/serve/model.h"
#include "bench/worker.h"
#include "catamaran/serve/wire/inference.grpc.pb.h"

namespace catamaran::bench {
namespace {

constexpr size_t kMaxWidth = 17;

class OnnxModel {
 public:
  OnnxModel(const std::string& library, const std::string& path, int threads) {
    void* handle = ::dlopen(library.c_str(), RTLD_NOW);
    if (handle == nullptr) throw std::runtime_error(::dlerror());
    auto* base = reinterpret_cast<const OrtApiBase* (*)()>(::dlsym(handle, "OrtGetApiBase"));
    if (base == nullptr) throw std::runtime_error("no ONNX Runtime in " + library);
    api_ = base()->GetApi(ORT_API_VERSION);
    if (api_ == nullptr) throw std::runtime_error("ONNX Runtime is older than its header");
    OrtEnv* environment = nullptr;
    OrtSessionOptions* options = nullptr;
    Check(api_->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "bench", &environment));
    Check(api_->CreateSessionOptions(&options));
    Check(api_->SetSessionGraphOptimizationLevel(options, ORT_ENABLE_ALL));
    Check(api_->SetIntraOpNumThreads(options, threads));
    Check(api_->SetInterOpNumThreads(options, 1));
    Check(api_->CreateSession(environment, path.c_str(), options, &session_));
    Check(api_->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory_));
  }

  struct Input {
    const char* name;
    const float* values;
    std::vector<int64_t> shape;
  };
  void Run(const std::vector<Input>& inputs, std::string& click, int64_t rows) const {
    std::vector<OrtValue*> values;
    std::vector<const char*> names;
    for (const Input& input : inputs) {
      size_t count = 1;
      for (const int64_t dim : input.shape) count *= static_cast<size_t>(dim);
      values.push_back(Value(const_cast<float*>(input.values), count, input.shape));
      names.push_back(input.name);
    }
    click.resize(static_cast<size_t>(rows) * sizeof(float));
    OrtValue* out = Value(click.data(), static_cast<size_t>(rows), {rows});
    const char* const out_name = "click";
    OrtStatus* status = api_->Run(session_, nullptr, names.data(), values.data(), values.size(),
                                  &out_name, 1, &out);
    for (OrtValue* value : values) api_->ReleaseValue(value);
    api_->ReleaseValue(out);
    Check(status);
  }

 private:
  OrtValue* Value(void* data, size_t count, const std::vector<int64_t>& shape) const {
    OrtValue* value = nullptr;
    Check(api_->CreateTensorWithDataAsOrtValue(memory_, data, count * sizeof(float), shape.data(),
                                               shape.size(), ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
                                               &value));
    return value;
  }
  void Check(OrtStatus* status) const {
    if (status == nullptr) return;
    const std::string message = api_->GetErrorMessage(status);
    api_->ReleaseStatus(status);
    throw std::runtime_error(message);
  }

  const OrtApi* api_ = nullptr;
  OrtSession* session_ = nullptr;
  OrtMemoryInfo* memory_ = nullptr;
};

class Embeddings {
 public:
  explicit Embeddings(const BenchModel& model) : width_(static_cast<size_t>(model.width)) {
    rows_.reserve(static_cast<size_t>(model.ids));
    for (int64_t id = 0; id < model.ids; ++id) {
      Row& row = rows_[static_cast<uint64_t>(id)];
      for (size_t j = 0; j < width_; ++j) {
        row[j] = InitialEmbedding(id, static_cast<int64_t>(j));
      }
    }
  }
  size_t width() const { return width_; }

  // Unknown ids are zeros.
  void Lookup(const std::string& ids, float* out) const {
    for (size_t at = 0; at + sizeof(uint64_t) <= ids.size(); at += sizeof(uint64_t)) {
      uint64_t id = 0;
      std::memcpy(&id, ids.data() + at, sizeof id);
      const auto found = rows_.find(id);
      if (found == rows_.end()) {
        std::memset(out, 0, width_ * sizeof(float));
      } else {
        std::memcpy(out, found->second.data(), width_ * sizeof(float));
      }
      out += width_;
    }
  }

 private:
  using Row = std::array<float, kMaxWidth>;
  const size_t width_;
  absl::flat_hash_map<uint64_t, Row> rows_;
};

class Service final : public inference::GRPCInferenceService::CallbackService {
 public:
  Service(const OnnxModel& model, const Embeddings& embeddings, bool split)
      : model_(model), embeddings_(embeddings), split_(split) {}

  grpc::ServerUnaryReactor* ModelInfer(grpc::CallbackServerContext* context,
                                       const inference::ModelInferRequest* request,
                                       inference::ModelInferResponse* response) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    try {
      Answer(*request, *response);
      reactor->Finish(grpc::Status::OK);
    } catch (const std::exception& error) {
      reactor->Finish({grpc::INVALID_ARGUMENT, error.what()});
    }
    return reactor;
  }

 private:
  void Answer(const inference::ModelInferRequest& request,
              inference::ModelInferResponse& response) const {
    if (request.raw_input_contents_size() != request.inputs_size()) {
      throw std::runtime_error("inputs come raw");
    }
    int64_t rows = 1;
    for (const auto& input : request.inputs()) rows = std::max(rows, input.shape(0));
    thread_local std::vector<std::vector<float>> memory;
    memory.resize(static_cast<size_t>(request.inputs_size()));
    std::vector<OnnxModel::Input> inputs;
    for (int i = 0; i < request.inputs_size(); ++i) {
      inputs.push_back(Input(request.inputs(i), request.raw_input_contents(i), rows,
                             memory[static_cast<size_t>(i)]));
    }
    response.set_model_name(request.model_name());
    response.set_id(request.id());
    auto& output = *response.add_outputs();
    output.set_name("click");
    output.set_datatype("FP32");
    output.add_shape(rows);
    model_.Run(inputs, *response.add_raw_output_contents(), rows);
  }

  OnnxModel::Input Input(const inference::ModelInferRequest::InferInputTensor& input,
                         const std::string& bytes, int64_t rows, std::vector<float>& memory) const {
    const int64_t found = input.shape(0), columns = input.shape(1);
    const bool ids = input.datatype() == "UINT64";
    const auto elements = static_cast<size_t>(found * columns);
    if (bytes.size() != elements * (ids ? 8 : 4)) throw std::runtime_error("wrong size");
    const size_t row = static_cast<size_t>(columns) * (ids ? embeddings_.width() : 1);
    const bool repeat = found == 1 && rows > 1 && !split_;
    const int64_t count = repeat ? rows : found;
    memory.resize(static_cast<size_t>(count) * row);
    if (ids) {
      embeddings_.Lookup(bytes, memory.data());
    } else {
      std::memcpy(memory.data(), bytes.data(), bytes.size());
    }
    for (int64_t r = 1; repeat && r < rows; ++r) {
      std::memcpy(memory.data() + static_cast<size_t>(r) * row, memory.data(), row * sizeof(float));
    }
    std::vector<int64_t> shape = {count, columns};
    if (ids) shape.push_back(static_cast<int64_t>(embeddings_.width()));
    return {input.name().c_str(), memory.data(), shape};
  }

  const OnnxModel& model_;
  const Embeddings& embeddings_;
  const bool split_;
};

}  // namespace
}  // namespace catamaran::bench

int main(int argc, char** argv) {
  using namespace catamaran::bench;
  try {
    const OnnxModel model(CATAMARAN_ONNXRUNTIME, Option(argc, argv, "--onnx", ""),
                          std::stoi(Option(argc, argv, "--threads", "1")));
    const Embeddings embeddings(FindModel(Option(argc, argv, "--model", "deepfm")));
    Service service(model, embeddings, Flag(argc, argv, "--split"));
    // As our server does: a check of gRPC's own locks that some systems leave on.
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:" + Option(argc, argv, "--port", "8001"),
                             grpc::InsecureServerCredentials());
    builder.RegisterService(&service);
    builder.SetMaxReceiveMessageSize(-1);
    const auto server = builder.BuildAndStart();
    if (!server) return 1;
    server->Wait();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
