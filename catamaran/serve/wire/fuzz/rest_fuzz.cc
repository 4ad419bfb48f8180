// Any bytes as an HTTP request: a line "METHOD TARGET LENGTH" (Inference-Header-Content-Length,
// which may be missing), and behind it the body. Every request is answered once, with a code that
// we know and, but for metrics and the page, JSON.

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "catamaran/data/text/json.h"
#include "catamaran/serve/wire/fuzz/echo_server.h"
#include "catamaran/serve/wire/http/rest_service.h"

using namespace catamaran;

namespace {

[[noreturn]] void Wrong(const char* what, const HttpResponse& response) {
  std::fprintf(stderr, "%s: %d %s\n", what, response.status, response.body.c_str());
  std::abort();
}

void Check(const HttpResponse& response) {
  if (HttpReason(response.status)[0] == '\0') Wrong("an unknown code", response);
  std::string_view json = response.body;
  for (const auto& [name, value] : response.headers) {
    if (value.find_first_of("\r\n") != value.npos) Wrong("a header of two lines", response);
    if (name == "Inference-Header-Content-Length") json = json.substr(0, std::stoul(value));
  }
  if (response.content_type.starts_with("text/") || json.empty()) return;
  JsonDocument document;
  if (!document.Parse(json)) Wrong("no JSON", response);
}

struct Service {
  EchoServer server;
  Metrics metrics;
  Tokens tokens;
  Gateway gateway{server, metrics, tokens};
  RestService rest{gateway, {.max_body_bytes = 1 << 20, .max_json_bytes = 1 << 16, .host = "::1"}};
};

std::string_view Word(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(word.size() + 1, line.size()));
  return word;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Service& service = *new Service;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  std::string_view line = input.substr(0, input.find('\n'));
  HttpRequest request;
  request.body = input.substr(std::min(line.size() + 1, input.size()));
  request.head.method = Word(line);
  request.head.target = Word(line);
  request.head.inference_header_length = Word(line);
  request.head.origin = Word(line);
  request.head.host = Word(line);

  AdmittedCall admitted;
  if (const auto refused = service.rest.Refuse(request.head, admitted)) {
    Check(*refused);
    return 0;
  }
  if (request.body.size() > admitted.max_body) return 0;
  std::atomic<int> answers = 0;
  service.rest.Handle(request, admitted.route, [&](const HttpResponse& response) {
    Check(response);
    ++answers;
  });
  // Loading answers from another thread.
  for (int i = 0; answers == 0 && i < 5000; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (answers != 1) Wrong("answered not once", {});
  return 0;
}
