// ops/scalar_kind.h
//
// The primitives of scalar expressions, and what is known of each: how many arguments it takes,
// the op of the same meaning, its spelling in generated C++, and for which element types it is
// defined. Plain data: vector code includes it too.

#pragma once

#include <cstdint>

namespace catamaran {

enum class ScalarKind : uint8_t {
  kInput,
  kConstant,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kNeg,
  kAbs,
  kMin,
  kMax,
  kExp,
  kLog,
  kLog1p,
  kSqrt,
  kRsqrt,
  kPow,
  kTanh,
  kSigmoid,
  kErf,
  kSin,
  kCos,
  kFloor,
  kCeil,
  kRound,
  kTrunc,
  kExp2,
  kExpm1,
  kLog2,
  kLog10,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kAsinh,
  kAcosh,
  kAtanh,
  kErfc,
  kAtan2,
  kHypot,
  kMod,
  kFloorDiv,
  kSign,
  kBitAnd,
  kBitOr,
  kBitXor,
  kBitNot,
  kShiftLeft,
  kShiftRight,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kEqual,
  kNotEqual,
  kAnd,
  kOr,
  kNot,
  kIsFinite,
  kWhere,
  kCount,
};

// Element types that a primitive accepts.
enum class ScalarDomain : uint8_t {
  kFloat,       // f32, f64
  kSigned,      // floats and signed integers
  kNumber,      // floats and integers
  kInteger,     // integers
  kAny,         // numbers and bool
  kConditions,  // conditions only, whatever the type of the values
};

struct ScalarKindInfo {
  ScalarKind kind;
  const char* op;        // the elementwise op that computes just this
  const char* function;  // in catamaran::reference::scalar
  int arguments;
  ScalarDomain domain;
  bool condition;  // the result is a condition
};

inline constexpr ScalarKindInfo kScalarKinds[] = {
    {ScalarKind::kInput, "", "", 0, ScalarDomain::kAny, false},
    {ScalarKind::kConstant, "constant", "", 0, ScalarDomain::kAny, false},
    {ScalarKind::kAdd, "add", "Add", 2, ScalarDomain::kNumber, false},
    {ScalarKind::kSub, "sub", "Sub", 2, ScalarDomain::kNumber, false},
    {ScalarKind::kMul, "mul", "Mul", 2, ScalarDomain::kNumber, false},
    {ScalarKind::kDiv, "div", "Div", 2, ScalarDomain::kNumber, false},
    {ScalarKind::kNeg, "neg", "Neg", 1, ScalarDomain::kSigned, false},
    {ScalarKind::kAbs, "abs", "Abs", 1, ScalarDomain::kNumber, false},
    {ScalarKind::kMin, "minimum", "Min", 2, ScalarDomain::kNumber, false},
    {ScalarKind::kMax, "maximum", "Max", 2, ScalarDomain::kNumber, false},
    {ScalarKind::kExp, "exp", "Exp", 1, ScalarDomain::kFloat, false},
    {ScalarKind::kLog, "log", "Log", 1, ScalarDomain::kFloat, false},
    {ScalarKind::kLog1p, "log1p", "Log1p", 1, ScalarDomain::kFloat, false},
    {ScalarKind::kSqrt, "sqrt", "Sqrt", 1, ScalarDomain::kFloat, false},
    {ScalarKind::kRsqrt, "rsqrt", "Rsqrt", 1, ScalarDomain::kFloat, false},
    {ScalarKind::kPow, "pow", "Pow", 2, ScalarDomain::kFloat, false},
    {ScalarKind::kTanh, "tanh", "Tanh", 1, ScalarDomain::kFloat, false},
    {ScalarKind::kSigmoid, "sigmoid", "Sigmoid", 1, ScalarDomain::kFloat, false},
    {ScalarKind::kErf, "erf", "Erf", 1, ScalarDomain::kFloat, false},
    {ScalarKind::kSin, "sin", "Sin", 1, ScalarDomain::kFloat, false},
    {ScalarKind::kCos, "cos", "Cos", 1, ScalarDomain::kFloat, false},
    {ScalarKind::kFloor, "floor", "Floor", 1, ScalarDomain::kFloat, false},
    {ScalarKind::kCeil, "ceil", "Ceil", 1, ScalarDomain::kFloat, false},
    {ScalarKind::kRound, "round", "Round", 1, ScalarDomain::kFloat, false},
    {ScalarKind::kTrunc, "trunc", "Trunc", 1, ScalarDomain::kFloat, false},
    {ScalarKind::kExp2, "exp2", "Exp2", 1, ScalarDomain::kFloat, false},
    {ScalarKind::kExpm1, "expm1", "Expm1", 1, ScalarDomain::kFloat, false},
    {ScalarKind::kLog2, "log2", "Log2", 1, ScalarDomain::kFloat, false},
    {ScalarKind::kLog10, "log10", "Log10", 1, ScalarDomain::kFloat, false},
    {ScalarKind::kTan, "tan", "Tan", 1, ScalarDomain::kFloat, false},
    {ScalarKind::kAsin, "asin", "Asin", 1, ScalarDomain::kFloat, false},
    {ScalarKind::kAcos, "acos", "Acos", 1, ScalarDomain::kFloat, false},
    {ScalarKind::kAtan, "atan", "Atan", 1, ScalarDomain::kFloat, false},
    {ScalarKind::kSinh, "sinh", "Sinh", 1, ScalarDomain::kFloat, false},
    {ScalarKind::kCosh, "cosh", "Cosh", 1, ScalarDomain::kFloat, false},
    {ScalarKind::kAsinh, "asinh", "Asinh", 1, ScalarDomain::kFloat, false},
    {ScalarKind::kAcosh, "acosh", "Acosh", 1, ScalarDomain::kFloat, false},
    {ScalarKind::kAtanh, "atanh", "Atanh", 1, ScalarDomain::kFloat, false},
    {ScalarKind::kErfc, "erfc", "Erfc", 1, ScalarDomain::kFloat, false},
    {ScalarKind::kAtan2, "atan2", "Atan2", 2, ScalarDomain::kFloat, false},
    {ScalarKind::kHypot, "hypot", "Hypot", 2, ScalarDomain::kFloat, false},
    {ScalarKind::kMod, "mod", "Mod", 2, ScalarDomain::kNumber, false},
    {ScalarKind::kFloorDiv, "floor_div", "FloorDiv", 2, ScalarDomain::kNumber, false},
    {ScalarKind::kSign, "sign", "Sign", 1, ScalarDomain::kNumber, false},
    {ScalarKind::kBitAnd, "bitwise_and", "BitAnd", 2, ScalarDomain::kInteger, false},
    {ScalarKind::kBitOr, "bitwise_or", "BitOr", 2, ScalarDomain::kInteger, false},
    {ScalarKind::kBitXor, "bitwise_xor", "BitXor", 2, ScalarDomain::kInteger, false},
    {ScalarKind::kBitNot, "bitwise_not", "BitNot", 1, ScalarDomain::kInteger, false},
    {ScalarKind::kShiftLeft, "shift_left", "ShiftLeft", 2, ScalarDomain::kInteger, false},
    {ScalarKind::kShiftRight, "shift_right", "ShiftRight", 2, ScalarDomain::kInteger, false},
    {ScalarKind::kLess, "less", "Less", 2, ScalarDomain::kNumber, true},
    {ScalarKind::kLessEqual, "less_equal", "LessEqual", 2, ScalarDomain::kNumber, true},
    {ScalarKind::kGreater, "greater", "Greater", 2, ScalarDomain::kNumber, true},
    {ScalarKind::kGreaterEqual, "greater_equal", "GreaterEqual", 2, ScalarDomain::kNumber, true},
    {ScalarKind::kEqual, "equal", "Equal", 2, ScalarDomain::kAny, true},
    {ScalarKind::kNotEqual, "not_equal", "NotEqual", 2, ScalarDomain::kAny, true},
    {ScalarKind::kAnd, "logical_and", "And", 2, ScalarDomain::kConditions, true},
    {ScalarKind::kOr, "logical_or", "Or", 2, ScalarDomain::kConditions, true},
    {ScalarKind::kNot, "logical_not", "Not", 1, ScalarDomain::kConditions, true},
    {ScalarKind::kIsFinite, "isfinite", "IsFinite", 1, ScalarDomain::kFloat, true},
    {ScalarKind::kWhere, "where", "Where", 3, ScalarDomain::kAny, false},
};
static_assert(sizeof(kScalarKinds) / sizeof(kScalarKinds[0]) ==
              static_cast<int>(ScalarKind::kCount));

constexpr const ScalarKindInfo& InfoOf(ScalarKind kind) {
  return kScalarKinds[static_cast<int>(kind)];
}

}  // namespace catamaran
