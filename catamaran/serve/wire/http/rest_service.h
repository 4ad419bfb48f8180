// serve/wire/http/rest_service.h
//
// What HTTP requests mean: the REST form of the Open Inference Protocol (/v2), learning (/v1),
// metrics and the page (/), over a Gateway.
//
// Thread safety: all methods may be called concurrently.

#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "catamaran/serve/wire/gateway.h"
#include "catamaran/serve/wire/http/http_message.h"
#include "catamaran/serve/wire/http/rest_overview.h"
#include "catamaran/serve/wire/http/routes.h"

namespace catamaran {

struct RestOptions {
  size_t max_body_bytes = size_t{64} << 20;  // with tensors as bytes
  size_t max_json_bytes = size_t{8} << 20;   // of that, JSON; it takes many times the memory
  // Requests that name another host are refused, if this is a loopback address and there are no
  // tokens: a page from elsewhere in a user's browser must not reach what is his alone.
  std::string host;
};

// What is known of a call once its head was read.
struct AdmittedCall {
  Route route;
  size_t max_body = 0;  // how large its body may be
};

class RestService {
 public:
  RestService(Gateway& gateway, RestOptions options);

  // Before the body is read: what is wrong already, or nothing; then `admitted` is set.
  std::optional<HttpResponse> Refuse(const HttpHead& head, AdmittedCall& admitted) const;

  // A request that was not refused, and its route. Answers once, before it returns or later;
  // `request` is read only before, and its body may be moved from. A large one is read on a thread
  // for such (LargeRequests).
  void Handle(HttpRequest& request, const Route& route, HttpDone done) const;

 private:
  struct Call;
  Status CheckOrigin(const HttpHead& head, bool post) const;
  bool IsLarge(const HttpRequest& request) const;
  void Read(const Call& call) const;
  void Dispatch(const Call& call) const;
  void Infer(const Call& call) const;
  void Learn(const Call& call) const;
  void Watch(const Call& call) const;
  void LoadOrUnload(const Call& call) const;
  std::string Index(const std::string& body) const;

  Gateway& gateway_;
  const RestOptions options_;
  std::vector<CallMetrics> metrics_;  // by HttpCall
  Overview overview_;
};

}  // namespace catamaran
