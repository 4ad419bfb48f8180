// serve/server.h
//
// What protocols call. A Server hosts models by name, each in one version or several; it answers
// requests for predictions and leads to what learns. ModelServer (model_server.h) is the one that
// does it; protocols (wire/) are made with a Server& that outlives them.
//
// Thread safety: all methods may be called concurrently. Infer never blocks; Load, Unload and Drain
// take as long as they take, and are not to be called where requests are read.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/serve/infer.h"
#include "catamaran/serve/status.h"
#include "catamaran/tensor/dtype.h"

namespace catamaran {

class Learning;       // learning.h
struct ModelDetails;  // model_details.h

// How requests are put together.
struct BatchOptions {
  bool enabled = true;       // no: each request runs alone, and nothing is padded
  int64_t max_batch = 256;   // rows that are run together at most
  int64_t max_delay_us = 0;  // how long the first request of a batch waits for others. 0: requests
                             // gather only while all threads are busy
};

// What one model may use; a request beyond it is refused with a clear status.
struct ModelLimits {
  int threads = 1;                        // that answer requests
  int64_t max_rows = 4096;                // of one request
  int64_t max_bytes = int64_t{64} << 20;  // of one request's inputs
  int64_t queue_rows = 16384;             // of all that wait
  int64_t queue_bytes = int64_t{256} << 20;
  int64_t queue_requests = 8192;
  int64_t disk_bytes = 0;  // of its log and commits; 0: as much as there is
};

struct ModelConfig {
  std::string program;   // path of a .ctm file
  std::string features;  // path of a features file; empty: none
  // What it starts from where the data directory holds no state of it yet: the directory of a state
  // or of a run of `catamaran train`. Empty: initial values.
  std::string state;
  std::string version;       // empty: one more than the highest number so far
  bool keep_others = false;  // other versions stay, and answer when asked for by their version
  std::string infer_fn = "infer";
  std::string train_fn = "train";
  // By argument: its columns, where they are not the one of its name (for rows).
  std::map<std::string, std::vector<std::string>> bind;
  std::vector<std::string> feature_libraries;
  bool allow_new = false, allow_missing = false;  // where program and saved state differ
  // The features may be others than those that the state was trained with.
  bool allow_changed_features = false;
  // JSON rows may lack columns, and have unknown ones; they are counted.
  bool lenient_rows = false;
  std::map<std::string, std::string> renames;  // paths of saved states and what they are now
  uint64_t seed = 0;                           // of initial values
  bool warm_up = true;                         // runs each batch size once before it is ready
  // Requests with one user and many items: also products of both (model/split_products.h).
  bool split_products = false;
  BatchOptions batch;
  ModelLimits limits;
  // Messages may show lines of any file that it names. No, where others than those who run the
  // service name files: only lines of programs and of files called *.features.
  bool quote_any_file = true;
  int64_t slow_us = 1'000'000;  // requests that take longer are told; 0: none
  bool learn = false;
  // Settings of learning, as text, by name: learning.h says which.
  std::map<std::string, std::string> learning;
};

struct TensorInfo {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;  // -1: any size, the leading one of rows included
  // Values of rows of different length, one after another (shape: [-1, …]); there is also
  // an input or output `name.offsets`.
  bool ragged = false;
};

struct ModelMetadata {
  std::string name;
  std::vector<std::string> versions;  // that are ready; the current one last
  std::string platform = "catamaran";
  std::vector<TensorInfo> inputs, outputs;
  // What JSON rows may have: "age: f32". Empty: rows are not understood.
  std::vector<std::string> row_columns;
  // The names that they may have: labels too, and columns that only other functions read.
  std::vector<std::string> known_columns;
  bool learns = false;
};

struct ServerMetadata {
  std::string name = "catamaran";
  std::string version;
  std::vector<std::string> extensions;  // those that the protocols add are theirs to add
};

enum class ModelState : uint8_t { kLoading, kReady, kUnloading, kUnavailable };

// One version of a model.
struct ModelStatus {
  std::string name, version;
  ModelState state = ModelState::kReady;
  std::string reason;    // kUnavailable: why; else what of a saved state does not fit
  bool current = false;  // answers requests that name no version
  bool learns = false;
  std::string unbatched;  // why its requests are run one by one; empty: they are put together
  int64_t step = 0;
  int64_t requests = 0;  // answered
  int64_t refused = 0;   // for want of room
  int64_t failed = 0;    // for any other reason
  int64_t batches = 0, batched_rows = 0, padded_rows = 0;
  int64_t waiting_requests = 0, waiting_rows = 0;
  int64_t lost_impressions = 0;  // answered, but the log did not take them
  int64_t lenient_rows = 0;      // with missing or unknown columns, and taken all the same
};

class Server {
 public:
  virtual ~Server() = default;

  // Answers by `done`, once, whatever happens.
  virtual void Infer(InferRequest request, InferDone done) = 0;

  // The process is there. It stays so while it drains.
  virtual bool Live() const = 0;
  // All models that were asked for are ready, and it does not drain.
  virtual bool Ready() const = 0;
  // An empty version: the current one.
  virtual bool ModelReady(std::string_view model, std::string_view version) const = 0;
  virtual ServerMetadata Metadata() const = 0;
  // kNotFound if there is no such model or version.
  virtual Status GetModelMetadata(std::string_view model, std::string_view version,
                                  ModelMetadata& metadata) const = 0;
  // The same. Not for where requests are read: it may take milliseconds.
  virtual Status GetModelDetails(std::string_view model, std::string_view version,
                                 ModelDetails& details) const = 0;
  // The text of the program's file, as it was when it was loaded.
  virtual Status GetProgram(std::string_view model, std::string_view version,
                            std::string& text) const = 0;

  // Loads a model, or another version of it in place of the one that answers; returns when it is
  // ready. Requests are answered meanwhile, by the old version; those that it has accepted are
  // answered by it. If it fails, what was there before stays as it was.
  virtual Status Load(const std::string& name, const ModelConfig& config) = 0;
  // The same as it was loaded the last time: its files are read again.
  virtual Status Reload(const std::string& name) = 0;
  // All versions. Requests that were accepted are answered first.
  virtual Status Unload(const std::string& name) = 0;
  // By name and version.
  virtual std::vector<ModelStatus> List() const = 0;

  // What the model learns by; null if there is no such model or it does not learn. It stays usable
  // (and refuses) when the model is unloaded meanwhile.
  virtual std::shared_ptr<Learning> FindLearning(std::string_view model) const = 0;

  // From now on requests are refused with kUnavailable, and Ready says no. Returns when all that
  // were accepted are answered and what was learned is committed.
  virtual void Drain() = 0;
};

}  // namespace catamaran
