// ir/text_parser.h
//
// The recursive-descent parser behind ir/parser.h; nothing else includes it. It writes ops as
// it reads them, so the order of ops is the order of evaluation in the text.
//
// After reporting a mistake a method throws ParseFailed; statements and items catch it, skip
// to their end and go on. Names that a failed statement would have defined are poisoned: using
// them fails silently, so one mistake is reported once.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "catamaran/base/small_vector.h"
#include "catamaran/ir/lexer.h"
#include "catamaran/ir/parser.h"

namespace catamaran::text {

struct ParseFailed {};
struct ParseAborted {};  // so many mistakes that going on helps nobody

// What the files of one Parse share.
struct Session {
  std::shared_ptr<const OpSet> ops;
  const BuilderSet* builders;
  const ParseOptions* options;
  std::shared_ptr<SourceTable> sources;
  Diagnostics diagnostics;
  std::vector<std::string> chain;  // of files being imported, outermost first
  int imports = 0;
};

// Names of values in nested blocks. Leaving a block forgets what it defined.
class ValueScopes {
 public:
  struct Binding {
    Value* value = nullptr;  // null: poisoned
    uint32_t line = 0;
    bool argument = false;  // of a block or function
  };
  void Clear();
  void Push() { marks_.push_back(log_.size()); }
  void Pop();
  size_t depth() const { return marks_.size(); }
  const Binding* Find(std::string_view name) const;
  void Set(std::string_view name, Binding binding);
  std::vector<std::string_view> Names() const;

 private:
  struct Undo {
    std::string_view name;
    std::optional<Binding> previous;
  };
  std::unordered_map<std::string_view, Binding> map_;
  std::vector<Undo> log_;
  std::vector<size_t> marks_;
};

// The items of a program or of a builder being read.
struct ItemScope {
  Items* items;
  const BuilderDecl* builder = nullptr;  // null for the program
  const ItemScope* outer = nullptr;
  std::unordered_set<std::string> poisoned = {};  // functions, instances, builders, imports
  std::unordered_set<std::string> poisoned_states = {};
};

// What a name before a `(` stands for.
struct Callee {
  const OpDef* op = nullptr;            // an op
  std::string name;                     // a function's or instance's path, when op is null
  const Function* signature = nullptr;  // null: only Flatten knows it
  std::vector<NamedAttr> statics;       // what stood in brackets
  Token at;
};

enum class DimPlace : uint8_t {
  kParameter,  // names are introduced
  kResult,     // names must be known
  kState,      // only static arguments
  kAttribute,
};

class TextParser {
 public:
  TextParser(Session& session, std::string_view text, uint32_t file, uint32_t frame);
  // Reports into the session; returns what could be read.
  Program ParseProgram();

 private:
  struct Cursor {
    Lexer lexer;
    Token current, next;
  };
  class Nesting;  // counts depth for as long as it lives

  // --- text_parser.cc: tokens, reports, recovery
  void Advance();
  Cursor Save() const { return {lexer_, cur_, next_}; }
  void Restore(const Cursor& cursor);
  bool Is(TokenKind kind) const { return cur_.kind == kind; }
  bool IsWord(std::string_view word) const { return Is(TokenKind::kName) && cur_.text == word; }
  bool Accept(TokenKind kind);
  Token Expect(TokenKind kind, std::string_view what);
  // Whether the statement goes on with the current token.
  bool Continues() const { return brackets_ > 0 || !cur_.newline_before; }
  bool AtStatementEnd() const;
  void ExpectStatementEnd(std::string_view after);
  Location At(const Token& token) const;
  Diagnostic& Report(const Token& token, std::string message);
  [[noreturn]] void FailAt(const Token& token, std::string message, std::string note = {});
  void SkipStatement(const Token& begin, int base_brackets);
  void SkipItem(const Token& begin);
  std::string DidYouMean(std::string_view word, std::vector<std::string_view> candidates) const;
  std::string Where(const Location& at) const { return session_.sources->ToString(at); }
  std::string WhereLine(uint32_t line) const { return Where({file_, line, 0, 0}); }
  // A later definition of `name` in this file, for "used before it is defined".
  std::optional<uint32_t> FindLaterDefinition(std::string_view name) const;

  // --- parse_items.cc
  void ParseItems(ItemScope& scope, bool nested);
  void ParseItem(ItemScope& scope);
  void ParseState(ItemScope& scope, StateKind kind);
  std::vector<NamedAttr> ParseSettings();
  void ParseInstance(ItemScope& scope);
  void ParseBuilder(ItemScope& scope);
  void ParseImport(ItemScope& scope);
  std::unique_ptr<Program> LoadImport(const Token& at, const std::string& alias,
                                      const std::string& path);
  AttrCall ParseBuilderCall();
  StaticParam ParseStaticParam(const Token& name);
  void CheckNewName(const ItemScope& scope, const Token& at, const std::string& name);

