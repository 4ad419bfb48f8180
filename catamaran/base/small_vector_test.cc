#include "catamaran/base/small_vector.h"

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>

namespace catamaran {
namespace {

using Strings = SmallVector<std::string, 2>;
using Ints = SmallVector<int, 4>;

// Long enough not to fit into a std::string itself, so that leaks and double frees are seen.
std::string Text(int i) { return "a rather long string, number " + std::to_string(i); }

Strings Make(int count) {
  Strings strings;
  for (int i = 0; i < count; ++i) strings.push_back(Text(i));
  return strings;
}

bool IsInside(const Strings& v) {
  const auto* begin = reinterpret_cast<const char*>(&v);
  const auto* data = reinterpret_cast<const char*>(v.data());
  return data >= begin && data < begin + sizeof(v);
}

TEST(SmallVector, ShortListsLiveInside) {
  EXPECT_TRUE(IsInside(Make(2)));
  EXPECT_FALSE(IsInside(Make(3)));
}

TEST(SmallVector, GrowingKeepsTheElements) {
  const Strings strings = Make(100);
  ASSERT_EQ(strings.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(strings[static_cast<size_t>(i)], Text(i));
}

TEST(SmallVector, CopiesAreEqualAndIndependent) {
  for (const int count : {0, 1, 2, 3, 10}) {
    const Strings original = Make(count);
    Strings copy = original;
    EXPECT_EQ(copy, original);
    copy.push_back("more");
    EXPECT_NE(copy, original);
    Strings assigned = Make(5);
    assigned = original;
    EXPECT_EQ(assigned, original);
  }
}

TEST(SmallVector, MovingLeavesTheSourceEmptyAndUsable) {
  for (const int count : {0, 1, 2, 3, 10}) {
    Strings source = Make(count);
    Strings moved = std::move(source);
    EXPECT_EQ(moved, Make(count));
    EXPECT_TRUE(source.empty());  // NOLINT: this is what the test is about
    source.push_back("again");
    Strings assigned = Make(4);
    assigned = std::move(moved);
    EXPECT_EQ(assigned, Make(count));
    EXPECT_EQ(source.back(), "again");
  }
}

TEST(SmallVector, HoldsWhatCanOnlyBeMoved) {
  SmallVector<std::unique_ptr<int>, 1> v;
  for (int i = 0; i < 5; ++i) v.push_back(std::make_unique<int>(i));
  const auto moved = std::move(v);
  EXPECT_EQ(*moved[4], 4);
}

TEST(SmallVector, AnElementCanBePushedOnceMoreWhileGrowing) {
  Strings v = Make(2);
  v.push_back(v[0]);
  EXPECT_EQ(v[2], Text(0));
}

TEST(SmallVector, InsertAndEraseKeepTheOrder) {
  Ints v = {1, 2, 4, 5};
  EXPECT_EQ(*v.insert(v.begin() + 2, 3), 3);
  EXPECT_EQ(v, (Ints{1, 2, 3, 4, 5}));
  EXPECT_EQ(*v.erase(v.begin()), 2);
  v.erase(v.begin() + 1, v.begin() + 3);
  EXPECT_EQ(v, (Ints{2, 5}));
  const int* after_last = v.erase(v.end() - 1);
  EXPECT_EQ(after_last, v.end());
  Strings s = Make(4);
  s.erase(s.begin() + 1);
  EXPECT_EQ(s[1], Text(2));
}

TEST(SmallVector, ResizeAssignAndAppend) {
  Ints v(3);
  EXPECT_EQ(v, (Ints{0, 0, 0}));
  v.resize(6, 7);
  EXPECT_EQ(v, (Ints{0, 0, 0, 7, 7, 7}));
  v.resize(1);
  EXPECT_EQ(v, Ints{0});
  v.assign(2, 9);
  EXPECT_EQ(v, (Ints{9, 9}));
  const int more[] = {1, 2, 3};
  v.append(std::begin(more), std::end(more));
  EXPECT_EQ(v, (Ints{9, 9, 1, 2, 3}));
  v = {4};
  EXPECT_EQ(v.front(), 4);
  v.pop_back();
  EXPECT_TRUE(v.empty());
  EXPECT_LT((Ints{1, 2}), (Ints{1, 3}));
}

TEST(SmallVector, ConvertsToASpan) {
  const Ints v = {1, 2, 3};
  const std::span<const int> span = v;
  EXPECT_EQ(span.size(), 3u);
  EXPECT_EQ(span.data(), v.data());
}

struct ThrowsOnCopy {
  ThrowsOnCopy() = default;
  ThrowsOnCopy(ThrowsOnCopy&&) noexcept = default;
  ThrowsOnCopy(const ThrowsOnCopy& other) : fuse(other.fuse), text(other.text) {
    if (--*fuse == 0) throw 1;
  }
  std::shared_ptr<int> fuse = std::make_shared<int>(3);
  std::string text = Text(0);
};

TEST(SmallVector, ACopyThatThrowsLeaksNothing) {
  const ThrowsOnCopy element;
  EXPECT_THROW((SmallVector<ThrowsOnCopy, 1>(5, element)), int);
  EXPECT_EQ(element.fuse.use_count(), 1);
}

}  // namespace
}  // namespace catamaran
