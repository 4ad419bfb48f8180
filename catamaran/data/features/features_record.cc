#include "catamaran/data/features/features_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "catamaran/base/error.h"
#include "catamaran/base/hash.h"
#include "catamaran/data/features/feature_binder.h"

namespace catamaran {
namespace {

constexpr std::string_view kFirstLine = "catamaran features 1";

// "output ip" and "hash(ip)", with the line of the file (0: none).
struct Entry {
  std::string value;
  int line = 0;
};
using Entries = std::map<std::string, Entry>;

// The order of settings does not matter.
FeatureExpr Sorted(FeatureExpr expr) {
  for (FeatureExpr& arg : expr.args) arg = Sorted(std::move(arg));
  std::ranges::sort(expr.settings, {}, &FeatureSetting::name);
  return expr;
}

// The columns and `let`s that an expression may name, and the files.
void FindNames(const FeatureExpr& expr, std::set<std::string>& names) {
  if (expr.kind == FeatureExpr::Kind::kName || expr.kind == FeatureExpr::Kind::kIndex) {
    names.insert(expr.text);
  }
  if (expr.kind == FeatureExpr::Kind::kRange) {
    for (const std::string& name : ExpandRange(expr.first, expr.last)) names.insert(name);
  }
  for (const FeatureExpr& arg : expr.args) FindNames(arg, names);
}

uint64_t HashOf(const FittedValue& value) {
  uint64_t hash = 1;
  for (const double number : value.numbers) {
    hash = HashCombine(hash, std::bit_cast<uint64_t>(number));
  }
  for (const std::string& text : value.texts) hash = HashCombine(hash, HashString(text));
  return hash;
}

// The fitted calls that the outputs are made of.
std::set<std::string> FitsOf(const Features& features, const std::vector<std::string>& outputs) {
  std::set<std::string> calls;
  const std::optional<Schema> columns = features.declared_inputs();
  std::vector<std::string> there;
  for (const std::string& output : features.outputs()) {
    if (std::ranges::count(outputs, output) > 0) there.push_back(output);
  }
  if (features.fitted().empty() || !columns || there.empty()) return calls;
  const auto graph = BindFeatures(features, *columns, there, Unfitted::kAllow);
  for (const FeatureNode& node : graph->nodes()) {
    if (features.fitted().contains(node.text)) calls.insert(node.text);
  }
  return calls;
}

Entries EntriesOf(const Features& features, const std::vector<std::string>& outputs) {
  const FeatureSyntax& syntax = features.syntax();
  Entries entries;
  std::set<std::string> names;
  // Backwards: what a line names stands above it.
  for (auto line = syntax.lines.rbegin(); line != syntax.lines.rend(); ++line) {
    const bool used =
        line->output ? std::ranges::count(outputs, line->name) > 0 : names.contains(line->name);
    if (!used) continue;
    FindNames(line->expr, names);
    entries[fmt::format("{} {}", line->output ? "output" : "let", NameText(line->name))] = {
        ToString(Sorted(line->expr)), line->place.line};
  }
  if (const auto inputs = features.declared_inputs()) {
    for (const Column& column : *inputs) {
      if (names.contains(column.name)) {
        entries["input " + NameText(column.name)] = {column.KindText(), 0};
      }
    }
  }
  for (const ColumnDefault& given : syntax.defaults) {
    if (!names.contains(given.column)) continue;
    entries["default " + NameText(given.column)] = {given.number ? fmt::format("{}", *given.number)
                                                    : given.text ? QuotedText(*given.text)
                                                                 : "missing",
                                                    0};
  }
  if (const auto missing = features.ReaderSettings({}).text.missing_integer) {
    entries["data missing_integer"] = {std::to_string(*missing), 0};
  }
  for (const std::string& call : FitsOf(features, outputs)) {
    const FittedValue& value = features.fitted().find(call)->second;
    entries["fit of " + QuotedText(call)] = {fmt::format("{:016x}", HashOf(value)), 0};
  }
  for (const auto& [name, file] : features.files()) {
    if (names.contains(name)) {
      entries["file " + NameText(name)] = {fmt::format("{:016x}", file->hash()), 0};
    }
  }
  return entries;
}

}  // namespace

std::string FeaturesRecord(const Features& features, const std::vector<std::string>& outputs) {
  std::string text(kFirstLine);
  text += '\n';
  for (const auto& [key, entry] : EntriesOf(features, outputs)) {
    text += fmt::format("{}\t{}\n", key, entry.value);
  }
  return text;
}

std::string DifferenceOfFeatures(std::string_view recorded, const Features& now,
                                 const std::vector<std::string>& outputs, const std::string& what) {
  const Entries entries = EntriesOf(now, outputs);
  const std::string& path = now.syntax().source->path;
  std::string text;
  bool first = true;
  while (!recorded.empty()) {
    const size_t end = std::min(recorded.find('\n'), recorded.size());
    const std::string_view line = recorded.substr(0, end);
    recorded.remove_prefix(std::min(end + 1, recorded.size()));
    if (std::exchange(first, false)) {
      if (line != kFirstLine) {
        Fail(ErrorCode::kStorage, "{}: its record of features begins with '{}', wanted '{}'", what,
             line, kFirstLine);
      }
      continue;
    }
    const size_t tab = line.find('\t');
    if (tab == line.npos) {
      Fail(ErrorCode::kStorage, "{}: its record of features is damaged: '{}'", what, line);
    }
    const std::string key(line.substr(0, tab));
    const std::string_view value = line.substr(tab + 1);
    const auto found = entries.find(key);
    if (found == entries.end() || found->second.value == value) continue;
    const std::string place =
        found->second.line > 0 ? fmt::format("{}:{}: ", path, found->second.line) : "";
    text += text.empty() ? "" : "; ";
    if (key.starts_with("fit of ") || key.starts_with("file ")) {
      text += fmt::format("{}{} is not the one that it was", place, key);
    } else {
      text += fmt::format("{}{} is {} and was {}", place, key, found->second.value, value);
    }
  }
  return text;
}

}  // namespace catamaran
