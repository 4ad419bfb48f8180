// What stands at the top of a program or in a builder: state, instances, builders, imports.

#include <fmt/format.h>

#include <filesystem>

#include "catamaran/ir/text_parser.h"

namespace catamaran::text {
namespace {

std::optional<StaticKind> ParseStaticKind(std::string_view word) {
  for (StaticKind kind :
       {StaticKind::kBool, StaticKind::kInt, StaticKind::kFloat, StaticKind::kString,
        StaticKind::kDType, StaticKind::kFunction, StaticKind::kInts, StaticKind::kAny}) {
    if (StaticKindName(kind) == word) return kind;
  }
  return std::nullopt;
}

std::string Resolve(const std::string& importing_file, const std::string& path) {
  std::filesystem::path resolved(path);
  if (resolved.is_relative()) {
    resolved = std::filesystem::path(importing_file).parent_path() / resolved;
  }
  return resolved.lexically_normal().string();
}

}  // namespace

Program TextParser::ParseProgram() {
  Program program("", session_.ops, session_.sources);
  ItemScope scope{&program.items};
  scope_ = &scope;
  try {
    try {
      if (!IsWord("program")) {
        FailAt(cur_, fmt::format("a program begins with 'program NAME', found {}", Describe(cur_)));
      }
      Advance();
      const Token name = Expect(TokenKind::kName, "the program's name after 'program'");
      program.name = name.text;
      ExpectStatementEnd("the program's name");
    } catch (const ParseFailed&) {
      // Everything else can still be read.
      if (IsWord("program")) SkipItem(cur_);
    }
    ParseItems(scope, false);
  } catch (const ParseAborted&) {
  }
  values_.Clear();
  return program;
}

void TextParser::ParseItems(ItemScope& scope, bool nested) {
  ItemScope* const saved = scope_;
  scope_ = &scope;
  while (!Is(TokenKind::kEnd)) {
    if (nested && Is(TokenKind::kRightBrace)) break;
    if (Accept(TokenKind::kSemicolon)) continue;
    const Token begin = cur_;
    const int depth = depth_;
    try {
      ParseItem(scope);
    } catch (const ParseFailed&) {
      depth_ = depth;
      function_ = nullptr;
      scope_ = &scope;
      SkipItem(begin);
    }
  }
  scope_ = saved;
}

void TextParser::ParseItem(ItemScope& scope) {
  if (Is(TokenKind::kFn)) return ParseFunction(scope);
  if (Is(TokenKind::kName)) {
    if (next_.Is(TokenKind::kState)) {
      for (StateKind kind :
           {StateKind::kParam, StateKind::kTable, StateKind::kVar, StateKind::kChannel}) {
        if (cur_.text == StateKindName(kind)) return ParseState(scope, kind);
      }
      std::vector<std::string_view> words{"param", "table", "var", "channel"};
      FailAt(cur_,
             fmt::format("'{}' is no kind of state{}", cur_.text, DidYouMean(cur_.text, words)),
             "state is a param, var, table or channel");
    }
    if (next_.Is(TokenKind::kAssign)) return ParseInstance(scope);
    if (cur_.text == "builder" && next_.Is(TokenKind::kName)) return ParseBuilder(scope);
    if (cur_.text == "import" && next_.Is(TokenKind::kName)) return ParseImport(scope);
    std::vector<std::string_view> words{"param", "table",   "var",   "channel",
                                        "fn",    "builder", "import"};
    FailAt(
        cur_,
        fmt::format("expected an item, found {}{}", Describe(cur_), DidYouMean(cur_.text, words)),
        "an item is a state (param, var, table, channel), a function (fn), an instance "
        "(name = builder(…)), a builder or an import");
  }
  FailAt(cur_, fmt::format("expected an item, found {}", Describe(cur_)));
}

void TextParser::CheckNewName(const ItemScope& scope, const Token& at, const std::string& name) {
  if (std::optional<Location> where = scope.items->WhereDeclared(name)) {
    FailAt(at, fmt::format("{} is already defined at {}",
                           name.empty() ? "the builder's function" : name, Where(*where)));
  }
  if (name == "op") FailAt(at, "op is not a name: op.NAME stands for the op of that name");
}

void TextParser::ParseState(ItemScope& scope, StateKind kind) {
  Advance();
  const Token name = cur_;
  Advance();
  StateDecl state;
  state.kind = kind;
  state.name = name.text;
  state.at = At(name);
  if (StateDecl* other = scope.items->FindState(state.name)) {
    FailAt(name,
           fmt::format("the state @{} is already declared at {}", state.name, Where(other->at)));
  }
  try {
    Expect(TokenKind::kColon, fmt::format("':' and the type of @{}", state.name));
    if (kind == StateKind::kTable) {
      const Token key = Expect(TokenKind::kName, "the key type, u64");
      if (key.text != "u64") FailAt(key, "the keys of a table are u64: table @t : u64 -> f32[16]");
      Expect(TokenKind::kArrow, "'->' and the type of one row");
    }
    const Token type_at = cur_;
    state.type = ParseType(DimPlace::kState);
    if (!state.type.is_tensor()) {
      FailAt(type_at, fmt::format("a {} holds a tensor; found {}", StateKindName(kind),
                                  state.type.ToString()));
    }
    if (kind == StateKind::kChannel) state.type = Type::Chan(state.type);
    if (Is(TokenKind::kAssign) && Continues()) {
      Advance();
      state.init = ParseAnyAttr();
    }
    if (Is(TokenKind::kLeftBrace) && Continues()) state.settings = ParseSettings();
    ExpectStatementEnd(fmt::format("the declaration of @{}", state.name));
  } catch (const ParseFailed&) {
    scope.poisoned_states.insert(state.name);
    throw;
  }
  scope.items->Add(std::move(state));
}

std::vector<NamedAttr> TextParser::ParseSettings() {
  Advance();
  const int saved = std::exchange(brackets_, 0);
  std::vector<NamedAttr> settings;
  while (!Is(TokenKind::kRightBrace)) {
    const Token name = Expect(TokenKind::kName, "a setting (name = value) or '}'");
    if (!FindAttr(settings, name.text).empty()) {
      FailAt(name, fmt::format("the setting {} is given twice", name.text));
    }
    Expect(TokenKind::kAssign, fmt::format("'=' after {}", name.text));
    Attr value = ParseAnyAttr();
    settings.push_back({std::string(name.text), std::move(value)});
    if (Accept(TokenKind::kComma) || Accept(TokenKind::kSemicolon)) continue;
    if (!Is(TokenKind::kRightBrace) && !cur_.newline_before) {
      FailAt(cur_, fmt::format("expected ',' or a new line after the setting {}, found {}",
                               name.text, Describe(cur_)));
    }
  }
  Advance();
  brackets_ = saved;
  return settings;
}

void TextParser::ParseInstance(ItemScope& scope) {
  const Token name = cur_;
  Advance();
  Advance();
  Instance instance;
  instance.name = name.text;
  instance.at = At(name);
  CheckNewName(scope, name, instance.name);
  try {
    if (!Is(TokenKind::kName)) {
      FailAt(cur_, fmt::format("expected a builder after '=', found {}", Describe(cur_)),
             "an instance is name = builder(…); values are computed in functions");
    }
    instance.call = ParseBuilderCall();
    ExpectStatementEnd(fmt::format("the instance {}", instance.name));
  } catch (const ParseFailed&) {
    scope.poisoned.insert(instance.name);
    throw;
  }
  scope.items->Add(std::move(instance));
}

AttrCall TextParser::ParseBuilderCall() {
  const Token name = Expect(TokenKind::kName, "a builder");
  const std::vector<StaticParam>* params = nullptr;
  for (const ItemScope* s = scope_; s && !params; s = s->outer) {
    if (s->builder && s->builder->name == name.text) {
      FailAt(name, fmt::format("{} uses itself; recursion is not supported", name.text));
    }
    if (const BuilderDecl* decl = s->items->FindBuilder(name.text)) params = &decl->params;
    if (s->poisoned.count(std::string(name.text))) throw ParseFailed{};
  }
  if (!params) {
    if (const BuilderDef* def = session_.builders->Find(name.text)) params = &def->params;
  }
  if (!params) {
    std::vector<std::string_view> names;
    for (const BuilderDef* def : session_.builders->All()) names.push_back(def->name);
    for (const ItemScope* s = scope_; s; s = s->outer) {
      for (const Item& item : s->items->list()) {
        if (auto* b = std::get_if<std::unique_ptr<BuilderDecl>>(&item)) {
          names.push_back((*b)->name);
        }
      }
    }
    std::string note;
    if (session_.ops->Find(name.text) || scope_->items->FindFunction(name.text)) {
      note = fmt::format("{} is called in a function; an instance is name = builder(…)", name.text);
    } else if (auto line = FindLaterDefinition(name.text)) {
      note = fmt::format("it is defined later, at {}; a program reads from top to bottom",
                         WhereLine(*line));
    }
    FailAt(name, fmt::format("unknown builder '{}'{}", name.text, DidYouMean(name.text, names)),
           note);
  }

  AttrCall call;
  call.name = name.text;
  call.at = At(name);
  const std::string signature = Signature(call.name, *params);
  if (!Is(TokenKind::kLeftParen) || !Continues()) {
    FailAt(name, fmt::format("{} is a builder; its arguments must follow in brackets", name.text),
           signature);
  }
  Advance();
  ++brackets_;
  std::vector<bool> given(params->size());
  // A function that is a number by default, such as a learning rate, may be another number.
  const auto parse_argument = [&](const StaticParam& p) {
    const bool number = p.default_value.get<double>() || p.default_value.get<Dim>();
    if (p.kind != StaticKind::kFunction || !number) return ParseStatic(p.kind);
    const StaticParam* named = Is(TokenKind::kName) ? FindStatic(cur_.text) : nullptr;
    const bool is_number = named ? named->kind != StaticKind::kFunction : !Is(TokenKind::kName);
    return ParseStatic(is_number ? StaticKind::kFloat : StaticKind::kFunction);
  };
  while (!Is(TokenKind::kRightParen)) {
    if (Is(TokenKind::kName) && next_.Is(TokenKind::kAssign)) {
      const Token arg = cur_;
      size_t i = 0;
      while (i < params->size() && (*params)[i].name != arg.text) ++i;
      if (i == params->size()) {
        std::vector<std::string_view> names;
        for (const StaticParam& p : *params) names.push_back(p.name);
        FailAt(arg,
               fmt::format("{} has no argument '{}'{}", call.name, arg.text,
                           DidYouMean(arg.text, names)),
               signature);
      }
      if (given[i]) {
        FailAt(arg, fmt::format("{}: the argument {} is given twice", call.name, arg.text),
               signature);
      }
      given[i] = true;
      Advance();
      Advance();
      Attr value = parse_argument((*params)[i]);
      call.named.push_back({std::string(arg.text), std::move(value)});
    } else {
      const size_t i = call.positional.size();
      if (!call.named.empty()) {
        FailAt(cur_,
               fmt::format("{}: arguments without a name come before those with one", call.name),
               signature);
      }
      if (i >= params->size()) {
        FailAt(cur_, fmt::format("{} takes at most {} arguments", call.name, params->size()),
               signature);
      }
      given[i] = true;
      call.positional.push_back(parse_argument((*params)[i]));
    }
    if (!Accept(TokenKind::kComma)) break;
  }
  Expect(TokenKind::kRightParen, fmt::format("',' or ')' in the arguments of {}", call.name));
  --brackets_;
  for (size_t i = 0; i < params->size(); ++i) {
    const StaticParam& p = (*params)[i];
    // What accepts anything may be left out: the builder decides.
    if (!given[i] && p.default_value.empty() && p.kind != StaticKind::kAny) {
      FailAt(name, fmt::format("{}: the argument {} is missing", call.name, p.name), signature);
    }
  }
  return call;
}

StaticParam TextParser::ParseStaticParam(const Token& name) {
  StaticParam param;
  param.name = name.text;
  param.at = At(name);
  const Token kind = Expect(TokenKind::kName, "a kind such as int or bool");
  const std::optional<StaticKind> parsed = ParseStaticKind(kind.text);
  if (!parsed) {
    std::vector<std::string_view> kinds{"bool",  "int",      "float", "string",
                                        "dtype", "function", "ints",  "any"};
    FailAt(kind,
           fmt::format("'{}' is no kind of constant{}", kind.text, DidYouMean(kind.text, kinds)),
           "kinds: bool, int, float, string, dtype, function, ints, any");
  }
  param.kind = *parsed;
  if (Accept(TokenKind::kAssign)) param.default_value = ParseStatic(param.kind);
  return param;
}

void TextParser::ParseBuilder(ItemScope& scope) {
  Nesting nesting(*this);
  Advance();
  const Token name = cur_;
  Advance();
  auto builder = std::make_unique<BuilderDecl>();
  builder->name = name.text;
  builder->at = At(name);
  CheckNewName(scope, name, builder->name);
  try {
    Expect(TokenKind::kLeftParen, fmt::format("'(' after builder {}", builder->name));
    ++brackets_;
    while (!Is(TokenKind::kRightParen)) {
      const Token param = Expect(TokenKind::kName, "a parameter (name: kind)");
      for (const StaticParam& p : builder->params) {
        if (p.name == param.text) {
          FailAt(param, fmt::format("the parameter {} is given twice", param.text));
        }
      }
      Expect(TokenKind::kColon, fmt::format("':' and the kind of {}", param.text));
      builder->params.push_back(ParseStaticParam(param));
      if (!Accept(TokenKind::kComma)) break;
    }
    Expect(TokenKind::kRightParen, "',' or ')' in the parameters");
    --brackets_;
    const Token brace = Expect(TokenKind::kLeftBrace, "'{' and the builder's items");
    ItemScope inner{&builder->items, builder.get(), &scope, {}, {}};
    ParseItems(inner, true);
    if (!Is(TokenKind::kRightBrace)) {
      FailAt(brace, fmt::format("the builder {} has no closing brace", builder->name));
    }
    Advance();
    if (!builder->items.FindFunction("") && !inner.poisoned.count("")) {
      FailAt(name, fmt::format("the builder {} has no function of its own: fn (…) {{ … }}",
                               builder->name));
    }
    ExpectStatementEnd(fmt::format("the builder {}", builder->name));
  } catch (const ParseFailed&) {
    scope.poisoned.emplace(name.text);
    throw;
  }
  scope.items->Add(std::move(builder));
}

void TextParser::ParseImport(ItemScope& scope) {
  Advance();
  const Token name = cur_;
  Advance();
  auto import = std::make_unique<Import>();
  import->alias = name.text;
  import->at = At(name);
  CheckNewName(scope, name, import->alias);
  try {
    if (name.text.find('.') != std::string_view::npos) {
      FailAt(name, "the alias of an import is one word");
    }
    const Token path = Expect(TokenKind::kString, "the file in quotes");
    import->path = StringValue(path);
    ExpectStatementEnd("the import");
    import->program = LoadImport(path, import->alias, import->path);
  } catch (const ParseFailed&) {
    scope.poisoned.emplace(name.text);
    throw;
  }
  scope.items->Add(std::move(import));
}

std::unique_ptr<Program> TextParser::LoadImport(const Token& at, const std::string& alias,
                                                const std::string& path) {
  if (!session_.options->load_import) {
    FailAt(at, "this program is read without files; imports cannot be loaded");
  }
  const std::string resolved = Resolve(session_.chain.back(), path);
  for (size_t i = 0; i < session_.chain.size(); ++i) {
    if (std::filesystem::path(session_.chain[i]).lexically_normal().string() != resolved) continue;
    std::string cycle;
    for (size_t j = i; j < session_.chain.size(); ++j) cycle += session_.chain[j] + " -> ";
    FailAt(at, fmt::format("files import each other: {}{}", cycle, resolved));
  }
  if (session_.chain.size() >= kMaxImportDepth) {
    FailAt(at, fmt::format("imports nest more than {} deep", kMaxImportDepth));
  }
  if (++session_.imports > kMaxImports) {
    FailAt(at, fmt::format("the program imports more than {} files", kMaxImports));
  }
  const std::optional<std::string> text = session_.options->load_import(resolved);
  if (!text) FailAt(at, fmt::format("there is no file {}", resolved));
  if (text->size() > kMaxProgramText) FailAt(at, fmt::format("the file {} is too long", resolved));
  const uint32_t file = session_.sources->AddFile(resolved, *text);
  Location from = At(at);
  from.frame = frame_;
  const uint32_t frame = session_.sources->AddFrame("imported as " + alias, from);
  const size_t before = session_.diagnostics.count();
  session_.chain.push_back(resolved);
  TextParser parser(session_, session_.sources->file_text(file), file, frame);
  auto program = std::make_unique<Program>(parser.ParseProgram());
  session_.chain.pop_back();
  if (session_.diagnostics.count() > before) throw ParseFailed{};
  return program;
}

}  // namespace catamaran::text
