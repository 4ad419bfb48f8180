// Functions and statements.

#include <fmt/format.h>

#include "catamaran/ir/text_parser.h"

namespace catamaran::text {

std::string TextParser::ParseFunctionName() {
  if (!Is(TokenKind::kName)) {
    if (!(scope_->builder && Is(TokenKind::kLeftParen))) {
      FailAt(cur_,
             fmt::format("expected the function's name after 'fn', found {}", Describe(cur_)));
    }
    return "";
  }
  // Flat programs name specialisations: net[training=true], net[training=true].pure.
  const char* const begin = cur_.text.data();
  const char* end = begin + cur_.text.size();
  Advance();
  end = SkipNameSuffixes(end);
  return std::string(begin, end);
}

// Goes past `[…]` and `.pure` after a name; returns where the last of them ends.
const char* TextParser::SkipNameSuffixes(const char* end) {
  while (!cur_.newline_before) {
    if (Is(TokenKind::kLeftBracket)) {
      const Token begin = cur_;
      int open = 0;
      do {
        if (Is(TokenKind::kLeftBracket)) ++open;
        if (Is(TokenKind::kRightBracket)) --open;
        if (Is(TokenKind::kEnd) || cur_.newline_before) FailAt(begin, "this '[' is not closed");
        end = cur_.text.data() + cur_.text.size();
        Advance();
      } while (open > 0);
    } else if (Is(TokenKind::kSuffix)) {
      end = cur_.text.data() + cur_.text.size();
      Advance();
    } else {
      break;
    }
  }
  return end;
}

void TextParser::ParseFunction(ItemScope& scope) {
  const Token fn = cur_;
  Advance();
  function_name_ = Is(TokenKind::kName) ? cur_ : fn;
  const Token name = function_name_;
  auto function = std::make_unique<Function>();
  function->at = At(name);
  function->name = ParseFunctionName();
  function_ = function.get();
  dims_.clear();
  values_.Clear();
  commit_ = nullptr;
  in_commit_ = false;
  nested_in_ = nullptr;
  terminated_ = false;
  block_ = &function->body();
  try {
    CheckNewName(scope, name, function->name);
    ParseParameters();
    ParseResults();
    const Token brace = Expect(TokenKind::kLeftBrace, "'{' and the function's body");
    ParseStatements();
    const Token end = cur_;
    if (!Is(TokenKind::kRightBrace)) {
      FailAt(brace, fmt::format("the function {} has no closing brace", function->name));
    }
    FinishFunction(name, end);
    Advance();
    ExpectStatementEnd(fmt::format("the function {}", function->name));
  } catch (...) {
    scope.poisoned.insert(function->name);
    function_ = nullptr;
    commit_ = nullptr;
    values_.Clear();
    throw;
  }
  function_ = nullptr;
  values_.Clear();
  dims_.clear();
  scope.items->Add(std::move(function));
}

void TextParser::ParseParameters() {
  Expect(TokenKind::kLeftParen, "'(' and the parameters");
  ++brackets_;
  while (!Is(TokenKind::kRightParen)) {
    const Token name = cur_;
    if (!AtTarget()) {
      FailAt(cur_, fmt::format("expected a parameter (name: type), found {}", Describe(cur_)));
    }
    Advance();
    if (values_.Find(name.text) || FindStatic(name.text)) {
      FailAt(name, fmt::format("the parameter {} is given twice", name.text));
    }
    Expect(TokenKind::kColon, fmt::format("':' and the type of {}", name.text));
    if (IsWord("static")) {
      Advance();
      function_->statics.push_back(ParseStaticParam(name));
      function_->order.push_back(true);
    } else {
      const Token at = cur_;
      Type type = ParseType(DimPlace::kParameter);
      const bool temporary = name.Is(TokenKind::kTemp) || name.text == "_";
      Value* value =
          function_->body().AddArg(temporary ? "" : std::string(name.text), std::move(type));
      function_->order.push_back(false);
      function_->arg_locations.push_back(At(name));
      if (name.text != "_") values_.Set(name.text, {value, name.line, true});
      if (Is(TokenKind::kAssign)) {
        FailAt(at,
               fmt::format("only static parameters have defaults: {}: static int = 1", name.text));
      }
    }
    if (!Accept(TokenKind::kComma)) break;
  }
  Expect(TokenKind::kRightParen, "',' or ')' in the parameters");
  --brackets_;
  for (const StaticParam& p : function_->statics) {
    if (p.kind == StaticKind::kFunction || p.kind == StaticKind::kAny) {
      FailAt(function_name_, fmt::format("the static parameter {} of a function is a bool, int, "
                                         "float, string, dtype or ints",
                                         p.name));
    }
  }
  for (int i = 0; i < function_->num_params(); ++i) {
    const std::string& param = function_->param(i)->name;
    if (IsDim(param)) {
      FailAt(function_name_, fmt::format("{} names a parameter and a dimension", param));
    }
  }
}

void TextParser::ParseResults() {
  if (!Accept(TokenKind::kArrow)) return;
  function_->results_declared = true;
  if (Is(TokenKind::kLeftParen)) {
    Advance();
    ++brackets_;
    while (!Is(TokenKind::kRightParen)) {
      FunctionResult result;
      if (Is(TokenKind::kState)) {
        result.name = fmt::format("@{}", cur_.text);
        Advance();
        Expect(TokenKind::kColon, "':' and the gradient's type");
      } else if (Is(TokenKind::kName) && next_.Is(TokenKind::kColon)) {
        result.name = cur_.text;
        Advance();
        Advance();
      }
      result.type = ParseType(DimPlace::kResult);
      function_->results.push_back(std::move(result));
      if (!Accept(TokenKind::kComma)) break;
    }
    Expect(TokenKind::kRightParen, "',' or ')' in the results");
    --brackets_;
    return;
  }
  do {
    function_->results.push_back({"", ParseType(DimPlace::kResult)});
  } while (Accept(TokenKind::kComma));
}

void TextParser::FinishFunction(const Token& name, const Token& end) {
  if (!terminated_) {
    if (function_->results_declared && !function_->results.empty()) {
      FailAt(name,
             fmt::format("the function {} promises {} and ends without return", function_->name,
                         function_->results.size() == 1 ? "a result" : "results"));
    }
    Emit(session_.ops->Get("return"), end, {}, 0);
  }
  if (commit_) function_->body().Insert(std::move(commit_), function_->body().last());
}

void TextParser::ParseStatements() {
  const int brackets = std::exchange(brackets_, 0);
  while (!Is(TokenKind::kRightBrace) && !Is(TokenKind::kEnd)) {
    if (Accept(TokenKind::kSemicolon)) continue;
    const Token begin = cur_;
    const int depth = depth_;
    Block* const block = block_;
    const char* const nested_in = nested_in_;
    const size_t scopes = values_.depth();
    const bool in_commit = in_commit_;
    try {
      if (Is(TokenKind::kFn) && next_.Is(TokenKind::kName)) {
        FailAt(cur_, "a function cannot be defined in a function; is a '}' missing above?");
      }
      if (terminated_) {
        FailAt(cur_, "nothing may follow the return or yield of a block");
      }
      ParseStatement();
    } catch (const ParseFailed&) {
      depth_ = depth;
      if (block_ != block) terminated_ = false;  // that was a nested block's
      block_ = block;
      nested_in_ = nested_in;
      in_commit_ = in_commit;
      while (values_.depth() > scopes) values_.Pop();
      if (Is(TokenKind::kFn) && next_.Is(TokenKind::kName) && cur_.newline_before) throw;
      SkipStatement(begin, 0);
    }
  }
  brackets_ = brackets;
}

bool TextParser::AtTarget() const {
  if (Is(TokenKind::kTemp)) return true;
  return Is(TokenKind::kName) && cur_.text.find('.') == std::string_view::npos;
}

void TextParser::ParseStatement() {
  const bool assigns = next_.Is(TokenKind::kAssign) || next_.Is(TokenKind::kComma);
  if (in_commit_) {
    if (assigns || !Is(TokenKind::kName)) {
      FailAt(cur_,
             "a commit region holds only effects: guard, write, update, push, observe, "
             "send",
             "compute values before 'commit {'");
    }
    return ParseCallStatement();
  }
  if (AtTarget() && assigns) return ParseAssignment();
  const Token begin = cur_;
  switch (cur_.kind) {
    case TokenKind::kReturn:
      if (nested_in_) {
        FailAt(begin, fmt::format("return cannot leave a function from inside '{}'; yield the "
                                  "value out",
                                  nested_in_));
      }
      return ParseTerminator("return");
    case TokenKind::kYield:
      if (!nested_in_) FailAt(begin, "yield ends a block of if, for or while; a function returns");
      return ParseTerminator("yield");
    case TokenKind::kCommit:
      return ParseCommit();
    case TokenKind::kIf:
    case TokenKind::kFor:
    case TokenKind::kWhile: {
      Op* op = Is(TokenKind::kIf) ? ParseIf() : Is(TokenKind::kFor) ? ParseFor() : ParseWhile();
      if (op->num_results() > 0) {
        FailAt(begin,
               fmt::format("this {} yields {} that no name takes", begin.text,
                           op->num_results() == 1 ? "a value"
                                                  : fmt::format("{} values", op->num_results())),
               "write: y = " + std::string(begin.text) + " …");
      }
      return ExpectStatementEnd("'}'");
    }
    case TokenKind::kName:
      if ((next_.Is(TokenKind::kLeftParen) || next_.Is(TokenKind::kLeftBracket)) &&
          !next_.newline_before) {
        return ParseCallStatement();
      }
      break;
    default:
      break;
  }
  if (Is(TokenKind::kName) && next_.Is(TokenKind::kColon)) {
    FailAt(begin, "values are written without a type: name = expression");
  }
  FailAt(begin, fmt::format("expected a statement, found {}", Describe(begin)),
         "a statement is name = expression, a call, commit { … }, return or yield");
}

void TextParser::Define(const Token& name, Value* value, bool argument) {
  if (name.text == "_") return;
  const ValueScopes::Binding* other = values_.Find(name.text);
  if (other && !argument) {
    if (!other->value) {
      values_.Set(name.text, {value, name.line, argument});
      return;
    }
    FailAt(name, fmt::format("{} is already defined at {}; a value is assigned once", name.text,
                             WhereLine(other->line)));
  }
  if (name.Is(TokenKind::kName) && (IsDim(name.text) || FindStatic(name.text))) {
    FailAt(name, fmt::format("{} is already a dimension or static argument here", name.text));
  }
  values_.Set(name.text, {value, name.line, argument});
}

void TextParser::Poison(const Token& name) {
  if (name.text != "_" && !values_.Find(name.text)) {
    values_.Set(name.text, {nullptr, name.line, false});
  }
}

void TextParser::ParseAssignment() {
  SmallVector<Token, 4> targets;
  while (true) {
    if (!AtTarget()) {
      FailAt(cur_, fmt::format("expected a name, found {}", Describe(cur_)));
    }
    targets.push_back(cur_);
    Advance();
    if (!Accept(TokenKind::kComma)) break;
  }
  try {
    Expect(TokenKind::kAssign, "'=' after the names");
    auto name_of = [](const Token& t) {
      return t.Is(TokenKind::kTemp) || t.text == "_" ? std::string() : std::string(t.text);
    };
    if (targets.size() == 1) {
      const uint64_t before = ops_emitted_;
      Value* value = ParseExpr();
      // `a = b` is a second name for b.
      if (ops_emitted_ != before && value->def()) value->name = name_of(targets[0]);
      Define(targets[0], value, false);
    } else {
      const Token at = cur_;
      Op* op = nullptr;
      if (Is(TokenKind::kIf)) {
        op = ParseIf();
      } else if (Is(TokenKind::kFor)) {
        op = ParseFor();
      } else if (Is(TokenKind::kWhile)) {
        op = ParseWhile();
      } else if (Is(TokenKind::kName)) {
        op = ParseCall(static_cast<int>(targets.size()));
      } else {
        FailAt(at, fmt::format("expected a call or if, for, while that yields {} values, found {}",
                               targets.size(), Describe(at)));
      }
      if (op->num_results() != static_cast<int>(targets.size())) {
        FailAt(at,
               fmt::format("{} yields {} value{}; {} names take them", at.text, op->num_results(),
                           op->num_results() == 1 ? "" : "s", targets.size()));
      }
      for (size_t i = 0; i < targets.size(); ++i) {
        op->result(static_cast<int>(i))->name = name_of(targets[i]);
        Define(targets[i], op->result(static_cast<int>(i)), false);
      }
    }
    ExpectStatementEnd("the expression");
  } catch (const ParseFailed&) {
    for (const Token& t : targets) Poison(t);
    throw;
  }
}

void TextParser::ParseCallStatement() {
  const Token at = cur_;
  Op* op = ParseCall(0);
  if (!AtStatementEnd()) {
    FailAt(at, "the value computed here is not used; give it a name",
           "write: y = " + std::string(at.text) + "(…) …");
  }
  if (op && op->num_results() > 0 && !op->def().traits.keep && !op->Is("call")) {
    FailAt(at, fmt::format("the value of {} is not used; give it a name", op->name()));
  }
  ExpectStatementEnd("the call");
}

void TextParser::ParseCommit() {
  const Token at = cur_;
  if (nested_in_) {
    FailAt(at, fmt::format("a commit region cannot stand in '{}': yield the values out and commit "
                           "at the end of the function",
                           nested_in_));
  }
  Advance();
  if (!commit_) {
    commit_ = std::make_unique<Op>(session_.ops->Get("commit"), At(at));
    commit_->AddBlock();
  }
  const Token brace = Expect(TokenKind::kLeftBrace, "'{' after commit");
  in_commit_ = true;
  ParseStatements();
  in_commit_ = false;
  if (!Is(TokenKind::kRightBrace)) FailAt(brace, "the commit region has no closing brace");
  Advance();
  ExpectStatementEnd("the commit region");
}

void TextParser::ParseTerminator(const char* op_name) {
  const Token at = cur_;
  Advance();
  SmallVector<Value*, 4> values;
  Block* const block = block_;
  const char* const nested_in = nested_in_;
  // The block ends here, well formed or not.
  try {
    if (!AtStatementEnd()) {
      do {
        values.push_back(ParseExpr());
      } while (Accept(TokenKind::kComma));
    }
    ExpectStatementEnd(op_name);
  } catch (const ParseFailed&) {
    block_ = block;
    nested_in_ = nested_in;
    terminated_ = true;
    yielded_ = -1;
    Emit(session_.ops->Get(op_name), at, {}, 0);
    throw;
  }
  terminated_ = true;
  yielded_ = static_cast<int>(values.size());
  Emit(session_.ops->Get(op_name), at, {values.data(), values.size()}, 0);
  if (!nested_in_ && function_->results_declared && function_->results.size() != values.size()) {
    Diagnostic& d = Report(
        at, fmt::format("the function {} returns {} value{} here and declares {}", function_->name,
                        values.size(), values.size() == 1 ? "" : "s", function_->results.size()));
    d.notes.push_back({"", "declared at " + WhereLine(function_name_.line)});
  }
}

}  // namespace catamaran::text
