// ir/op_set.h
//
// An OpSet is the vocabulary of a program: for each op its signature, documentation, type
// rule, gradient, cost, samples and kernels. It is a plain value filled by explicit calls (no
// global registry), so two op sets can live side by side and static linking drops nothing.
//
// Thread safety: read-only after it is filled.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/ir/attr.h"
#include "catamaran/ir/kernel.h"
#include "catamaran/ir/program.h"
#include "catamaran/tensor/tensor.h"

namespace catamaran {

class GradContext;     // ir/grad_context.h
class InferContext;    // ir/infer.h
class ScalarFunction;  // ops/scalar_expr.h: the formula of an elementwise op

enum class ArgKind : uint8_t {
  kValue,     // one operand
  kOptional,  // an operand that may be left out; given by name
  kVariadic,  // any number of operands; the last value argument of its op
  kState,     // a state by name: @t
  kStates,    // any number of states
  kAttr,      // a constant
};

// What an attribute may hold; tells the parser how to read a bare word.
enum class AttrKind : uint8_t {
  kInt,    // an integer or dimension expression
  kFloat,  // a number
  kBool,
  kString,
  kWord,  // one of `choices`
  kDType,
  kInts,  // a list of integers or dimension expressions (also: dimensions of a shape)
  kAny,
};

// What a loss can take as one element of its labels. It says so itself, so that whoever gets labels
// from outside can refuse others before they are learned from (train/label_rules.h).
struct LabelRange {
  static constexpr double kLargest = 1e18;  // its square is finite in f32
  double low = -kLargest, high = kLargest;
  // Not -1: labels that are integers are classes, from 0 to below the size of an axis of this
  // operand (-1: the last). An attribute `ignore_index` allows one number more.
  int classes_of = -1;
  int classes_axis = -1;
};

struct ArgSpec {
  std::string name;
  ArgKind kind = ArgKind::kValue;
  std::string doc;
  // Attributes only; a default also of operands that may be left out.
  AttrKind attr = AttrKind::kAny;
  Attr default_value;  // empty and not `optional`: required
  bool optional = false;
  std::vector<std::string> choices;
  std::optional<LabelRange> label = std::nullopt;  // of an operand that takes labels
};

// What passes and the verifier may assume of an op.
struct OpTraits {
  bool elementwise = false;  // one formula for each element; operands broadcast
  bool rowwise = false;      // works on each index of the leading axes alone: lifts over ragged
  bool understands_ragged = false;
  bool effect = false;      // only in a commit region
  bool structural = false;  // control flow, calls, terminators: the executor's own
  bool terminator = false;
  bool reads_state = false;     // depends on state besides its operands (lookup, read, key)
  bool random = false;          // its result is a function of an explicit key operand
  bool alias_first = false;     // its result shares the memory of operand 0 (reshape)
  bool holds_operands = false;  // its result refers to its operands' memory (rows)
  bool keep = false;            // has an outside effect (print, assert): never pruned
  bool open_attrs = false;      // accepts attributes beyond its signature (update, call)
  bool mutates_first = false;   // consumes operand 0 and yields it changed (stack push, pop)
};

// Inputs worth testing. Every op has some.
struct Sample {
  std::vector<Tensor> inputs;  // an empty Tensor for an optional one left out
  std::vector<NamedAttr> attrs;
  std::vector<std::vector<int64_t>> ragged_lengths;  // by input; empty: not ragged
  double tolerance = 0;                              // 0: the default of the test
  bool check_gradient = true;  // false where the function has a kink or step at the sample
  int num_results = 0;         // of an op whose use decides how many it has
  std::string note;
};

// Operations and bytes moved, for one run with these shapes.
struct OpCost {
  double operations = 0;
  double bytes = 0;
};

using InferFn = std::function<void(InferContext&)>;
using GradFn = std::function<void(GradContext&)>;
using SizesFn = std::function<void(const KernelQuery&, Words&)>;
using SizeBoundFn = std::function<Dim(const Op&)>;
using CostFn = std::function<OpCost(const KernelQuery&)>;

struct OpDef {
  std::string name;
  std::string doc;      // first sentence: what it computes; the rest: corners
  std::string formula;  // for the reference documentation
  std::string example;  // there too: a program, of an op that no sample can show
  std::string group;    // "arithmetic", "matrix", …
  std::vector<ArgSpec> args;
  int num_results = 1;  // -1: its use decides (calls, control flow)
  OpTraits traits;

