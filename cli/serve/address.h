// cli/serve/address.h
//
// Where a service listens, as it stands on a command line.

#pragma once

#include <optional>
#include <string>

namespace catamaran::cli {

struct Address {
  std::string host;
  int port = 0;
};

// "127.0.0.1:8000", "[::1]:8000", ":8000" and "8000" (this machine alone), "0.0.0.0:0" (a free
// port). Nothing for "off". An error of usage that names `option` for anything else.
std::optional<Address> ParseAddress(const std::string& text, const std::string& option);

// "127.0.0.1:8000", "[::1]:8000".
std::string AddressText(const std::string& host, int port);

}  // namespace catamaran::cli
