// Shows that random.h and hash.h do without all that a device does not have.

#include "catamaran/base/hash.h"
#include "catamaran/base/random.h"

namespace catamaran {

static_assert(Philox(0, 0).words[0] == 0x6627e8d5u);
static_assert(UniformFloat(0xFFFFFFFFu) < 1.0f);
static_assert(HashString("abc") != HashString("abd"));

}  // namespace catamaran
