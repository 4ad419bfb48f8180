#include "catamaran/serve/wire/grpc/grpc_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>

#include <algorithm>
#include <limits>

#include "catamaran/base/error.h"
#include "catamaran/serve/wire/grpc/health_service.h"
#include "catamaran/serve/wire/grpc/inference_service.h"
#include "catamaran/serve/wire/grpc/learning_service.h"
#include "catamaran/serve/wire/grpc/library_logs.h"

namespace catamaran {

struct GrpcServer::Services {
  explicit Services(Gateway& gateway)
      : inference(gateway), learning(gateway, watches), health(gateway, watches) {}

  Watches watches;
  InferenceService inference;
  LearningService learning;
  HealthService health;
  std::unique_ptr<grpc::Server> server;
  int port = 0;
};

namespace {

std::shared_ptr<grpc::ServerCredentials> Credentials(const GrpcOptions& options) {
  if (!options.tls) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions ssl(
      options.tls->client_roots.empty()
          ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
          : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  ssl.pem_root_certs = options.tls->client_roots;
  ssl.pem_key_cert_pairs.push_back({options.tls->key, options.tls->certificate});
  return grpc::SslServerCredentials(ssl);
}

std::string Address(const std::string& host, int port) {
  const bool bare_v6 = host.find(':') != std::string::npos && !host.starts_with('[');
  return bare_v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

}  // namespace

GrpcServer::GrpcServer(Gateway& gateway, const GrpcOptions& options) {
  CheckExposure(options.host, gateway.tokens(), options.allow_anonymous);
  services_ = std::make_unique<Services>(gateway);
  services_->watches.max = options.max_watches;

  LimitLibraryLogs();
  // Reflection is a plugin of all servers that are built from here on, and has no other switch.
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  const std::string address = Address(options.host, options.port);
  builder.AddListeningPort(address, Credentials(options), &services_->port);
  builder.RegisterService(&services_->inference);
  builder.RegisterService(&services_->learning);
  builder.RegisterService(&services_->health);
  builder.SetMaxReceiveMessageSize(static_cast<int>(
      std::min<int64_t>(options.max_message_bytes, std::numeric_limits<int>::max())));
  builder.SetResourceQuota(
      grpc::ResourceQuota("catamaran").Resize(static_cast<size_t>(options.max_memory_bytes)));
  // Another process must not share the port unnoticed.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.max_streams);
  // Who connects and says nothing; who has gone without a word.
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, 600'000);
  services_->server = builder.BuildAndStart();
  if (services_->server == nullptr || services_->port == 0) {
    Fail("cannot listen on {} for gRPC: is the port in use, or not ours to have?", address);
  }
}

GrpcServer::~GrpcServer() { Stop(std::chrono::milliseconds(0)); }

int GrpcServer::port() const { return services_->port; }

void GrpcServer::Stop(std::chrono::milliseconds patience) {
  services_->watches.stopping = true;
  services_->server->Shutdown(std::chrono::system_clock::now() + patience);
  services_->server->Wait();
}

}  // namespace catamaran
