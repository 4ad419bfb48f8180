// exec/plan.h
//
// What Compile knows of a function before shapes are bound: its values numbered as slots, its
// ops as nodes in blocks, where each value's memory comes from and how long it lives, which
// dimensions the arguments bind, and which top-level node waits for which. A Plan is immutable.
//
// Ops that do nothing at run time have no node: a `read` is a slot that points at the state, a
// `constant` or `dim` a slot that is filled when shapes are bound, a `reshape` a second slot on
// the same memory.

#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "catamaran/ir/op_set.h"
#include "catamaran/ir/program.h"

namespace catamaran {

enum class Storage : uint8_t {
  kArena,      // memory of the frame
  kFeed,       // the caller's; source: the argument
  kState,      // a version or the head; source: the state
  kStateCopy,  // memory of the frame, copied from the state when the run begins
  kConstant,   // filled when shapes are bound
  kAlias,      // the memory of slot `source`
  kPointer,    // set while the function runs: results of `if` and loops
  kObject,     // rows and stacks: an object of the frame
};

struct PlanSlot {
  Type type;
  const Value* value = nullptr;  // null: the executor's own, or a state's
  Storage storage = Storage::kArena;
  int source = -1;
  int def_block = 0;
  bool dynamic = false;      // its shape depends on a dimension that is not part of the key
  std::vector<int> decided;  // names on which it depends whose size a kernel decides
  bool unstable = false;     // its address may change while the function runs
  bool shared = false;       // others refer to its memory
  // Slots whose memory this one refers to, itself included when it has some.
  std::vector<int> roots;
  // The stretch of positions in which the memory is in use. Empty: last < first.
  int first = 0, last = -1;
};

enum class NodeKind : uint8_t { kKernel, kAlias, kKey, kIf, kFor, kWhile };

struct CarriedValue {
  int init = -1, arg = -1, yield = -1, result = -1;
  bool swap = false;  // the argument and what is yielded may exchange their memory
  int staging = -1;   // slot through which it is copied when it is another argument
};

struct PlanNode {
  NodeKind kind = NodeKind::kKernel;
  const Op* op = nullptr;
  int block = 0;               // the one it stands in
  int top = -1;                // the top-level node that it belongs to
  int position = 0, end = 0;   // end: after all of its blocks
  std::vector<int> ins, outs;  // slots; -1: an optional operand left out
  std::vector<int> states;     // indices of op->states
  int blocks[2] = {-1, -1};    // if: then, else; for: body; while: condition, body
  std::vector<CarriedValue> carried;
  int index = -1;          // of a loop: the slot of its counter
  uint64_t path_hash = 0;  // of a key
  bool dynamic = false;    // touches a dynamic slot
  int decides = -1;        // index in Plan::names of the size that its kernel decides
  int new_offsets = -1;    // slot of the offsets that it writes, when its result is ragged
};

struct PlanBlock {
  int parent = -1;  // node; -1 for the body
  std::vector<int> nodes;
  std::vector<int> yields;  // slots
};

// Whether a kernel runs for this node: not for control flow, guards and writes.
inline bool HasKernel(const PlanNode& node) {
  return node.kind == NodeKind::kKernel && !node.op->def().kernels.empty() &&
         !node.op->Is("guard") && !node.op->Is("write");
}

// How one axis of an argument is bound or checked.
struct PlanAxis {
  int name = -1;  // index in Plan::names when the dimension is a bare name
  Dim dim;
};

struct PlanInput {
  std::string name;
  Type type;
  Location at;
  int slot = -1;
  std::vector<PlanAxis> axes;  // of the storage dimensions
  int ragged = -1;             // index in names of its ragged dimension
  int rows = -1;               // axis 0 of a ragged argument, as index in names, or -1
  Dim rows_dim;
};

struct PlanName {
  std::string name;
  bool dynamic = false;
  bool derived = false;      // not bound by an argument; follows from `value`
  Dim value;                 // of a derived one: what a run-time check says that it equals, or
                             // the most that it can be before its kernel has decided
  std::vector<int> decided;  // the names it follows that a kernel decides, itself included
};

struct PlanOutput {
  std::string name;
  Type type;
  int slot = -1;
  bool direct = false;  // its producer may write straight into the caller's buffer
};

// An effect in the commit region.
struct PlanEffect {
  enum class Kind : uint8_t { kGuard, kWrite, kKernel } kind = Kind::kKernel;
  int node = -1;  // in Plan::nodes; never in a block
};

struct Plan {
  std::string function_name;
  std::unique_ptr<Function> function;  // inlined; ops point into it
  std::shared_ptr<const OpSet> ops;
  std::shared_ptr<SourceTable> sources;

  std::vector<PlanSlot> slots;
  std::vector<PlanNode> nodes;
  std::vector<PlanBlock> blocks;  // 0 is the body
  std::vector<PlanInput> inputs;
  std::vector<PlanOutput> outputs;
  std::vector<PlanName> names;
  std::vector<PlanEffect> effects;
  std::vector<int> state_slots;     // slots with storage kState or kStateCopy
  std::vector<int> changed_states;  // written or updated by the region; sorted
  bool commits = false;             // has a commit region
  bool needs_turn = false;          // commits, or reads a state that is not versioned
  int max_depth = 1;                // of nested blocks, the body included
  int num_positions = 0;
  bool has_dynamic = false;

  // For the ready-ops schedule: by top-level node (index in blocks[0].nodes).
  std::vector<std::vector<int>> successors;
  std::vector<int> num_predecessors;

  // Declarations that the program had.
  uint64_t state_fingerprint = 0;
  std::vector<std::string> state_names;
  std::vector<std::string> state_merge;        // "", "mean", "sum", "last"
  std::unordered_map<const Op*, int> node_of;  // nodes of ops that name states

  int FindName(std::string_view name) const;
  bool IsDecided(size_t name) const {
    return std::find(names[name].decided.begin(), names[name].decided.end(),
                     static_cast<int>(name)) != names[name].decided.end();
  }
};

// REQUIRES: `function` is call-free and typed. Throws an Error with the line when something
// cannot be run.
std::unique_ptr<const Plan> MakePlan(const Program& flat, std::unique_ptr<Function> function);

}  // namespace catamaran
