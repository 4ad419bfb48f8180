#include "catamaran/serve/wire/grpc/health_service.h"

namespace catamaran {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

HealthCheckResponse::ServingStatus HealthService::Look(const std::string& service) const {
  const Server& server = gateway_.server();
  if (service.empty() || service == "inference.GRPCInferenceService" ||
      service == "catamaran.v1.Learning") {
    return server.Ready() ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
  }
  if (server.ModelReady(service, "")) return HealthCheckResponse::SERVING;
  ModelMetadata metadata;
  return server.GetModelMetadata(service, "", metadata).ok() ? HealthCheckResponse::NOT_SERVING
                                                             : HealthCheckResponse::SERVICE_UNKNOWN;
}

grpc::ServerUnaryReactor* HealthService::Check(grpc::CallbackServerContext* context,
                                               const HealthCheckRequest* request,
                                               HealthCheckResponse* response) {
  return Answer(gateway_, *context, check_, Right::kNone, [&]() -> Status {
    response->set_status(Look(request->service()));
    if (response->status() != HealthCheckResponse::SERVICE_UNKNOWN) return {};
    return {StatusCode::kNotFound,
            fmt::format("there is no service and no model '{}'", request->service())};
  });
}

grpc::ServerWriteReactor<HealthCheckResponse>* HealthService::Watch(
    grpc::CallbackServerContext*, const HealthCheckRequest* request) {
  return new catamaran::Watch<HealthCheckResponse>(
      gateway_, watches_, {}, std::chrono::milliseconds(0),
      [this, service = request->service()](HealthCheckResponse& reply) -> Status {
        reply.set_status(Look(service));
        return {};
      });
}

}  // namespace catamaran
