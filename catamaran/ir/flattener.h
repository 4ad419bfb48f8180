// ir/flattener.h
//
// The machinery behind Flatten; nobody else includes it. A Scope is one list of items being
// expanded (the program, an import, an instance of a text builder) with the prefix that its names
// get and the static arguments that are known in it.

#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "catamaran/ir/builder_set.h"
#include "catamaran/ir/diagnostic.h"
#include "catamaran/ir/program.h"

namespace catamaran {

class Flattener {
 public:
  Flattener(const Program& source, const BuilderSet& builders);
  Program Run();

  struct Scope {
    const Items* items = nullptr;
    std::string prefix;                   // "b1." for the inside of b1
    std::map<std::string, Attr> statics;  // functions as words with their flat names
    const Scope* outer = nullptr;         // lexically around
    uint32_t frame = 0;                   // SourceFrame of the instance
    int depth = 0;
  };

  // A function with static arguments, waiting for calls: as written, or made by a builder.
  struct Template {
    const Function* function = nullptr;
    const Scope* scope = nullptr;
    std::vector<StaticParam> statics;
    std::function<bool(const std::string& flat_name, const std::map<std::string, Attr>&)> generate;
    Location at;
  };

  // --- used by the parts of the flattener, flatten_*.cc
  Program& out() { return out_; }
  Diagnostics& diagnostics() { return diagnostics_; }
  const BuilderSet& builders() const { return builders_; }
  SourceTable& sources() { return out_.sources(); }

  void ExpandItems(Scope& scope);
  // Expands `call` as an instance with that path; returns whether it worked.
  bool ExpandInstance(const AttrCall& call, const std::string& path, Location at,
                      const Scope& scope);

  // The flat name of a function as written in `scope`, expanding templates with the given static
  // arguments; empty after reporting at `at`.
  std::string ResolveFunction(const std::string& name, const std::vector<NamedAttr>& statics,
                              const Scope& scope, Location at);
  // The same for a function whose flat name is known: it is made for those of the static arguments
  // that it takes.
  std::string SpecialiseKnown(const std::string& flat_name, const std::vector<NamedAttr>& statics,
                              Location at);
  // The flat path of a state as written in `scope`; empty after reporting.
  std::string ResolveState(const std::string& name, const Scope& scope, Location at);

  // Runs a builder's code; what it throws is reported, and a half-made function removed.
  bool RunReporting(const std::string& flat_name, Location at, FunctionRef<void()> body);

  Function* FindFlat(const std::string& name) { return out_.items.FindFunction(name); }
  // Adds the function under its name; reports a clash.
  Function* AddFunction(std::unique_ptr<Function> function);
  // Makes the template known under its flat name and, when all its static arguments have
  // defaults, that specialisation, so that it is checked even when nobody calls it.
  void AddTemplate(const std::string& flat_name, Template made);
  // Takes the results from the return op, or checks them against the declared ones.
  bool FinishFunction(Function& function);
  // Names that exist, for suggestions.
  std::vector<std::string> KnownFunctions(const Scope& scope) const;
  Location WithFrame(Location at, uint32_t frame) const;

 private:
  void ExpandState(const StateDecl& decl, const Scope& scope);
  void ExpandFunction(const Function& function, const Scope& scope);
  std::string Specialise(const Template& which, const std::string& base_name,
                         const std::vector<NamedAttr>& given, Location at);
  // Clones the body with the statics replaced and names resolved, then infers it.
  void Lower(const Function& function, const Scope& scope,
             const std::map<std::string, Attr>& statics, const std::string& flat_name);
  bool BindArguments(const std::vector<StaticParam>& params, const AttrCall& call,
                     const std::string& path, Location at, const Scope& scope,
                     std::map<std::string, Attr>* bound);
  // Paths of states inside arguments become flat.
  Attr ResolveStates(const Attr& value, const Scope& scope, Location at);
  bool BindFunctionArgument(const StaticParam& param, Attr* value, const std::string& path,
                            Location at, const Scope& scope);
  void RunCppBuilder(const BuilderDef& def, const std::string& path, Location at,
                     std::map<std::string, Attr> arguments, int depth);

  const Program& source_;
  const BuilderSet& builders_;
  Program out_;
  Diagnostics diagnostics_;
  std::deque<Scope> scopes_;                             // addresses stay valid
  std::map<std::string, Template> templates_;            // by flat name
  std::map<std::string, std::string> specialised_from_;  // flat names of templates, by that of f[…]
  std::set<std::string> failed_;  // functions whose errors are reported already
  int64_t num_instances_ = 0;
  std::set<std::string> lowering_;  // on the way: recursion shows here
};

}  // namespace catamaran
