// if, for and while.

#include <fmt/format.h>

#include "catamaran/ir/text_parser.h"

namespace catamaran::text {

int TextParser::ParseNestedBlock(Block* block, const char* word) {
  Nesting nesting(*this);
  const Token brace = Expect(TokenKind::kLeftBrace, fmt::format("'{{' and the block of {}", word));
  Block* const outer = std::exchange(block_, block);
  const char* const outer_word = std::exchange(nested_in_, word);
  const bool outer_terminated = std::exchange(terminated_, false);
  yielded_ = 0;
  values_.Push();
  ParseStatements();
  values_.Pop();
  if (!Is(TokenKind::kRightBrace)) {
    FailAt(brace, fmt::format("the block of {} has no closing brace", word));
  }
  const int yielded = terminated_ ? yielded_ : 0;
  if (!terminated_) Emit(session_.ops->Get("yield"), cur_, {}, 0);
  Advance();
  block_ = outer;
  nested_in_ = outer_word;
  terminated_ = outer_terminated;
  return yielded;
}

void TextParser::CheckYields(const Token& at, const char* word, int found, int wanted) {
  if (found == wanted || found < 0 || wanted < 0) return;  // below zero: reported already
  FailAt(at, fmt::format("{} yields {} value{}; {} {} wanted", word, found, found == 1 ? "" : "s",
                         wanted, wanted == 1 ? "is" : "are"));
}

Op* TextParser::ParseIf() {
  Nesting nesting(*this);
  const Token at = cur_;
  Advance();
  const bool outer_terminated = terminated_;
  Value* condition = ParseExpr();
  auto op = std::make_unique<Op>(session_.ops->Get("if"), At(at));
  op->SetOperands({&condition, 1});
  const int results = ParseNestedBlock(op->AddBlock(), "if");
  Block* otherwise = op->AddBlock();
  const Token else_at = cur_;
  if (Accept(TokenKind::kElse)) {
    if (Is(TokenKind::kIf)) {
      // else if: a block that holds the next if and yields what it yields.
      Block* const outer = std::exchange(block_, otherwise);
      const char* const outer_word = std::exchange(nested_in_, "if");
      const Token inner_at = cur_;
      Op* inner = ParseIf();
      std::vector<Value*> yields;
      for (int i = 0; i < inner->num_results(); ++i) yields.push_back(inner->result(i));
      Emit(session_.ops->Get("yield"), inner_at, yields, 0);
      block_ = outer;
      nested_in_ = outer_word;
      if (results >= 0) {
        CheckYields(else_at, "else", static_cast<int>(yields.size()), results);
      }
    } else {
      CheckYields(else_at, "else", ParseNestedBlock(otherwise, "if"), results);
    }
  } else {
    if (results > 0) {
      FailAt(at, "an if that yields values needs an else that yields as many");
    }
    Block* const outer = std::exchange(block_, otherwise);
    Emit(session_.ops->Get("yield"), at, {}, 0);
    block_ = outer;
  }
  terminated_ = outer_terminated;
  if (results < 0) throw ParseFailed{};
  for (int i = 0; i < results; ++i) op->AddResult();
  ++ops_emitted_;
  return block_->Insert(std::move(op));
}

TextParser::Carried TextParser::ParseCarried() {
  Carried carried;
  if (!Accept(TokenKind::kWith)) return carried;
  Expect(TokenKind::kLeftParen, "'(' and the carried values (name = initial value)");
  ++brackets_;
  while (!Is(TokenKind::kRightParen)) {
    const Token name = cur_;
    if (!AtTarget()) {
      FailAt(cur_, fmt::format("expected a carried value (name = initial value), found {}",
                               Describe(cur_)));
    }
    for (const Token& t : carried.names) {
      if (t.text == name.text && name.text != "_") {
        FailAt(name, fmt::format("{} is carried twice", name.text));
      }
    }
    Advance();
    Expect(TokenKind::kAssign, fmt::format("'=' and the initial value of {}", name.text));
    carried.initial.push_back(ParseExpr());
    carried.names.push_back(name);
    if (!Accept(TokenKind::kComma)) break;
  }
  Expect(TokenKind::kRightParen, "',' or ')' in the carried values");
  --brackets_;
  return carried;
}

// Counters and carried values may reuse a name from outside: with (h = h).
void TextParser::AddBlockArgument(Block* block, const Token& name) {
  const bool unnamed = name.Is(TokenKind::kTemp) || name.text == "_";
  Define(name, block->AddArg(unnamed ? "" : std::string(name.text)), true);
}

Op* TextParser::ParseFor() {
  Nesting nesting(*this);
  const Token at = cur_;
  Advance();
  const Token counter = cur_;
  if (!AtTarget())
    FailAt(cur_, fmt::format("expected the counter of for, found {}", Describe(cur_)));
  Advance();
  Expect(TokenKind::kIn, "'in' after the counter of for");
  const Token range = cur_;
  if (!IsWord("range"))
    FailAt(cur_, fmt::format("expected range(n) or range(begin, end), found {}", Describe(cur_)));
  Advance();
  Expect(TokenKind::kLeftParen, "'(' after range");
  ++brackets_;
  // The ops of `0` come first, as in range(0, n).
  const Cursor first = Save();
  int commas = 0;
  {
    lexer_.Mute();
    int open = 0;
    for (; !Is(TokenKind::kEnd); Advance()) {
      if (Is(TokenKind::kLeftParen) || Is(TokenKind::kLeftBracket) || Is(TokenKind::kLeftBrace)) {
        ++open;
      } else if (Is(TokenKind::kRightParen) || Is(TokenKind::kRightBracket) ||
                 Is(TokenKind::kRightBrace)) {
        if (--open < 0) break;
      } else if (Is(TokenKind::kComma) && open == 0) {
        ++commas;
      }
    }
    Restore(first);
  }
  std::vector<Value*> operands;
  if (commas == 0) operands.push_back(Literal(range, Attr(0)));
  operands.push_back(ParseExpr());
  if (Accept(TokenKind::kComma)) operands.push_back(ParseExpr());
  Expect(TokenKind::kRightParen, "')' after the bounds of range");
  --brackets_;
  const Carried carried = ParseCarried();
  operands.insert(operands.end(), carried.initial.begin(), carried.initial.end());

  auto op = std::make_unique<Op>(session_.ops->Get("for"), At(at));
  op->SetOperands(operands);
  Block* body = op->AddBlock();
  values_.Push();
  AddBlockArgument(body, counter);
  for (const Token& name : carried.names) AddBlockArgument(body, name);
  const int yielded = ParseNestedBlock(body, "for");
  values_.Pop();
  const int wanted = static_cast<int>(carried.names.size());
  CheckYields(at, "the body of for", yielded, wanted);
  for (int i = 0; i < wanted; ++i) op->AddResult();
  ++ops_emitted_;
  return block_->Insert(std::move(op));
}

Op* TextParser::ParseWhile() {
  Nesting nesting(*this);
  const Token at = cur_;
  Advance();
  // The condition speaks of the carried values, which come after it: they are read first.
  const Cursor condition = Save();
  lexer_.Mute();
  int open = 0;
  while (!(Is(TokenKind::kWith) && open == 0)) {
    if (Is(TokenKind::kLeftParen) || Is(TokenKind::kLeftBracket) || Is(TokenKind::kLeftBrace)) {
      ++open;
    } else if (Is(TokenKind::kRightParen) || Is(TokenKind::kRightBracket) ||
               Is(TokenKind::kRightBrace)) {
      --open;
    }
    if (Is(TokenKind::kEnd) || open < 0) {
      Restore(condition);
      FailAt(at, "while needs the values that it carries: while n > 0 with (n = n0) { … }");
    }
    Advance();
  }
  const char* const with = cur_.text.data();
  // Read the clause again with reports on.
  Restore(condition);
  while (cur_.text.data() != with) Advance();
  const Carried carried = ParseCarried();
  const Cursor body_begin = Save();

  auto op = std::make_unique<Op>(session_.ops->Get("while"), At(at));
  op->SetOperands(carried.initial);
  Block* test = op->AddBlock();
  Block* body = op->AddBlock();
  const int wanted = static_cast<int>(carried.names.size());

  Restore(condition);
  values_.Push();
  for (const Token& name : carried.names) AddBlockArgument(test, name);
  if (Is(TokenKind::kLeftBrace)) {
    CheckYields(at, "the condition of while", ParseNestedBlock(test, "while"), 1);
  } else {
    Block* const outer = std::exchange(block_, test);
    const char* const outer_word = std::exchange(nested_in_, "while");
    Value* value = ParseExpr();
    Emit(session_.ops->Get("yield"), at, {&value, 1}, 0);
    block_ = outer;
    nested_in_ = outer_word;
  }
  values_.Pop();
  if (cur_.text.data() != with) {
    FailAt(cur_,
           fmt::format("expected 'with' after the condition of while, found {}", Describe(cur_)));
  }
  Restore(body_begin);
  values_.Push();
  for (const Token& name : carried.names) AddBlockArgument(body, name);
  const int yielded = ParseNestedBlock(body, "while");
  values_.Pop();
  CheckYields(at, "the body of while", yielded, wanted);
  for (int i = 0; i < wanted; ++i) op->AddResult();
  ++ops_emitted_;
  return block_->Insert(std::move(op));
}

}  // namespace catamaran::text
