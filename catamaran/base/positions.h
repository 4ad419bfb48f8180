// base/positions.h
//
// How far each of several sources was read: what a commit stores beside a state, and what a source
// goes on from.

#pragma once

#include <map>
#include <string>

namespace catamaran {

// Topic and partition to offset, or whatever the source says: nobody but the source looks into it.
using Positions = std::map<std::string, std::string>;

}  // namespace catamaran
