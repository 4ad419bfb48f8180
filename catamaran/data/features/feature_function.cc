#include "catamaran/data/features/feature_function.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "catamaran/base/error.h"
#include "catamaran/base/suggest.h"

namespace catamaran {

using Kind = FeatureExpr::Kind;

void FeatureArgs::FailRow(int64_t row, const std::string& message) const {
  catamaran::Fail(ErrorCode::kBadData, "{}: row {}: {}", place, row, message);
}

FeatureCall::FeatureCall(const FeatureSource& source, const FeatureExpr& expr, std::string output,
                         std::vector<Argument> arguments, const FittedValue* fitted)
    : source_(source),
      expr_(expr),
      output_(std::move(output)),
      arguments_(std::move(arguments)),
      converted_(arguments_.size()),
      fitted_(fitted) {}

std::string FeatureCall::field() const {
  std::string fields;
  for (const Argument& argument : arguments_) {
    if (!argument.field.empty()) fields += (fields.empty() ? "" : ",") + argument.field;
  }
  return fields.empty() ? output_ : fields;
}

void FeatureCall::NeedValues(size_t least, size_t most) {
  if (values() >= least && values() <= most) return;
  Fail(fmt::format("wanted {} {}, found {}",
                   least == most ? fmt::format("{}", least)
                   : most > 1000 ? fmt::format("{} or more", least)
                                 : fmt::format("{} to {}", least, most),
                   least == 1 && most == 1 ? "value" : "values", values()));
}

void FeatureCall::NeedNumber(size_t i) {
  if (type(i).kind == ValueKind::kInteger) {
    arguments_[i].type.kind = ValueKind::kNumber;
    converted_[i] = true;
  }
  if (type(i).kind == ValueKind::kNumber) return;
  Fail(fmt::format("value {} is {}, wanted a number{}", i + 1, type(i).ToString(),
                   type(i).kind == ValueKind::kText && name() != "number"
                       ? "; number(…) reads one from text"
                       : ""));
}

void FeatureCall::NeedText(size_t i) {
  if (type(i).kind == ValueKind::kText) return;
  Fail(fmt::format("value {} is {}, wanted text", i + 1, type(i).ToString()));
}

void FeatureCall::NeedInteger(size_t i) {
  if (type(i).kind == ValueKind::kInteger) return;
  Fail(fmt::format("value {} is {}, wanted an integer{}", i + 1, type(i).ToString(),
                   type(i).kind == ValueKind::kNumber ? "; integer(…) makes one" : ""));
}

const FeatureSetting* FeatureCall::Find(std::string_view name) {
  asked_.emplace_back(name);
  for (const FeatureSetting& setting : expr_.settings) {
    if (setting.name == name) return &setting;
  }
  return nullptr;
}

void FeatureCall::FailSetting(const FeatureSetting& setting, std::string_view wanted) const {
  FailAt(source_, setting.value.place,
         fmt::format("{}: the setting '{}' is {}, wanted {}", name(), setting.name,
                     ToString(setting.value), wanted));
}

std::optional<double> FeatureCall::Number(std::string_view name) {
  const FeatureSetting* setting = Find(name);
  if (setting == nullptr) return std::nullopt;
  if (setting->value.kind != Kind::kNumber) FailSetting(*setting, "a number");
  return setting->value.number;
}

double FeatureCall::Number(std::string_view name, double otherwise) {
  return Number(name).value_or(otherwise);
}

int64_t FeatureCall::Integer(std::string_view name, int64_t otherwise, int64_t least,
                             int64_t most) {
  const FeatureSetting* setting = Find(name);
  if (setting == nullptr) return otherwise;
  const double value = setting->value.number;
  if (setting->value.kind != Kind::kNumber || value != std::floor(value) ||
      value < static_cast<double>(least) || value > static_cast<double>(most)) {
    FailSetting(*setting, fmt::format("a whole number from {} to {}", least, most));
  }
  return static_cast<int64_t>(value);
}

std::string FeatureCall::Text(std::string_view name, std::string_view otherwise) {
  const FeatureSetting* setting = Find(name);
  if (setting == nullptr) return std::string(otherwise);
  if (setting->value.kind != Kind::kText && setting->value.kind != Kind::kName) {
    FailSetting(*setting, "a text");
  }
  return setting->value.text;
}

bool FeatureCall::Flag(std::string_view name, bool otherwise) {
  const FeatureSetting* setting = Find(name);
  if (setting == nullptr) return otherwise;
  const std::string& text = setting->value.text;
  if (setting->value.kind == Kind::kName && (text == "yes" || text == "true")) return true;
  if (setting->value.kind == Kind::kName && (text == "no" || text == "false")) return false;
  FailSetting(*setting, "yes or no");
}

std::string FeatureCall::OneOf(std::string_view name, std::span<const std::string_view> allowed) {
  const FeatureSetting* setting = Find(name);
  if (setting == nullptr) return std::string(allowed[0]);
  const std::string text = Text(name, "");
  if (std::ranges::count(allowed, text) == 0) {
    FailSetting(*setting, fmt::format("one of {}", fmt::join(allowed, ", ")));
  }
  return text;
}

bool FeatureCall::Has(std::string_view name) { return Find(name) != nullptr; }

const FeatureExpr* FeatureCall::FindList(std::string_view name) {
  if (const FeatureSetting* setting = Find(name)) {
    if (setting->value.kind != Kind::kList) FailSetting(*setting, "a list as [1, 2]");
    return &setting->value;
  }
  for (const FeatureExpr& argument : expr_.args) {
    if (argument.kind == Kind::kList) return &argument;
  }
  return nullptr;
}

std::vector<double> FeatureCall::Numbers(std::string_view name) {
  std::vector<double> numbers;
  const FeatureExpr* list = FindList(name);
  if (list == nullptr) return numbers;
  for (const FeatureExpr& item : list->args) {
    if (item.kind != Kind::kNumber) FailAt(source_, item.place, "wanted a number");
    numbers.push_back(item.number);
  }
  return numbers;
}

std::vector<std::string> FeatureCall::Texts(std::string_view name) {
  std::vector<std::string> texts;
  const FeatureExpr* list = FindList(name);
  if (list == nullptr) return texts;
  for (const FeatureExpr& item : list->args) {
    if (item.kind != Kind::kText && item.kind != Kind::kName) {
      FailAt(source_, item.place, "wanted a text");
    }
    texts.push_back(item.text);
  }
  return texts;
}

void FeatureCall::Fail(const std::string& message) const {
  FailAt(source_, expr_.place, fmt::format("{}: {}", name(), message));
}

void FeatureCall::CheckSettings() const {
  for (const FeatureSetting& setting : expr_.settings) {
    if (std::ranges::count(asked_, setting.name) > 0) continue;
    const std::vector<std::string_view> names(asked_.begin(), asked_.end());
    const std::string near = Suggest(setting.name, names);
    FailAt(source_, setting.place,
           fmt::format("{} has no setting '{}'{}", name(), setting.name,
                       near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
  }
}

void FeatureFunctionSet::Add(FeatureFunction function) {
  const std::string name = function.name;
  if (name.empty() || !function.bind) Fail("a feature function has no name or no bind");
  if (!functions_.emplace(name, std::move(function)).second) {
    Fail("there is a feature function '{}' already", name);
  }
}

const FeatureFunction* FeatureFunctionSet::Find(std::string_view name) const {
  const auto found = functions_.find(name);
  return found == functions_.end() ? nullptr : &found->second;
}

}  // namespace catamaran
