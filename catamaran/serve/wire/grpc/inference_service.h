// serve/wire/grpc/inference_service.h
//
// inference.GRPCInferenceService over a Gateway. For grpc_server.cc only: it includes gRPC.

#pragma once

#include "catamaran/serve/wire/grpc/calls.h"
#include "catamaran/serve/wire/grpc/infer_message_pool.h"
#include "catamaran/serve/wire/inference.grpc.pb.h"

namespace catamaran {

class InferenceService final : public inference::GRPCInferenceService::CallbackService {
 public:
  explicit InferenceService(Gateway& gateway);

  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;
  Unary* ServerLive(Context* context, const inference::ServerLiveRequest* request,
                    inference::ServerLiveResponse* response) override;
  Unary* ServerReady(Context* context, const inference::ServerReadyRequest* request,
                     inference::ServerReadyResponse* response) override;
  Unary* ModelReady(Context* context, const inference::ModelReadyRequest* request,
                    inference::ModelReadyResponse* response) override;
  Unary* ServerMetadata(Context* context, const inference::ServerMetadataRequest* request,
                        inference::ServerMetadataResponse* response) override;
  Unary* ModelMetadata(Context* context, const inference::ModelMetadataRequest* request,
                       inference::ModelMetadataResponse* response) override;
  Unary* ModelInfer(Context* context, const inference::ModelInferRequest* request,
                    inference::ModelInferResponse* response) override;
  grpc::ServerBidiReactor<inference::ModelInferRequest, inference::ModelStreamInferResponse>*
  ModelStreamInfer(Context* context) override;
  Unary* RepositoryIndex(Context* context, const inference::RepositoryIndexRequest* request,
                         inference::RepositoryIndexResponse* response) override;
  Unary* RepositoryModelLoad(Context* context, const inference::RepositoryModelLoadRequest* request,
                             inference::RepositoryModelLoadResponse* response) override;
  Unary* RepositoryModelUnload(Context* context,
                               const inference::RepositoryModelUnloadRequest* request,
                               inference::RepositoryModelUnloadResponse* response) override;

 private:
  Unary* Later(Context* context, const CallMetrics& metrics, std::function<Status()> task);

  Gateway& gateway_;
  InferMessagePool messages_;
  const CallMetrics live_, ready_, model_ready_, server_metadata_, model_metadata_, infer_, stream_,
      index_, load_, unload_;
};

}  // namespace catamaran
