// serve/wire/http/routes.h
//
// Which call a path is.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "catamaran/serve/wire/auth/tokens.h"

namespace catamaran {

enum class HttpCall : uint8_t {
  kLive,
  kReady,
  kServerMetadata,
  kModelMetadata,
  kModelReady,
  kInfer,
  kIndex,
  kLoad,
  kUnload,
  kTrain,
  kFeedback,
  kCommit,
  kPause,
  kResume,
  kRollback,
  kLearningStatus,
  kWatch,
  kMetrics,
  kOverview,
  kProgram,
  kPage,
};

struct HttpCallInfo {
  HttpCall call;
  const char* name;  // in metrics; the same as gRPC's where it has one
  bool post;         // or GET, and HEAD
  Right right;
};

// By HttpCall.
std::span<const HttpCallInfo> HttpCalls();

struct Route {
  const HttpCallInfo* info = nullptr;  // null: there is no such path
  std::string model, version;
  std::string file;  // of the page
};

// `target` is a path with or without a query.
Route FindRoute(std::string_view target);

// The whole number that the query of `target` has by that name ("…?name=5"); nothing if there is
// none.
std::optional<int64_t> QueryNumber(std::string_view target, std::string_view name);

}  // namespace catamaran
