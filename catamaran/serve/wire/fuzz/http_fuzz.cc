// Any bytes as HTTP/1.1. The first byte says in which pieces they arrive; that must not decide what
// they are. A head that is taken has no line end, control character or second host in its fields.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "catamaran/serve/wire/http/http_request_reader.h"

using namespace catamaran;

namespace {

constexpr size_t kMaxHead = 1 << 10, kMaxBody = 1 << 12;

[[noreturn]] void Wrong(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void CheckHead(const HttpHead& head) {
  for (const std::string* text : {&head.method, &head.target, &head.host, &head.authorization,
                                  &head.origin, &head.content_encoding}) {
    for (const char c : *text) {
      if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f) {
        Wrong("a control character was taken");
      }
    }
  }
  if (head.host.find(',') != std::string::npos) Wrong("two hosts were taken");
}

// All requests and the refusal, as text.
std::string Read(std::string_view bytes, size_t piece) {
  std::string text, buffer;
  HttpRequest request;
  std::optional<RequestReader> reader(std::in_place, request, kMaxHead, kMaxBody);
  while (true) {
    const size_t used = reader->Put(buffer);
    if (used > buffer.size()) Wrong("more was taken than there was");
    buffer.erase(0, used);
    if (reader->is_refused()) return text + std::to_string(reader->refusal_code());
    if (request.body.size() > kMaxBody) Wrong("a body is too large");
    if (reader->is_done()) {
      CheckHead(request.head);
      text += request.head.method + ' ' + request.head.target + ' ' + request.head.host + ' ' +
              request.body + (reader->keep_alive() ? " keep\n" : " close\n");
      reader.emplace(request, kMaxHead, kMaxBody);
      continue;
    }
    if (used > 0) continue;
    if (bytes.empty()) return text;
    buffer += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t piece = 1 + data[0] % 16;
  if (Read(bytes, piece) != Read(bytes, std::max<size_t>(1, bytes.size()))) {
    Wrong("it depends on how the bytes arrive");
  }
  return 0;
}
