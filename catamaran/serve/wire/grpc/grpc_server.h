// serve/wire/grpc/grpc_server.h
//
// The service over gRPC: the Open Inference Protocol (inference.proto), catamaran.v1.Learning
// (learning.proto), health checking and reflection, on one port.
//
// Thread safety: all methods may be called concurrently.

#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "catamaran/serve/wire/auth/tls.h"
#include "catamaran/serve/wire/gateway.h"

namespace catamaran {

struct GrpcOptions {
  std::string host = "127.0.0.1";
  int port = 0;                  // 0: a free one
  std::optional<TlsKeys> tls;    // none: not encrypted
  bool allow_anonymous = false;  // also without tokens where other machines reach it
  int64_t max_message_bytes = int64_t{64} << 20;  // of a request
  int64_t max_memory_bytes = int64_t{1} << 30;    // of all that are being read
  size_t max_connections = 4096;                  // more are closed at once
  int max_streams = 1024;                         // calls at once of one connection
  int max_watches = 256;                          // of health and learning together
  // From connecting to the first words of HTTP/2, encryption included.
  std::chrono::milliseconds handshake_timeout{10'000};
};

class GrpcServer {
 public:
  // Listens from now on. An Error if the address cannot be had, or is open to others without
  // tokens. `gateway` outlives it.
  GrpcServer(Gateway& gateway, const GrpcOptions& options);
  // As Stop without patience.
  ~GrpcServer();

  int port() const;

  // Takes no more calls; returns when those that are under way have ended, which are cancelled when
  // `patience` is over. Watches end at once.
  void Stop(std::chrono::milliseconds patience);

 private:
  struct Services;
  std::unique_ptr<Services> services_;
};

}  // namespace catamaran
