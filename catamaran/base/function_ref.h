// base/function_ref.h
//
// FunctionRef<R(Args...)> refers to something callable without owning it and without allocating:
// two words, for parameters that are called before the function they are passed to returns.

#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace catamaran {

template <typename Signature>
class FunctionRef;

template <typename R, typename... Args>
class FunctionRef<R(Args...)> {
 public:
  // The callable must outlive this reference.
  template <typename F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> &&
           std::is_invocable_r_v<R, F&, Args...>)
      FunctionRef(F&& function) {  // NOLINT: implicit on purpose
    using Callable = std::remove_reference_t<F>;
    if constexpr (std::is_function_v<Callable>) {
      target_.function = reinterpret_cast<void (*)()>(&function);
      call_ = [](Target target, Args... args) -> R {
        return reinterpret_cast<Callable*>(target.function)(std::forward<Args>(args)...);
      };
    } else {
      target_.object = const_cast<void*>(static_cast<const void*>(std::addressof(function)));
      call_ = [](Target target, Args... args) -> R {
        return std::invoke(*static_cast<Callable*>(target.object), std::forward<Args>(args)...);
      };
    }
  }

  R operator()(Args... args) const { return call_(target_, std::forward<Args>(args)...); }

 private:
  union Target {
    void* object;
    void (*function)();
  };

  Target target_;
  R (*call_)(Target, Args...);
};

}  // namespace catamaran
