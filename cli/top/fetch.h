// cli/top/fetch.h
//
// One GET over HTTP/1.1, without encryption.

#pragma once

#include <string>

namespace catamaran::cli {

struct Fetched {
  int status = 0;
  std::string body;
};

// An Error that says what went wrong if there is no answer within ten seconds. `token` may be
// empty.
Fetched Fetch(const std::string& host, int port, const std::string& path, const std::string& token);

}  // namespace catamaran::cli
