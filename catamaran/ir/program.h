// ir/program.h
//
// The program in memory: functions over declared state, in SSA form with nested blocks.
//
// A program comes in two stages, held by the same classes:
//  - as written: a list of items (state, functions, instances of builders, builder
//    definitions, imports) whose ops carry no types yet. This is what the text, the C++
//    builder and the protobuf say, and what is stored.
//  - flat: only state and functions; instances, imports and static arguments are expanded,
//    every value is typed. `Flatten` (ir/flatten.h) makes it; transforms and Compile work on it.
//
// Ownership: a Program owns its items, a Function its body, a Block its ops, an Op its results
// and nested blocks. Ops refer to state and to functions by name, so a clone needs no fixing.
//
// Thread safety: a Program may be read from many threads while nobody changes it.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "catamaran/ir/attr.h"
#include "catamaran/ir/location.h"
#include "catamaran/ir/type.h"

namespace catamaran {

class Block;
class Function;
class Op;
class OpSet;
class Program;
class Value;
struct OpDef;

// One operand of an op; a node in the use list of its value.
class Operand {
 public:
  Value* value() const { return value_; }
  Op* user() const { return user_; }
  int index() const { return index_; }
  Operand* next_use() const { return next_; }
  void Set(Value* value);

 private:
  friend class Op;
  friend class Value;
  Value* value_ = nullptr;
  Op* user_ = nullptr;
  int index_ = 0;
  Operand* next_ = nullptr;
  Operand** link_ = nullptr;  // what points at this one
};

// The result of an op, or an argument of a block; assigned once.
class Value {
 public:
  Value() = default;
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;

  std::string name;  // empty: a temporary, printed inside the expression that uses it or as %n
  Type type;         // empty until inferred

  Op* def() const { return def_; }         // null for a block argument
  Block* owner() const { return block_; }  // the block whose argument it is, or null
  int index() const { return index_; }     // among the results or the arguments

  Operand* first_use() const { return first_use_; }
  bool has_uses() const { return first_use_ != nullptr; }
  bool has_one_use() const { return first_use_ && !first_use_->next_use(); }
  void ReplaceAllUsesWith(Value* other);

 private:
  friend class Op;
  friend class Block;
  friend class Operand;
  Op* def_ = nullptr;
  Block* block_ = nullptr;
  int index_ = 0;
  Operand* first_use_ = nullptr;
};

class Op {
 public:
  Op(const OpDef& def, Location at);
  ~Op();
  Op(const Op&) = delete;
  Op& operator=(const Op&) = delete;

  const OpDef& def() const { return *def_; }
  const std::string& name() const;  // def().name
  bool Is(std::string_view op_name) const { return name() == op_name; }

  Location at;

  int num_operands() const { return num_operands_; }
  // Null for an optional operand that was not given.
  Value* operand(int i) const { return operands_[i].value(); }
  Operand& operand_slot(int i) { return operands_[i]; }
  void SetOperands(std::span<Value* const> values);

  int num_results() const { return static_cast<int>(results_.size()); }
  Value* result(int i = 0) const { return results_[i].get(); }
  Value* AddResult(std::string name = {}, Type type = {});
  bool HasUses() const;

  std::vector<NamedAttr> attrs;
  // The value given, else the definition's default, else empty.
  const Attr& attr(std::string_view attr_name) const;
  void SetAttr(std::string_view attr_name, Attr value);

  std::vector<std::string> states;  // paths of the states it names, in the order of its arguments
  std::string callee;               // of a call: the function's name

  std::vector<std::unique_ptr<Block>> blocks;
  Block* AddBlock();

  Block* parent() const { return parent_; }
  Op* next() const { return next_; }
  Op* prev() const { return prev_; }

 private:
  friend class Block;
  const OpDef* def_;
  std::unique_ptr<Operand[]> operands_;
  int num_operands_ = 0;
  std::vector<std::unique_ptr<Value>> results_;
  Block* parent_ = nullptr;
  Op* prev_ = nullptr;
  Op* next_ = nullptr;
};

// A list of ops with arguments. The last op of a finished block is its terminator: `return` in
// a function's body, `yield` in a nested block; a commit region has none.
class Block {
 public:
  Block() = default;
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  Op* parent_op() const { return parent_op_; }  // null for a function's body

  int num_args() const { return static_cast<int>(args_.size()); }
  Value* arg(int i) const { return args_[i].get(); }
  Value* AddArg(std::string name, Type type = {});
  // REQUIRES: the argument has no uses.
  void RemoveArg(int i);

  Op* first() const { return first_; }
  Op* last() const { return last_; }
  bool empty() const { return first_ == nullptr; }
  // The terminator, or null.
  Op* terminator() const;

  // Takes ownership. `before` null means at the end.
  Op* Insert(std::unique_ptr<Op> op, Op* before = nullptr);
  // REQUIRES: no uses of its results.
  void Erase(Op* op);
  std::unique_ptr<Op> Remove(Op* op);

