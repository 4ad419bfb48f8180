#include "catamaran/serve/wire/learning_calls.h"

#include <fmt/format.h>

namespace catamaran {

Status FindLearning(const Server& server, std::string_view model,
                    std::shared_ptr<Learning>& learning) {
  learning = server.FindLearning(model);
  if (learning != nullptr) return {};
  ModelMetadata metadata;
  if (Status found = server.GetModelMetadata(model, "", metadata); !found.ok()) return found;
  return {StatusCode::kFailedPrecondition, fmt::format("model '{}' does not learn", model)};
}

}  // namespace catamaran
