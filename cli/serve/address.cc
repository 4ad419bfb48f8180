#include "cli/serve/address.h"

#include <fmt/format.h>

#include <charconv>

#include "cli/session.h"

namespace catamaran::cli {
namespace {

constexpr const char* kThisMachine = "127.0.0.1";

}  // namespace

std::optional<Address> ParseAddress(const std::string& text, const std::string& option) {
  if (text == "off") return std::nullopt;
  const size_t colon = text.rfind(':');
  Address address{text.substr(0, colon == text.npos ? 0 : colon), 0};
  const std::string port = colon == text.npos ? text : text.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  bool good = error == std::errc() && end == port.data() + port.size() && address.port >= 0 &&
              address.port <= 65535;
  if (address.host.starts_with('[') && address.host.ends_with(']')) {
    address.host = address.host.substr(1, address.host.size() - 2);
  } else if (address.host.find(':') != std::string::npos) {
    good = false;  // an IPv6 address without brackets: where it ends is not clear
  }
  if (!good) {
    throw CommandError(
        kUsage, fmt::format("{} {}: wanted HOST:PORT, [IPV6]:PORT, PORT or off", option, text));
  }
  if (address.host.empty()) address.host = kThisMachine;
  return address;
}

std::string AddressText(const std::string& host, int port) {
  const bool ipv6 = host.find(':') != std::string::npos;
  return ipv6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

}  // namespace catamaran::cli
