// serve/wire/grpc/grpc_test_util.h
//
// A GrpcServer over a TestServer, and clients of it. For tests: it includes gRPC.

#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>

#include "catamaran/serve/wire/grpc/grpc_server.h"
#include "catamaran/serve/wire/inference.grpc.pb.h"
#include "catamaran/serve/wire/test_server.h"

namespace catamaran {

struct GrpcFixture {
  explicit GrpcFixture(GrpcOptions options = {}, Tokens with = {})
      : tokens(std::move(with)), gateway(server, metrics, tokens), grpc(gateway, options) {}

  std::shared_ptr<grpc::Channel> Connect() { return Connect(grpc::InsecureChannelCredentials()); }
  std::shared_ptr<grpc::Channel> Connect(const std::shared_ptr<grpc::ChannelCredentials>& how) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    // Of its own: tests do not share connections.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(grpc.port()), how, arguments);
  }

  TestServer server;
  Metrics metrics;
  const Tokens tokens;
  Gateway gateway;
  GrpcServer grpc;
};

// Ten seconds, so that what hangs fails.
struct TestContext : grpc::ClientContext {
  TestContext() { set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10)); }
  explicit TestContext(const std::string& token) : TestContext() {
    AddMetadata("authorization", "Bearer " + token);
  }
};

}  // namespace catamaran
