// bench/serve/learning_server.h
//
// `catamaran serve --learn` with a model of model.h, as a process that can be killed and started
// again; and examples to teach it.
//
// Thread safety: one thread at a time.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/serve/learning_client.h"
#include "bench/serve/model.h"
#include "bench/serve/server_process.h"
#include "bench/table/live_table.h"

namespace catamaran::bench {

// The model of that name with so many rows in its table; 0: as many as it has.
BenchModel WithRows(const std::string& name, int64_t rows);

class LearningServer {
 public:
  // Makes the model's state and starts; `settings` are of learning ("batch_rows=64").
  LearningServer(const BenchModel& model, const std::vector<std::string>& settings);
  // With initial values of the program.
  LearningServer(const std::string& name, const std::string& program,
                 const std::vector<std::string>& settings);

  // Returns when it is ready.
  void Start();
  void Kill() { process_.reset(); }  // SIGKILL

  LearningClient& client() { return *client_; }
  int grpc_port() const { return grpc_port_; }
  ServerProcess& process() { return *process_; }
  // Where it keeps log and commits.
  std::string data() const { return directory_.path() + "/data"; }

 private:
  void Begin(const std::string& name, const std::string& program,
             const std::vector<std::string>& settings);

  const ScratchDirectory directory_;
  const int grpc_port_ = FreePort();
  std::vector<std::string> command_;
  std::unique_ptr<ServerProcess> process_;
  std::unique_ptr<LearningClient> client_;
};

// Examples with labels, so many a request; all are different for long.
class ExampleRequests {
 public:
  ExampleRequests(const BenchModel& model, int64_t rows);
  void Send(LearningClient& client, int64_t event_time_ns = 0);

 private:
  std::vector<std::vector<LoadTensor>> features_;
  std::vector<float> labels_;
  size_t next_ = 0;
};

}  // namespace catamaran::bench
