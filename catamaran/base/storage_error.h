// base/storage_error.h
//
// The Error of what is stored: it cannot be read, or is not what was written. No request is to
// blame for it, and what was asked for is neither done nor refused.

#pragma once

#include "catamaran/base/error.h"

namespace catamaran {

class StorageError : public Error {
 public:
  using Error::Error;
};

}  // namespace catamaran
