// serve/wire/grpc/health_service.h
//
// grpc.health.v1.Health over a Gateway. Needs no right. For grpc_server.cc only: it includes gRPC.

#pragma once

#include <string>

#include "catamaran/serve/wire/grpc/calls.h"
#include "catamaran/serve/wire/grpc/watch.h"
#include "catamaran/serve/wire/health.grpc.pb.h"

namespace catamaran {

class HealthService final : public grpc::health::v1::Health::CallbackService {
 public:
  HealthService(Gateway& gateway, Watches& watches)
      : gateway_(gateway), watches_(watches), check_(gateway.metrics(), "grpc", "Health") {}

  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context,
                                  const grpc::health::v1::HealthCheckRequest* request,
                                  grpc::health::v1::HealthCheckResponse* response) override;
  grpc::ServerWriteReactor<grpc::health::v1::HealthCheckResponse>* Watch(
      grpc::CallbackServerContext* context,
      const grpc::health::v1::HealthCheckRequest* request) override;

 private:
  grpc::health::v1::HealthCheckResponse::ServingStatus Look(const std::string& service) const;

  Gateway& gateway_;
  Watches& watches_;
  const CallMetrics check_;
};

}  // namespace catamaran
