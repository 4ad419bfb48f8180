#include "catamaran/data/features/feature_syntax.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace catamaran {
namespace {

bool IsOperator(const FeatureExpr& call) {
  return !call.text.empty() && call.args.size() == 2 && call.settings.empty() &&
         (std::string_view("+-*/<>=!").find(call.text[0]) != std::string_view::npos ||
          call.text == "in" || call.text == "and" || call.text == "or");
}

std::string Joined(const std::vector<FeatureExpr>& list) {
  std::string out;
  for (const FeatureExpr& expr : list) out += (out.empty() ? "" : ", ") + ToString(expr);
  return out;
}

std::string CallText(const FeatureExpr& call) {
  if (IsOperator(call)) {
    return fmt::format("({} {} {})", ToString(call.args[0]), call.text, ToString(call.args[1]));
  }
  if (call.text == "-" && call.args.size() == 1) return "-(" + ToString(call.args[0]) + ")";
  if (call.text == "not" && call.args.size() == 1) return "(not " + ToString(call.args[0]) + ")";
  std::string inside = Joined(call.args);
  for (const FeatureSetting& setting : call.settings) {
    inside +=
        fmt::format("{}{}={}", inside.empty() ? "" : ", ", setting.name, ToString(setting.value));
  }
  return call.text + "(" + inside + ")";
}

// The number at the end of a name; leading zeros are part of the name's beginning.
bool SplitNumber(const std::string& name, std::string& beginning, int64_t& number) {
  size_t at = name.size();
  while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9') --at;
  while (at + 1 < name.size() && name[at] == '0') ++at;
  if (at == name.size() || name.size() - at > 9) return false;
  beginning = name.substr(0, at);
  std::from_chars(name.data() + at, name.data() + name.size(), number);
  return true;
}

}  // namespace

std::string ToString(const FeatureExpr& expr) {
  switch (expr.kind) {
    case FeatureExpr::Kind::kNumber:
      return fmt::format("{}", expr.number);
    case FeatureExpr::Kind::kText:
      return QuotedText(expr.text);
    case FeatureExpr::Kind::kName:
      return NameText(expr.text);
    case FeatureExpr::Kind::kCall:
      return CallText(expr);
    case FeatureExpr::Kind::kIndex:
      return fmt::format("{}[{}].{}{}", NameText(expr.text), Joined(expr.args),
                         NameText(expr.first), expr.last.empty() ? "" : ".." + NameText(expr.last));
    case FeatureExpr::Kind::kList:
      return "[" + Joined(expr.args) + "]";
    case FeatureExpr::Kind::kRange:
      return NameText(expr.first) + ".." + NameText(expr.last);
    case FeatureExpr::Kind::kFor:
      return fmt::format("{} for {} in {}", ToString(expr.args[0]), NameText(expr.text),
                         ToString(expr.args[1]));
  }
  return "?";
}

std::vector<std::string> ExpandRange(const std::string& first, const std::string& last) {
  constexpr int64_t kMost = 65536;
  std::string beginning, other;
  int64_t from = 0, to = 0;
  std::vector<std::string> names;
  if (!SplitNumber(first, beginning, from) || !SplitNumber(last, other, to) || beginning != other ||
      to < from || to - from >= kMost) {
    return names;
  }
  for (int64_t i = from; i <= to; ++i) names.push_back(fmt::format("{}{}", beginning, i));
  return names;
}

std::string QuotedText(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\n' || c == '\t') {
      out += c == '\n' ? "\\n" : "\\t";
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + "\"";
}

std::string NameText(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto inner = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '.'; };
  constexpr std::string_view kWords[] = {"and", "or", "not", "in", "for"};
  if (!name.empty() && letter(name[0]) && name.back() != '.' && std::ranges::all_of(name, inner) &&
      name.find("..") == std::string_view::npos && std::ranges::count(kWords, name) == 0) {
    return std::string(name);
  }
  std::string out = "`";
  for (const char c : name) {
    if (c == '\n' || c == '\t') {
      out += c == '\n' ? "\\n" : "\\t";
    } else {
      if (c == '`' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + "`";
}

}  // namespace catamaran
