// ir/builder_set.h
//
// Builders: the one mechanism for everything derived. A layer, a gradient, an optimizer is a
// builder: `name = builder(args)` yields a function plus the state it owns, under that name.
// A BuilderSet holds those written in C++; programs add their own in text. Like an OpSet it is
// a plain value, filled by explicit calls.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/ir/diagnostic.h"
#include "catamaran/ir/emitter.h"
#include "catamaran/ir/program.h"

namespace catamaran {

// What a builder written in C++ sees while an instance of it is expanded.
class BuildContext {
 public:
  virtual ~BuildContext() = default;

  // The instance's path; the function it yields gets this name, its state lies under it.
  virtual const std::string& path() const = 0;
  virtual Location at() const = 0;
  // The flat program in the making.
  virtual Program& program() = 0;

  // Arguments by the builder's parameter name; defaults are filled in. A wrong kind is
  // reported with the instance's line before the builder runs.
  virtual const Attr& arg(std::string_view name) const = 0;
  virtual bool has(std::string_view name) const = 0;
  int64_t Int(std::string_view name) const { return arg(name).AsInt(); }
  double Float(std::string_view name) const { return arg(name).AsDouble(); }
  bool Bool(std::string_view name) const { return arg(name).AsBool(); }
  std::string Word(std::string_view name) const { return arg(name).AsWord(); }
  // An argument of kind function: typed, with all calls in place. A nested builder call has
  // been expanded under path().<its name>.
  virtual Function& Fn(std::string_view name) = 0;

  // Declares `@path.name`; returns its full path.
  virtual std::string Declare(StateKind kind, std::string_view name, Type type, Attr init,
                              std::vector<NamedAttr> settings = {}) = 0;

  // Starts the function of this instance (name path()), or a helper `path().suffix`. It is
  // typed: every op is inferred as it is emitted.
  virtual Function& NewFunction(std::string_view suffix = {}) = 0;
  // A function with static arguments: `build` writes the body of one specialisation, a function
  // that exists already and is typed, each time a call asks for another combination of them.
  using Specialiser =
      std::function<void(BuildContext&, Function&, const std::map<std::string, Attr>& statics)>;
  virtual void NewTemplate(std::vector<StaticParam> statics, Specialiser build) = 0;
  // Makes `name = builder(…)` a part of this instance, as an item of a builder written in text is:
  // its state lies under path().name. Returns its path. The arguments name functions and states
  // by their whole path. To be called before NewFunction or NewTemplate.
  virtual std::string Instance(std::string_view name, AttrCall call) = 0;
  // The name under which the function of that path can be called, made for those of `statics` that
  // it takes: a layer hands `training` on without knowing whether its parts want it. `path` may
  // be an argument of kind function, as arg(…).AsWord() gives it.
  virtual std::string FunctionFor(const std::string& path,
                                  const std::map<std::string, Attr>& statics) = 0;
  // Finishes a function: sets its results from the return op and checks it.
  virtual void Finish(Function& function) = 0;

  // Throws a ProgramError at the instance's line.
  [[noreturn]] virtual void Fail(std::string message) const = 0;
  // The same at another place, with notes.
  [[noreturn]] virtual void Fail(Diagnostic diagnostic) const = 0;

  // f with every call replaced by the callee's ops and one merged commit region.
  virtual std::unique_ptr<Function> Inlined(const Function& f) = 0;
};

struct BuilderDef {
  std::string name;
  std::string doc;
  std::vector<StaticParam> params;
  std::function<void(BuildContext&)> build;
};

class BuilderSet {
 public:
  BuilderSet() = default;
  BuilderSet(const BuilderSet&) = delete;
  BuilderSet& operator=(const BuilderSet&) = delete;

  // Throws an Error when the name is taken.
  void Add(BuilderDef def);
  const BuilderDef* Find(std::string_view name) const;
  std::vector<const BuilderDef*> All() const;

  // Keeps a loaded library of builders alive as long as the set.
  void Keep(std::shared_ptr<void> library) { kept_.push_back(std::move(library)); }

 private:
  std::vector<std::shared_ptr<void>> kept_;  // destroyed after the definitions
  std::map<std::string, std::unique_ptr<BuilderDef>, std::less<>> builders_;
};

}  // namespace catamaran
