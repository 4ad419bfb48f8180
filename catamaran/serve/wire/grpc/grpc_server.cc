#include "catamaran/serve/wire/grpc/grpc_server.h"

#include <absl/synchronization/mutex.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>

#include <algorithm>
#include <limits>

#include "catamaran/base/cpu.h"
#include "catamaran/base/error.h"
#include "catamaran/base/room.h"
#include "catamaran/serve/wire/grpc/health_service.h"
#include "catamaran/serve/wire/grpc/inference_service.h"
#include "catamaran/serve/wire/grpc/learning_service.h"
#include "catamaran/serve/wire/grpc/library_logs.h"
#include "catamaran/serve/wire/grpc/limited_listener.h"

namespace catamaran {

struct GrpcServer::Services {
  Services(Gateway& gateway, const GrpcOptions& options)
      : listener(options.host, options.port, options.max_connections, gateway.metrics()),
        inference(gateway),
        learning(gateway, watches),
        health(gateway, watches) {}

  LimitedListener listener;
  Watches watches;
  InferenceService inference;
  LearningService learning;
  HealthService health;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor;
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

}  // namespace

GrpcServer::GrpcServer(Gateway& gateway, const GrpcOptions& options) {
  CheckExposure(options.host, gateway.tokens(), options.allow_anonymous);
  // gRPC ends the process when it cannot have one of these. It takes about half of this at start.
  CheckRoom({.descriptors = 32, .threads = 12 + 2 * AvailableCores(), .bytes = size_t{64} << 20},
            "to start gRPC");
  services_ = std::make_unique<Services>(gateway, options);
  services_->watches.max = options.max_watches;

  LimitLibraryLogs();
  // Some systems' gRPC looks for deadlocks of its own at every lock that it takes.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  // Reflection is a plugin of all servers that are built from here on, and has no other switch.
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  services_->acceptor = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      Credentials(options));
  builder.RegisterService(&services_->inference);
  builder.RegisterService(&services_->learning);
  builder.RegisterService(&services_->health);
  builder.SetMaxReceiveMessageSize(static_cast<int>(
      std::min<int64_t>(options.max_message_bytes, std::numeric_limits<int>::max())));
  builder.SetResourceQuota(
      grpc::ResourceQuota("catamaran").Resize(static_cast<size_t>(options.max_memory_bytes)));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.max_streams);
  // Who connects and says nothing; who has gone without a word.
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             static_cast<int>(options.handshake_timeout.count()));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, 600'000);
  services_->server = builder.BuildAndStart();
  if (services_->server == nullptr)
    Fail(ErrorCode::kUnavailable, "gRPC cannot be started on {}", options.host);
  services_->listener.Start([acceptor = services_->acceptor.get()](int listener, int connection) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
    parameters.listener_fd = listener;
    parameters.fd = connection;
    acceptor->HandleNewConnection(&parameters);
  });
}

GrpcServer::~GrpcServer() { Stop(std::chrono::milliseconds(0)); }

int GrpcServer::port() const { return services_->listener.port(); }

void GrpcServer::Stop(std::chrono::milliseconds patience) {
  services_->listener.Close();
  services_->watches.stopping = true;
  services_->server->Shutdown(std::chrono::system_clock::now() + patience);
  services_->server->Wait();
}

}  // namespace catamaran
