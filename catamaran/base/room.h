// base/room.h
//
// Whether this process can have more of what the system limits, found out by taking it and giving
// it back. For libraries that abort where something runs out: whoever starts one looks first.

#pragma once

#include <cstddef>
#include <string_view>

namespace catamaran {

struct Room {
  int descriptors = 0;
  int threads = 0;
  size_t bytes = 0;  // of memory
};

// Throws an Error (resource exhausted) if less than `wanted` can be had at once now, which says
// what for, how much there is, and what to do. `what_for`: "to start gRPC".
void CheckRoom(const Room& wanted, std::string_view what_for);

// Whether `descriptor`, which was just opened, is among the last that the limit allows: those are
// for files, and connections do without. (The system gives out the lowest number that is free.)
bool DescriptorsRunOut(int descriptor);

}  // namespace catamaran
