// serve/wire/http/http_message.h
//
// HTTP requests and answers as plain values, so that what they mean (rest_service.h) and how they
// travel (http_server.h) know nothing of each other.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catamaran/serve/status.h"

namespace catamaran {

// All of a request but its body.
struct HttpHead {
  std::string method;  // "GET"
  std::string target;  // path and query, as sent
  // Headers by what they say; empty: not there.
  std::string authorization, host, origin, content_encoding;
  std::string inference_header_length;  // Inference-Header-Content-Length
};

struct HttpRequest {
  HttpHead head;
  std::string body;
  // Set when nobody waits for the answer any more. May be null.
  std::shared_ptr<std::atomic<bool>> cancelled;
};

// A stream of events in place of a body (text/event-stream).
struct HttpEvents {
  // Sets `data` to what things are like now; it is sent if that differs from what was sent last.
  // False: the stream is over. Called by one thread at a time; it must not block.
  std::function<bool(std::string& data)> look;
  std::chrono::milliseconds interval{1000};  // between two events at least
};

struct HttpResponse {
  int status = 200;
  std::string_view content_type = "application/json";  // a literal, as names of headers are
  std::string body;
  std::vector<std::pair<std::string_view, std::string>> headers;  // further ones
  std::shared_ptr<const HttpEvents> events;                       // not null: there is no body
};

// Called once, from any thread; it must not block.
using HttpDone = std::function<void(HttpResponse)>;

// {"error": MESSAGE} under the code that HTTP has for it.
HttpResponse ErrorResponse(const Status& status);
HttpResponse ErrorResponse(int code, const std::string& message);

// "Not Found", ...; "" for codes that this service never sends.
const char* HttpReason(int code);

// Writes the lines before the body behind `out`, but for those about the connection and the empty
// one. HTTP 1.0 (`old_version`) has no chunks.
void AppendHead(const HttpResponse& response, bool old_version, std::string& out);

}  // namespace catamaran
