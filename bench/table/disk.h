// bench/table/disk.h
//
// What the disk does by itself, beside commits and restores.

#pragma once

#include <cstdint>
#include <string>

namespace catamaran::bench {

// Seconds to write `bytes` to a new file of that name, a megabyte at a time, until they are on the
// disk. The file is removed.
double WriteSeconds(const std::string& path, int64_t bytes);

// Seconds to read all files below a directory, front to back, a megabyte at a time, that the
// system does not hold in memory.
double ReadSeconds(const std::string& directory);

}  // namespace catamaran::bench
