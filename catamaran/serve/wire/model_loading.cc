#include "catamaran/serve/wire/model_loading.h"

#include <utility>

#include "catamaran/base/error.h"
#include "catamaran/data/text/json.h"
#include "catamaran/serve/guarded.h"

namespace catamaran {
namespace {

bool ParseBool(const std::string& name, const std::string& value) {
  if (value == "true") return true;
  if (value == "false") return false;
  Fail("setting '{}' must be true or false, not '{}'", name, value);
}

void Apply(ModelConfig& config, const std::string& name, const std::string& value) {
  constexpr std::pair<const char*, std::string ModelConfig::*> kTexts[] = {
      {"program", &ModelConfig::program},   {"features", &ModelConfig::features},
      {"state", &ModelConfig::state},       {"version", &ModelConfig::version},
      {"infer_fn", &ModelConfig::infer_fn}, {"train_fn", &ModelConfig::train_fn},
  };
  constexpr std::pair<const char*, bool ModelConfig::*> kBools[] = {
      {"keep_others", &ModelConfig::keep_others},
      {"allow_new", &ModelConfig::allow_new},
      {"allow_missing", &ModelConfig::allow_missing},
      {"learn", &ModelConfig::learn},
      {"split_products", &ModelConfig::split_products},
      {"lenient_rows", &ModelConfig::lenient_rows},
      {"allow_changed_features", &ModelConfig::allow_changed_features},
  };
  for (const auto& [known, member] : kTexts) {
    if (name == known) return void(config.*member = value);
  }
  for (const auto& [known, member] : kBools) {
    if (name == known) return void(config.*member = ParseBool(name, value));
  }
  constexpr std::string_view kLearning = "learning.";
  if (!name.starts_with(kLearning)) Fail("there is no setting '{}' of a model", name);
  config.learning[name.substr(kLearning.size())] = value;
}

LoadSettings ParseConfig(const std::string& text) {
  JsonDocument json;
  if (!json.Parse(text)) Fail("config: {} at byte {}", json.error(), json.error_offset());
  const auto& nodes = json.nodes();
  if (nodes[0].kind != JsonKind::kObject) Fail("config must be a JSON object of settings");
  LoadSettings settings;
  for (size_t i = 1; i < nodes.size(); i = nodes[i + 1].end) {
    const JsonKind kind = nodes[i + 1].kind;
    if (kind == JsonKind::kArray || kind == JsonKind::kObject || kind == JsonKind::kNull) {
      Fail("config: '{}' must be a text, a number, true or false", nodes[i].text);
    }
    settings[std::string(nodes[i].text)] = nodes[i + 1].text;
  }
  return settings;
}

}  // namespace

Status LoadModel(Server& server, const std::string& model, const LoadSettings& settings) {
  ModelConfig config;
  config.quote_any_file = false;
  try {
    LoadSettings all = settings;
    if (const auto text = all.find("config"); text != all.end()) {
      LoadSettings more = ParseConfig(text->second);
      all.erase(text);
      all.merge(more);
    }
    if (all.empty()) return server.Reload(model);
    for (const auto& [name, value] : all) Apply(config, name, value);
    if (config.program.empty()) Fail("the setting 'program' is missing: the path of a .ctm file");
  } catch (...) {
    return StatusOfException();
  }
  return server.Load(model, config);
}

const char* Name(ModelState state) {
  switch (state) {
    case ModelState::kLoading:
      return "LOADING";
    case ModelState::kReady:
      return "READY";
    case ModelState::kUnloading:
      return "UNLOADING";
    case ModelState::kUnavailable:
      return "UNAVAILABLE";
  }
  return "UNAVAILABLE";
}

}  // namespace catamaran
