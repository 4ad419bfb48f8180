// ir/program_builder.h
//
// Programs in C++. A ProgramBuilder makes the same Program as the text form does, item by item:
//
//   ProgramBuilder p("ctr", ops, builders);
//   auto feat = p.Table("feat", "f32[16]", Call("normal", {{"std", 0.01}}),
//                       {{"optimizer", Call("rowwise_adagrad", {{"lr", 0.05}})}});
//   auto fc1 = p.Instance("fc1", "linear", {429, 400});
//   auto infer = p.Function("infer");
//   Var ids = infer.Param("ids", "u64[B, 26]");
//   Var x = Reshape(Lookup(feat, ids), "[B, 416]");
//   infer.Return(Sigmoid(fc1(x)));
//   p.Instance("train", "adam", {Call("grad", {loss}), {"lr", 0.001}});
//   Program flat = p.Flatten();
//
// The op functions (Lookup, Reshape, …) are in catamaran/ops/functions.h. Types are text, as in a
// program. Mistakes of the moment (a type that does not parse, a name taken twice) throw a
// ProgramError at once, all others when the program is flattened; both name the C++ file and line.
//
// A builder and what it hands out are used by one thread.

#pragma once

#include <deque>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>

#include "catamaran/ir/builder_set.h"
#include "catamaran/ir/function_scope.h"
#include "catamaran/ir/program.h"

namespace catamaran {

class BuilderScope;

// What may stand at the top of a program or in a builder definition.
class ItemsScope {
 public:
  StateRef Param(std::string name, std::string_view type, CallArg init = Attr(),
                 const CallArgs& settings = {},
                 std::source_location where = std::source_location::current());
  StateRef Variable(std::string name, std::string_view type, CallArg init = Attr(),
                    const CallArgs& settings = {},
                    std::source_location where = std::source_location::current());
  // `row` is the type of one row.
  StateRef Table(std::string name, std::string_view row, CallArg init = Attr(),
                 const CallArgs& settings = {},
                 std::source_location where = std::source_location::current());
  // `element` is the type of what is sent through it.
  StateRef Channel(std::string name, std::string_view element, const CallArgs& settings = {},
                   std::source_location where = std::source_location::current());

  // name = builder(args)
  Callable Instance(std::string name, std::string builder, const CallArgs& args = {},
                    std::source_location where = std::source_location::current());
  // Ends at its Return, or at its last op if it has no results.
  FunctionScope Function(std::string name,
                         std::source_location where = std::source_location::current());
  // builder name(…) { … }
  BuilderScope Builder(std::string name,
                       std::source_location where = std::source_location::current());
  // import alias "path": the program as another builder, the parser or a file made it.
  Callable Import(std::string alias, std::string path, Program program,
                  std::source_location where = std::source_location::current());

  // Anything by its dotted path: State("fc1.w"), Fn("net.infer").
  StateRef State(std::string path) const;
  Callable Fn(std::string path) const;

 protected:
  struct Shared {
    Program program;
    std::shared_ptr<Emitter*> current = std::make_shared<Emitter*>(nullptr);
    // Open functions; their Vars point at the emitters.
    std::deque<std::shared_ptr<Emitter>> emitters;
  };
  ItemsScope(std::shared_ptr<Shared> shared, Items* items)
      : shared_(std::move(shared)), items_(items) {}

  StateRef Add(StateKind kind, std::string name, std::string_view type, const CallArg& init,
               const CallArgs& settings, std::source_location where);
  void CheckName(const std::string& name, Location at) const;
  Location At(std::source_location where) const;
  [[noreturn]] void FailAt(Location at, std::string message, std::string note = {}) const;

  std::shared_ptr<Shared> shared_;
  Items* items_;
};

// Inside builder name(…) { … }. The function without a name, Function(""), is what an instance of
// it is called as.
class BuilderScope : public ItemsScope {
 public:
  // A parameter: Argument("D", StaticKind::kInt). Types below may use an int by its name.
  StaticRef Argument(std::string name, StaticKind kind, CallArg default_value = Attr(),
                     std::source_location where = std::source_location::current());
  // A parameter that is a function, to be called.
  Callable FunctionArgument(std::string name, CallArg default_value = Attr(),
                            std::source_location where = std::source_location::current());

 private:
  friend class ItemsScope;
  BuilderScope(std::shared_ptr<Shared> shared, BuilderDecl* decl)
      : ItemsScope(std::move(shared), &decl->items), decl_(decl) {}
  BuilderDecl* decl_;
};

class ProgramBuilder : public ItemsScope {
 public:
  // `builders` must outlive this.
  ProgramBuilder(std::string name, std::shared_ptr<const OpSet> ops, const BuilderSet& builders);
  ProgramBuilder(const ProgramBuilder&) = delete;
  ProgramBuilder& operator=(const ProgramBuilder&) = delete;

  // The program as written so far.
  const Program& program();
  // The same, checked and expanded. Throws a ProgramError that names the C++ lines.
  Program Flatten();
  // Hands the program over. REQUIRES: nothing that this made is used any more.
  Program Release();

 private:
  void EndFunctions();
  const BuilderSet& builders_;
};

}  // namespace catamaran