  // --- parse_types.cc
  Type ParseType(DimPlace place);
  std::vector<Dim> ParseDims(DimPlace place, int* ragged_axis);
  Dim ParseDim(DimPlace place);
  Dim ParseDimProduct(DimPlace place);
  Dim ParseDimAtom(DimPlace place);
  Dim DimName(const Token& token, DimPlace place);
  int64_t IntValue(const Token& token, bool negative);
  double FloatValue(const Token& token);
  std::string StringValue(const Token& token);

  // --- parse_attrs.cc
  Attr ParseAttr(AttrKind kind, const std::vector<std::string>* choices = nullptr);
  Attr ParseAnyAttr();
  Attr ParseNumberAttr();
  Attr ParseStatic(StaticKind kind);
  Attr ParseFunctionAttr();
  Attr ParseCallAttr();
  const StaticParam* FindStatic(std::string_view name) const;
  bool IsDim(std::string_view name) const;
  bool BeginsDim() const;

  // --- parse_function.cc
  void ParseFunction(ItemScope& scope);
  void ParseParameters();
  void ParseResults();
  std::string ParseFunctionName();
  const char* SkipNameSuffixes(const char* end);
  void FinishFunction(const Token& name, const Token& end);
  void ParseStatements();
  void ParseStatement();
  void ParseAssignment();
  void ParseCallStatement();
  void ParseCommit();
  void ParseTerminator(const char* op_name);
  bool AtTarget() const;
  void Define(const Token& name, Value* value, bool argument);
  void Poison(const Token& name);

  // --- parse_control.cc
  Op* ParseIf();
  Op* ParseFor();
  Op* ParseWhile();
  struct Carried {
    std::vector<Token> names;
    std::vector<Value*> initial;
  };
  Carried ParseCarried();
  // Reads `{ … }` into `block`; returns how many values it yields.
  int ParseNestedBlock(Block* block, const char* word);
  void CheckYields(const Token& at, const char* word, int found, int wanted);
  void AddBlockArgument(Block* block, const Token& name);

  // --- parse_expr.cc
  Value* ParseExpr() { return ParseBinary(1); }
  Value* ParseBinary(int min_precedence);
  Value* ParseUnary();
  Value* ParsePrimary();
  Value* ParseNameValue();
  Value* SingleResult(Op* op, const Token& at);
  Value* Literal(const Token& at, Attr value);
  Value* ReadState(const Token& at);
  std::string StatePath(const Token& at);
  Op* Emit(const OpDef& def, const Token& at, std::span<Value* const> operands, int num_results);
  [[noreturn]] void FailUnknownValue(const Token& at);

  // --- parse_call.cc
  // `num_results` is how many values the text takes: 0 for a statement.
  Op* ParseCall(int num_results);
  Callee ParseCallee();
  bool ResolveCallee(std::string_view name, Callee* callee);
  const Function* InstanceSignature(const Items& items, const Instance& instance) const;
  bool ResolveIn(const Items& items, std::string_view name, Callee* callee) const;
  [[noreturn]] void FailUnknownCallee(const Token& at, std::string_view name);
  std::vector<NamedAttr> ParseSpecialisation(const Function* signature);
  Op* ParseOpArguments(const Callee& callee, int num_results);
  Op* ParseFunctionArguments(Callee& callee, int num_results);
  Op* ParseOpaqueArguments(Callee& callee, int num_results);

  Session& session_;
  std::string_view text_;
  uint32_t file_;
  uint32_t frame_;
  Lexer lexer_;
  Token cur_, next_;
  int brackets_ = 0;  // open ( and [ around the current token, inside the innermost block
  int depth_ = 0;
  uint64_t ops_emitted_ = 0;

  ItemScope* scope_ = nullptr;

  // The function being read.
  Function* function_ = nullptr;
  Token function_name_;
  Block* block_ = nullptr;
  std::unique_ptr<Op> commit_;
  bool in_commit_ = false;
  const char* nested_in_ = nullptr;  // "if", "for", "while", or null in the body itself
  bool terminated_ = false;          // the block has its yield or return
  int yielded_ = 0;
  std::unordered_set<std::string> dims_;
  ValueScopes values_;

  const OpDef* constant_;
  const OpDef* read_;
  const OpDef* dim_;
};

// Counts one level of brackets, calls or blocks.
class TextParser::Nesting {
 public:
  explicit Nesting(TextParser& parser);
  ~Nesting() { --parser_.depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  TextParser& parser_;
};

// "concat(x…, axis)": for messages about arguments.
std::string Signature(const OpDef& op);
std::string Signature(const std::string& name, const Function& function);
std::string Signature(const std::string& name, const std::vector<StaticParam>& params);

// The op of an infix operator, or null; its precedence from 1 (or) to 6 (* and /).
const char* InfixOp(TokenKind kind, int* precedence);

}  // namespace catamaran::text
