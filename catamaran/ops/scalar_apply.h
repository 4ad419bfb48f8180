// ops/scalar_apply.h
//
// Applies one primitive of a scalar expression to numbers, by its kind: the plain interpreter.

#pragma once

#include "catamaran/base/error.h"
#include "catamaran/ops/scalar_functions.h"
#include "catamaran/ops/scalar_kind.h"

namespace catamaran {

// Conditions are the numbers 0 and 1. REQUIRES: the kind is a primitive that T supports.
template <class T>
T ApplyScalar(ScalarKind kind, T a, [[maybe_unused]] T b, [[maybe_unused]] T c) {
  namespace f = reference::scalar;
  if constexpr (f::kIsFloat<T>) {
    switch (kind) {
      case ScalarKind::kExp:
        return f::Exp(a);
      case ScalarKind::kLog:
        return f::Log(a);
      case ScalarKind::kLog1p:
        return f::Log1p(a);
      case ScalarKind::kSqrt:
        return f::Sqrt(a);
      case ScalarKind::kRsqrt:
        return f::Rsqrt(a);
      case ScalarKind::kPow:
        return f::Pow(a, b);
      case ScalarKind::kTanh:
        return f::Tanh(a);
      case ScalarKind::kSigmoid:
        return f::Sigmoid(a);
      case ScalarKind::kErf:
        return f::Erf(a);
      case ScalarKind::kSin:
        return f::Sin(a);
      case ScalarKind::kCos:
        return f::Cos(a);
      case ScalarKind::kFloor:
        return f::Floor(a);
      case ScalarKind::kCeil:
        return f::Ceil(a);
      case ScalarKind::kRound:
        return f::Round(a);
      case ScalarKind::kTrunc:
        return f::Trunc(a);
      case ScalarKind::kExp2:
        return f::Exp2(a);
      case ScalarKind::kExpm1:
        return f::Expm1(a);
      case ScalarKind::kLog2:
        return f::Log2(a);
      case ScalarKind::kLog10:
        return f::Log10(a);
      case ScalarKind::kTan:
        return f::Tan(a);
      case ScalarKind::kAsin:
        return f::Asin(a);
      case ScalarKind::kAcos:
        return f::Acos(a);
      case ScalarKind::kAtan:
        return f::Atan(a);
      case ScalarKind::kSinh:
        return f::Sinh(a);
      case ScalarKind::kCosh:
        return f::Cosh(a);
      case ScalarKind::kAsinh:
        return f::Asinh(a);
      case ScalarKind::kAcosh:
        return f::Acosh(a);
      case ScalarKind::kAtanh:
        return f::Atanh(a);
      case ScalarKind::kErfc:
        return f::Erfc(a);
      case ScalarKind::kAtan2:
        return f::Atan2(a, b);
      case ScalarKind::kHypot:
        return f::Hypot(a, b);
      case ScalarKind::kIsFinite:
        return f::IsFinite(a);
      default:
        break;
    }
  }
  if constexpr (!f::kIsFloat<T>) {
    switch (kind) {
      case ScalarKind::kBitAnd:
        return f::BitAnd(a, b);
      case ScalarKind::kBitOr:
        return f::BitOr(a, b);
      case ScalarKind::kBitXor:
        return f::BitXor(a, b);
      case ScalarKind::kBitNot:
        return f::BitNot(a);
      case ScalarKind::kShiftLeft:
        return f::ShiftLeft(a, b);
      case ScalarKind::kShiftRight:
        return f::ShiftRight(a, b);
      default:
        break;
    }
  }
  switch (kind) {
    case ScalarKind::kAdd:
      return f::Add(a, b);
    case ScalarKind::kSub:
      return f::Sub(a, b);
    case ScalarKind::kMul:
      return f::Mul(a, b);
    case ScalarKind::kDiv:
      return f::Div(a, b);
    case ScalarKind::kNeg:
      return f::Neg(a);
    case ScalarKind::kAbs:
      return f::Abs(a);
    case ScalarKind::kMin:
      return f::Min(a, b);
    case ScalarKind::kMax:
      return f::Max(a, b);
    case ScalarKind::kMod:
      return f::Mod(a, b);
    case ScalarKind::kFloorDiv:
      return f::FloorDiv(a, b);
    case ScalarKind::kSign:
      return f::Sign(a);
    case ScalarKind::kLess:
      return f::Less(a, b);
    case ScalarKind::kLessEqual:
      return f::LessEqual(a, b);
    case ScalarKind::kGreater:
      return f::Greater(a, b);
    case ScalarKind::kGreaterEqual:
      return f::GreaterEqual(a, b);
    case ScalarKind::kEqual:
      return f::Equal(a, b);
    case ScalarKind::kNotEqual:
      return f::NotEqual(a, b);
    case ScalarKind::kAnd:
      return f::And(a, b);
    case ScalarKind::kOr:
      return f::Or(a, b);
    case ScalarKind::kNot:
      return f::Not(a);
    case ScalarKind::kWhere:
      return f::Where(a, b, c);
    default:
      break;
  }
  Fail(ErrorCode::kInternal, "internal error: {} does not work on this element type",
       InfoOf(kind).op);
}

}  // namespace catamaran
