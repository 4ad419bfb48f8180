// bench/serve/servers.h
//
// The servers that are measured, each started as a process with one model: "catamaran",
// "catamaran-learning" (which writes every answer to the log), "catamaran-split" (which may take
// products apart), "echo", "onnxruntime", "mlserver", "fastapi".

#pragma once

#include <memory>
#include <string>

#include "bench/serve/load.h"
#include "bench/serve/model.h"
#include "bench/serve/server_process.h"
#include "catamaran/base/scratch_directory.h"

namespace catamaran::bench {

class BenchServer {
 public:
  // Makes what it needs in a directory of its own and starts it. It may answer as many requests at
  // a time as there are cores; `threads` compute one of them. Throws SkipCase if it is not
  // installed.
  BenchServer(const std::string& kind, const BenchModel& model, int threads,
              const std::vector<std::string>& more_arguments = {});

  int grpc_port() const { return grpc_port_; }
  int http_port() const { return http_port_; }
  // Where it is called: the protocol that is asked for if it speaks that, or the one it speaks.
  LoadTarget Target(LoadTarget::Wire wire) const;
  ServerProcess& process() { return *process_; }
  const std::string& directory() const { return scratch_.path(); }

 private:
  ScratchDirectory scratch_;
  int grpc_port_ = 0, http_port_ = 0;  // 0: it does not speak that
  std::unique_ptr<ServerProcess> process_;
};

}  // namespace catamaran::bench
