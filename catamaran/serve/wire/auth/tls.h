// serve/wire/auth/tls.h
//
// What encrypted connections need, as PEM text.

#pragma once

#include <optional>
#include <string>

#include "catamaran/base/file.h"

namespace catamaran {

struct TlsKeys {
  std::string certificate;  // the server's, and those that lead to its root
  std::string key;
  // Not empty: clients must show a certificate that one of these signed (mutual TLS).
  std::string client_roots;
};

// Reads the files; an empty client_roots path is none. An Error that names the file if one cannot
// be read or is not what it should be, or if key and certificate do not belong together.
TlsKeys LoadTlsKeys(const FileSystem& fs, const std::string& certificate, const std::string& key,
                    const std::string& client_roots);

}  // namespace catamaran
