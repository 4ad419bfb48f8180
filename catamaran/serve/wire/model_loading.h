// serve/wire/model_loading.h
//
// Loading a model as a call over the network asks for it: by settings, which are ModelConfig's by
// name (program, features, state, version, keep_others, infer_fn, train_fn, allow_new,
// allow_missing, allow_changed_features, lenient_rows, learn, split_products, and learning.NAME for
// those of learning), or without any, which reads the model's files again.

#pragma once

#include <map>
#include <string>

#include "catamaran/serve/server.h"

namespace catamaran {

using LoadSettings = std::map<std::string, std::string>;

// Takes as long as loading does. `settings` may hold one named `config`: a JSON object of settings.
Status LoadModel(Server& server, const std::string& model, const LoadSettings& settings);

// "READY", "LOADING", "UNLOADING" or "UNAVAILABLE".
const char* Name(ModelState state);

}  // namespace catamaran
