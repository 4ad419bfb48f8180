#include "catamaran/serve/wire/http/routes.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace catamaran {
namespace {

constexpr HttpCallInfo kCalls[] = {
    {HttpCall::kLive, "ServerLive", false, Right::kNone},
    {HttpCall::kReady, "ServerReady", false, Right::kNone},
    {HttpCall::kServerMetadata, "ServerMetadata", false, Right::kInfer},
    {HttpCall::kModelMetadata, "ModelMetadata", false, Right::kInfer},
    {HttpCall::kModelReady, "ModelReady", false, Right::kInfer},
    {HttpCall::kInfer, "ModelInfer", true, Right::kInfer},
    {HttpCall::kIndex, "RepositoryIndex", true, Right::kInfer},
    {HttpCall::kLoad, "RepositoryModelLoad", true, Right::kAdmin},
    {HttpCall::kUnload, "RepositoryModelUnload", true, Right::kAdmin},
    {HttpCall::kTrain, "Train", true, Right::kLearn},
    {HttpCall::kFeedback, "Feedback", true, Right::kLearn},
    {HttpCall::kCommit, "Commit", true, Right::kAdmin},
    {HttpCall::kPause, "Pause", true, Right::kAdmin},
    {HttpCall::kResume, "Resume", true, Right::kAdmin},
    {HttpCall::kRollback, "Rollback", true, Right::kAdmin},
    {HttpCall::kLearningStatus, "Status", false, Right::kLearn},
    {HttpCall::kWatch, "Watch", false, Right::kLearn},
    {HttpCall::kMetrics, "Metrics", false, Right::kAny},
    {HttpCall::kOverview, "Overview", false, Right::kAny},
    {HttpCall::kProgram, "Program", false, Right::kAdmin},
    {HttpCall::kPage, "Page", false, Right::kNone},
};

// MODEL, VERSION and FILE stand for any segment. The first is what is called most.
constexpr std::pair<std::string_view, HttpCall> kPaths[] = {
    {"v2/models/MODEL/infer", HttpCall::kInfer},
    {"v2/health/live", HttpCall::kLive},
    {"v2/health/ready", HttpCall::kReady},
    {"v2", HttpCall::kServerMetadata},
    {"v2/models/MODEL", HttpCall::kModelMetadata},
    {"v2/models/MODEL/versions/VERSION", HttpCall::kModelMetadata},
    {"v2/models/MODEL/ready", HttpCall::kModelReady},
    {"v2/models/MODEL/versions/VERSION/ready", HttpCall::kModelReady},
    {"v2/models/MODEL/versions/VERSION/infer", HttpCall::kInfer},
    {"v2/repository/index", HttpCall::kIndex},
    {"v2/repository/models/MODEL/load", HttpCall::kLoad},
    {"v2/repository/models/MODEL/unload", HttpCall::kUnload},
    {"v1/models/MODEL/train", HttpCall::kTrain},
    {"v1/models/MODEL/feedback", HttpCall::kFeedback},
    {"v1/models/MODEL/commit", HttpCall::kCommit},
    {"v1/models/MODEL/pause", HttpCall::kPause},
    {"v1/models/MODEL/resume", HttpCall::kResume},
    {"v1/models/MODEL/rollback", HttpCall::kRollback},
    {"v1/models/MODEL/learning", HttpCall::kLearningStatus},
    {"v1/models/MODEL/learning/watch", HttpCall::kWatch},
    {"v1/models/MODEL/program", HttpCall::kProgram},
    {"v1/models/MODEL/versions/VERSION/program", HttpCall::kProgram},
    {"v1/overview", HttpCall::kOverview},
    {"metrics", HttpCall::kMetrics},
    {"", HttpCall::kPage},
    {"page/FILE", HttpCall::kPage},
};

std::string_view NextSegment(std::string_view& path) {
  const std::string_view segment = path.substr(0, path.find('/'));
  path.remove_prefix(std::min(segment.size() + 1, path.size()));
  return segment;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// %2F is a slash within a segment. Nothing if a % does not begin two digits.
std::optional<std::string> Unescaped(std::string_view segment) {
  std::string out;
  for (size_t i = 0; i < segment.size(); ++i) {
    if (segment[i] != '%') {
      out += segment[i];
      continue;
    }
    if (i + 2 >= segment.size()) return std::nullopt;
    const int high = HexDigit(segment[i + 1]), low = HexDigit(segment[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high << 4 | low);
    i += 2;
  }
  return out;
}

bool IsName(std::string_view wanted) {
  return wanted == "MODEL" || wanted == "VERSION" || wanted == "FILE";
}

// Whether each segment is as wanted; a name's may be any but an empty one.
bool Matches(std::string_view pattern, std::string_view path) {
  while (!pattern.empty()) {
    if (path.empty()) return false;
    const std::string_view wanted = NextSegment(pattern), found = NextSegment(path);
    if (IsName(wanted) ? found.empty() : wanted != found) return false;
  }
  return path.empty();
}

// False if a name is not written as it should be. REQUIRES: Matches(pattern, path).
bool ReadNames(std::string_view pattern, std::string_view path, Route& route) {
  while (!pattern.empty()) {
    const std::string_view wanted = NextSegment(pattern), found = NextSegment(path);
    if (!IsName(wanted)) continue;
    std::optional<std::string> name = Unescaped(found);
    if (!name) return false;
    std::string& filled = wanted == "MODEL"     ? route.model
                          : wanted == "VERSION" ? route.version
                                                : route.file;
    filled = std::move(*name);
  }
  return true;
}

}  // namespace

std::span<const HttpCallInfo> HttpCalls() { return kCalls; }

Route FindRoute(std::string_view target) {
  std::string_view path = target.substr(0, target.find_first_of("?#"));
  if (!path.starts_with('/')) return {};
  path.remove_prefix(1);
  if (path.ends_with('/')) path.remove_suffix(1);
  Route route;
  for (const auto& [pattern, call] : kPaths) {
    if (!Matches(pattern, path)) continue;
    if (ReadNames(pattern, path, route)) route.info = &kCalls[static_cast<size_t>(call)];
    return route;
  }
  return {};
}

std::optional<int64_t> QueryNumber(std::string_view target, std::string_view name) {
  std::string_view query = target.substr(std::min(target.find('?'), target.size()));
  while (!query.empty()) {
    query.remove_prefix(1);  // the '?' or '&'
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(pair.size());
    if (pair.size() <= name.size() || !pair.starts_with(name) || pair[name.size()] != '=') continue;
    const std::string_view text = pair.substr(name.size() + 1);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size()) return value;
  }
  return std::nullopt;
}

}  // namespace catamaran