 private:
  friend class Op;
  Op* parent_op_ = nullptr;
  std::vector<std::unique_ptr<Value>> args_;
  Op* first_ = nullptr;
  Op* last_ = nullptr;
};

enum class StateKind : uint8_t { kParam, kTable, kVar, kChannel };
std::string_view StateKindName(StateKind kind);  // "param", "table", "var", "channel"

struct StateDecl {
  StateKind kind = StateKind::kParam;
  std::string name;  // the dotted path, without @
  // param, var: a tensor type. table: the type of one row. channel: chan<…>.
  Type type;
  Attr init;                        // number, word or call; empty for the kind's default
  std::vector<NamedAttr> settings;  // what stands in braces
  Location at;
};

// What a static argument or a builder's parameter accepts.
enum class StaticKind : uint8_t { kBool, kInt, kFloat, kString, kDType, kFunction, kInts, kAny };
std::string_view StaticKindName(StaticKind kind);  // "bool", "int", …

struct StaticParam {
  std::string name;
  StaticKind kind = StaticKind::kInt;
  Attr default_value;  // empty: required
  std::string doc;
  Location at;
};

struct FunctionResult {
  std::string name;  // may be empty; "@path" marks the gradient of that state
  Type type;         // empty until inferred when it was not declared
};

// A run-time check that the type rules could not decide: `left` must equal `right`.
struct DimCheck {
  Dim left, right;
  Location at;
  std::string what;  // "matmul: inner dimensions"
};

class Function {
 public:
  std::string name;
  Location at;
  // In the order of the text; the value arguments are body().arg(0…), the static ones follow in
  // statics. `order` keeps how they were interleaved: true for a static one.
  std::vector<StaticParam> statics;
  std::vector<bool> order;
  std::vector<Location> arg_locations;

  // Declared results; empty with results_declared false when the text leaves them to inference.
  std::vector<FunctionResult> results;
  bool results_declared = false;

  Block& body() { return *body_; }
  const Block& body() const { return *body_; }
  int num_params() const { return body_->num_args(); }
  Value* param(int i) const { return body_->arg(i); }

  // The commit region, or null. It is the block of the `commit` op before the terminator.
  Block* commit_region() const;

  bool typed = false;            // every value has a type
  std::vector<DimCheck> checks;  // filled by inference
  uint32_t next_fresh = 0;       // for names of anonymous dimensions, "?0", "?1", …

 private:
  std::unique_ptr<Block> body_ = std::make_unique<Block>();
};

// name = builder(args): the derivation, not what it expands to.
struct Instance {
  std::string name;
  AttrCall call;
  Location at;
};

struct BuilderDecl;
struct Import;

using Item =
    std::variant<std::unique_ptr<StateDecl>, std::unique_ptr<Function>, std::unique_ptr<Instance>,
                 std::unique_ptr<BuilderDecl>, std::unique_ptr<Import>>;

// The items of a program or of a builder definition, in order. States have a name space of
// their own; functions, instances, builders and imports share another.
class Items {
 public:
  // Throw an Error when the name is taken (callers that know the text check before).
  StateDecl* Add(StateDecl state);
  Function* Add(std::unique_ptr<Function> function);
  Instance* Add(Instance instance);
  BuilderDecl* Add(std::unique_ptr<BuilderDecl> builder);
  Import* Add(std::unique_ptr<Import> import);

  const std::vector<Item>& list() const { return list_; }
  StateDecl* FindState(std::string_view name) const;
  Function* FindFunction(std::string_view name) const;
  Instance* FindInstance(std::string_view name) const;
  BuilderDecl* FindBuilder(std::string_view name) const;
  Import* FindImport(std::string_view name) const;
  // Where the name (not a state's) was declared, or nothing.
  std::optional<Location> WhereDeclared(std::string_view name) const;
  void RemoveFunction(std::string_view name);

 private:
  std::vector<Item> list_;
  std::map<std::string, size_t, std::less<>> states_;
  std::map<std::string, size_t, std::less<>> names_;
};

// builder name(params) { items; fn (…) {…} }. The function without a name is what the instance
// is called as.
struct BuilderDecl {
  std::string name;
  std::vector<StaticParam> params;
  Items items;  // the main function has the empty name
  Location at;
};

struct Import {
  std::string alias;
  std::string path;  // as written
  std::unique_ptr<Program> program;
  Location at;
};

class Program {
 public:
  Program(std::string name, std::shared_ptr<const OpSet> ops,
          std::shared_ptr<SourceTable> sources = nullptr);
  Program(Program&&) = default;
  Program& operator=(Program&&) = default;

  std::string name;
  Items items;
  bool flat = false;

  const OpSet& ops() const { return *ops_; }
  const std::shared_ptr<const OpSet>& ops_ptr() const { return ops_; }
  SourceTable& sources() const { return *sources_; }
  const std::shared_ptr<SourceTable>& sources_ptr() const { return sources_; }

  // In order of declaration.
  std::vector<StateDecl*> States() const;
  std::vector<Function*> Functions() const;

 private:
  std::shared_ptr<const OpSet> ops_;
  std::shared_ptr<SourceTable> sources_;
};

// Maps values of the original to those of the copy.
using ValueMap = std::unordered_map<const Value*, Value*>;

// A deep copy. Operands not in `map` (captured from outside) stay as they are.
std::unique_ptr<Op> CloneOp(const Op& op, ValueMap& map);
void CloneOpsInto(const Block& from, Block& to, ValueMap& map);
std::unique_ptr<Function> CloneFunction(const Function& from);
Program CloneProgram(const Program& from);

// Equal in everything that the text form says: structure, names, types where both have
// them, attributes; not locations. On a difference `why`, when given, says the first one.
bool Equal(const Function& a, const Function& b, std::string* why = nullptr);
bool Equal(const Program& a, const Program& b, std::string* why = nullptr);

// Visits every op of the block and of its nested blocks, outer first, without recursion.
void ForEachOp(const Block& block, FunctionRef<void(Op&)> visit);
size_t CountOps(const Block& block);

}  // namespace catamaran