  InferFn infer;
  GradFn grad;
  std::string
      no_grad;  // the reason when there is none; "zero" outputs (comparisons) use stops_grad
  bool stops_grad = false;  // its derivative is zero everywhere: nothing flows back

  // Of an op whose results have a size that only its kernel can tell, a `?` (one name for all of
  // them): the largest that it can be. The kernel calls DecideSize. Null: no such size.
  SizeBoundFn size_bound;

  // Of an effect: everything of it that can fail or refuse the step. It is called for all effects
  // of a commit region, in order, before the kernel of the first one runs, and changes no state;
  // after it the kernel cannot fail. Null: the kernel alone cannot fail.
  KernelFn prepare_effect = nullptr;

  SizesFn sizes;                // fills the reference's struct of sizes
  std::string reference;        // the name of the reference function template
  std::string sizes_struct;     // the name of its struct of sizes
  std::vector<Kernel> kernels;  // the first that supports the query runs; the last is the reference
  CostFn cost;                  // null: bytes of operands and results, one operation an element
  std::vector<Sample> samples;
  std::shared_ptr<const ScalarFunction> scalar;  // of an elementwise op, else null

  const ArgSpec* FindArg(std::string_view arg_name) const;
  int num_value_args() const;  // operands that are not variadic
  bool has_variadic() const;
};

// Fluent access to a new definition; see docs/adding-an-op.md.
class OpBuilder {
 public:
  explicit OpBuilder(OpDef& def) : def_(&def) {}
  OpDef& def() { return *def_; }

  OpBuilder& Doc(std::string text);
  OpBuilder& Group(std::string text);
  OpBuilder& Formula(std::string text);
  OpBuilder& Example(std::string program);
  OpBuilder& In(std::string name, std::string doc = {});
  OpBuilder& OptionalIn(std::string name, std::string doc = {});
  OpBuilder& VariadicIn(std::string name, std::string doc = {});
  OpBuilder& StateArg(std::string name, std::string doc = {});
  OpBuilder& StatesArg(std::string name, std::string doc = {});
  // That operand takes labels, of this range.
  OpBuilder& Label(std::string_view operand, LabelRange range);
  // Without default: required.
  OpBuilder& RequiredAttr(std::string name, AttrKind kind, std::string doc = {});
  OpBuilder& WithAttr(std::string name, AttrKind kind, Attr default_value, std::string doc = {});
  OpBuilder& OptionalAttr(std::string name, AttrKind kind, std::string doc = {});
  OpBuilder& WordAttr(std::string name, std::vector<std::string> choices, std::string default_word,
                      std::string doc = {});
  OpBuilder& Results(int count);
  OpBuilder& Traits(OpTraits traits);
  OpBuilder& Infer(InferFn fn);
  OpBuilder& Grad(GradFn fn);
  OpBuilder& NoGrad(std::string reason);
  OpBuilder& StopsGrad();
  OpBuilder& Sizes(std::string struct_name, SizesFn fn);
  // The reference kernel; `function` is the name of the template in the op's reference section.
  OpBuilder& Reference(std::string function, KernelFn run);
  OpBuilder& PrepareEffect(KernelFn prepare);
  // A faster kernel, tried before the reference; the first added is tried first.
  OpBuilder& Fast(Kernel kernel);
  // Every kernel added so far takes f16 and bf16 as they are: for ops that only move elements.
  OpBuilder& TakesHalf();
  OpBuilder& SizeBound(SizeBoundFn fn);
  OpBuilder& Cost(CostFn fn);
  OpBuilder& AddSample(Sample sample);

 private:
  OpDef* def_;
};

class OpSet {
 public:
  OpSet();  // holds the structural ops: call, if, for, while, yield, return, read, commit, …
  OpSet(const OpSet&) = delete;
  OpSet& operator=(const OpSet&) = delete;

  // Recorded in stored programs. Raised when the meaning of an existing op changes.
  static constexpr int kVersion = 1;

  // Adds an op. Throws an Error when the name is taken.
  OpBuilder Define(std::string name);

  const OpDef* Find(std::string_view name) const;
  // Throws an Error when there is no such op.
  const OpDef& Get(std::string_view name) const;
  std::vector<const OpDef*> All() const;  // sorted by name

  // Keeps a loaded library of custom ops alive as long as the set.
  void Keep(std::shared_ptr<void> library) { kept_.push_back(std::move(library)); }

 private:
  std::vector<std::shared_ptr<void>> kept_;  // destroyed after the definitions
  std::map<std::string, std::unique_ptr<OpDef>, std::less<>> ops_;
};

}  // namespace catamaran
