#include "catamaran/ops/vector_simd.h"

#include <cstdint>

#include "catamaran/ops/primitives_simd.h"

namespace catamaran::CATAMARAN_ISA {
namespace {

// Each iteration reads its own elements before it writes: `out` may be an input.
template <class T, class Op>
void Unary(const void* const* in, void* out, int64_t n) {
  using Out = decltype(Op::Do(T{}));
  const T* a = static_cast<const T*>(in[0]);
  Out* y = static_cast<Out*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = Op::Do(a[i]);
}
// By pieces, since the input may be overwritten before it is known whether an angle is too large.
template <class T, class Op>
void Angles(const void* const* in, void* out, int64_t n) {
  constexpr int64_t kPiece = 64;
  const T* a = static_cast<const T*>(in[0]);
  T* y = static_cast<T*>(out);
  for (int64_t begin = 0; begin < n; begin += kPiece, a += kPiece, y += kPiece) {
    const int64_t count = n - begin < kPiece ? n - begin : kPiece;
    T x[kPiece];
    int far = 0;
    for (int64_t i = 0; i < count; ++i) {
      x[i] = a[i];
      far |= AbsOp::Do(x[i]) > T(kDoubleAngle);
    }
    for (int64_t i = 0; i < count; ++i) y[i] = Op::Do(x[i]);
    if (!far) continue;
    for (int64_t i = 0; i < count; ++i) {
      if (AbsOp::Do(x[i]) > T(kDoubleAngle)) y[i] = Op::Far(x[i]);
    }
  }
}
template <class T, class Op>
void BinaryVV(const void* const* in, void* out, int64_t n) {
  using Out = decltype(Op::Do(T{}, T{}));
  const T* a = static_cast<const T*>(in[0]);
  const T* b = static_cast<const T*>(in[1]);
  Out* y = static_cast<Out*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = Op::Do(a[i], b[i]);
}
template <class T, class Op>
void BinaryVS(const void* const* in, void* out, int64_t n) {
  using Out = decltype(Op::Do(T{}, T{}));
  if (n == 0) return;
  const T* a = static_cast<const T*>(in[0]);
  const T b = *static_cast<const T*>(in[1]);
  Out* y = static_cast<Out*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = Op::Do(a[i], b);
}
template <class T, class Op>
void BinarySV(const void* const* in, void* out, int64_t n) {
  using Out = decltype(Op::Do(T{}, T{}));
  if (n == 0) return;
  const T a = *static_cast<const T*>(in[0]);
  const T* b = static_cast<const T*>(in[1]);
  Out* y = static_cast<Out*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = Op::Do(a, b[i]);
}
template <class T, unsigned scalars>
void Where(const void* const* in, void* out, int64_t n) {
  if (n == 0) return;
  const uint8_t* c = static_cast<const uint8_t*>(in[0]);
  const T* a = static_cast<const T*>(in[1]);
  const T* b = static_cast<const T*>(in[2]);
  [[maybe_unused]] const uint8_t c0 = *c;
  [[maybe_unused]] const T a0 = *a, b0 = *b;
  T* y = static_cast<T*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    // Both are loaded, so that the choice is a blend and not a jump.
    const uint8_t ci = scalars & 1 ? c0 : c[i];
    const T ai = scalars & 2 ? a0 : a[i];
    const T bi = scalars & 4 ? b0 : b[i];
    y[i] = ci ? ai : bi;
  }
}

template <class T, class Op>
VectorFn Binary(unsigned scalars) {
  switch (scalars) {
    case 0:
      return BinaryVV<T, Op>;
    case 1:
      return BinarySV<T, Op>;
    case 2:
      return BinaryVS<T, Op>;
    default:
      return nullptr;
  }
}
template <class T, class Op>
VectorFn One(unsigned scalars) {
  return scalars == 0 ? &Unary<T, Op> : nullptr;
}
template <class T>
VectorFn FindWhere(unsigned scalars) {
  static constexpr VectorFn kAll[8] = {Where<T, 0>, Where<T, 1>, Where<T, 2>, Where<T, 3>,
                                       Where<T, 4>, Where<T, 5>, Where<T, 6>, nullptr};
  return kAll[scalars & 7];
}

template <class T>
VectorFn Find(ScalarKind kind, unsigned scalars) {
  if constexpr (kFloat<T>) {
    switch (kind) {
      case ScalarKind::kExp:
        return One<T, ExpOp>(scalars);
      case ScalarKind::kLog:
        return One<T, LogOp>(scalars);
      case ScalarKind::kLog1p:
        return One<T, Log1pOp>(scalars);
      case ScalarKind::kSqrt:
        return One<T, SqrtOp>(scalars);
      case ScalarKind::kRsqrt:
        return One<T, RsqrtOp>(scalars);
      case ScalarKind::kTanh:
        return One<T, TanhOp>(scalars);
      case ScalarKind::kSigmoid:
        return One<T, SigmoidOp>(scalars);
      case ScalarKind::kErf:
        return One<T, ErfOp>(scalars);
      case ScalarKind::kSin:
        return scalars == 0 ? &Angles<T, SinOp> : nullptr;
      case ScalarKind::kCos:
        return scalars == 0 ? &Angles<T, CosOp> : nullptr;
      case ScalarKind::kFloor:
        return One<T, FloorOp>(scalars);
      case ScalarKind::kCeil:
        return One<T, CeilOp>(scalars);
      case ScalarKind::kRound:
        return One<T, RoundOp>(scalars);
      case ScalarKind::kTrunc:
        return One<T, TruncOp>(scalars);
      case ScalarKind::kExp2:
        return One<T, Exp2Op>(scalars);
      case ScalarKind::kExpm1:
        return One<T, Expm1Op>(scalars);
      case ScalarKind::kLog2:
        return One<T, Log2Op>(scalars);
      case ScalarKind::kLog10:
        return One<T, Log10Op>(scalars);
      case ScalarKind::kTan:
        return One<T, TanOp>(scalars);
      case ScalarKind::kAsin:
        return One<T, AsinOp>(scalars);
      case ScalarKind::kAcos:
        return One<T, AcosOp>(scalars);
      case ScalarKind::kAtan:
        return One<T, AtanOp>(scalars);
      case ScalarKind::kSinh:
        return One<T, SinhOp>(scalars);
      case ScalarKind::kCosh:
        return One<T, CoshOp>(scalars);
      case ScalarKind::kAsinh:
        return One<T, AsinhOp>(scalars);
      case ScalarKind::kAcosh:
        return One<T, AcoshOp>(scalars);
      case ScalarKind::kAtanh:
        return One<T, AtanhOp>(scalars);
      case ScalarKind::kErfc:
        return One<T, ErfcOp>(scalars);
      case ScalarKind::kAtan2:
        return Binary<T, Atan2Op>(scalars);
      case ScalarKind::kHypot:
        return Binary<T, HypotOp>(scalars);
      case ScalarKind::kIsFinite:
        return One<T, IsFiniteOp>(scalars);
      case ScalarKind::kPow:
        return Binary<T, PowOp>(scalars);
      default:
        break;
    }
  }
  if constexpr (!kFloat<T>) {
    switch (kind) {
      case ScalarKind::kBitAnd:
        return Binary<T, BitAndOp>(scalars);
      case ScalarKind::kBitOr:
        return Binary<T, BitOrOp>(scalars);
      case ScalarKind::kBitXor:
        return Binary<T, BitXorOp>(scalars);
      case ScalarKind::kBitNot:
        return One<T, BitNotOp>(scalars);
      case ScalarKind::kShiftLeft:
        return Binary<T, ShiftLeftOp>(scalars);
      case ScalarKind::kShiftRight:
        return Binary<T, ShiftRightOp>(scalars);
      default:
        break;
    }
  }
  switch (kind) {
    case ScalarKind::kAdd:
      return Binary<T, AddOp>(scalars);
    case ScalarKind::kSub:
      return Binary<T, SubOp>(scalars);
    case ScalarKind::kMul:
      return Binary<T, MulOp>(scalars);
    case ScalarKind::kDiv:
      return Binary<T, DivOp>(scalars);
    case ScalarKind::kMin:
      return Binary<T, MinOp>(scalars);
    case ScalarKind::kMax:
      return Binary<T, MaxOp>(scalars);
    case ScalarKind::kNeg:
      return One<T, NegOp>(scalars);
    case ScalarKind::kAbs:
      return One<T, AbsOp>(scalars);
    case ScalarKind::kMod:
      return Binary<T, ModOp>(scalars);
    case ScalarKind::kFloorDiv:
      return Binary<T, FloorDivOp>(scalars);
    case ScalarKind::kSign:
      return One<T, SignOp>(scalars);
    case ScalarKind::kLess:
      return Binary<T, LessOp>(scalars);
    case ScalarKind::kLessEqual:
      return Binary<T, LessEqualOp>(scalars);
    case ScalarKind::kGreater:
      return Binary<T, GreaterOp>(scalars);
    case ScalarKind::kGreaterEqual:
      return Binary<T, GreaterEqualOp>(scalars);
    case ScalarKind::kEqual:
      return Binary<T, EqualOp>(scalars);
    case ScalarKind::kNotEqual:
      return Binary<T, NotEqualOp>(scalars);
    case ScalarKind::kAnd:
      return Binary<uint8_t, AndOp>(scalars);
    case ScalarKind::kOr:
      return Binary<uint8_t, OrOp>(scalars);
    case ScalarKind::kNot:
      return One<uint8_t, NotOp>(scalars);
    case ScalarKind::kWhere:
      return FindWhere<T>(scalars);
    default:
      return nullptr;
  }
}

}  // namespace

VectorFn FindVector(ScalarKind kind, VectorType type, unsigned scalars) {
  switch (type) {
    case VectorType::kF32:
      return Find<float>(kind, scalars);
    case VectorType::kF64:
      return Find<double>(kind, scalars);
    case VectorType::kI8:
      return Find<int8_t>(kind, scalars);
    case VectorType::kU8:
      return Find<uint8_t>(kind, scalars);
    case VectorType::kI32:
      return Find<int32_t>(kind, scalars);
    case VectorType::kI64:
      return Find<int64_t>(kind, scalars);
    case VectorType::kU64:
      return Find<uint64_t>(kind, scalars);
  }
  return nullptr;
}

}  // namespace catamaran::CATAMARAN_ISA
