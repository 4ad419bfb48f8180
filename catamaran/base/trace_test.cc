#include "catamaran/base/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <regex>
#include <thread>
#include <vector>

#include "catamaran/base/memory_sampler.h"

namespace catamaran {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string Json(const Trace& trace) {
  std::string text;
  trace.WriteJson([&](std::string_view part) { text += part; });
  return text;
}

struct WrittenSpan {
  std::string name;
  int thread = 0;
  double begin = 0, end = 0;
};

// The spans of a file, one a line, in its order.
std::vector<WrittenSpan> Spans(const std::string& json) {
  static const std::regex line(
      R"re(\{"name":"([^"]*)","cat":"[^"]*","ph":"X","pid":1,"tid":(\d+),"ts":([-0-9.]+),"dur":([0-9.]+))re");
  std::vector<WrittenSpan> spans;
  for (std::sregex_iterator i(json.begin(), json.end(), line), end; i != end; ++i) {
    const double begin = std::stod((*i)[3]);
    spans.push_back({(*i)[1], std::stoi((*i)[2]), begin, begin + std::stod((*i)[4])});
  }
  return spans;
}

TEST(Ticks, MeasureTheSameTimeAsTheSteadyClock) {
  const TickScale scale;
  const int64_t from = SteadyClock().Now();
  const uint64_t first = Ticks();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const double ticked = static_cast<double>(Ticks() - first) * scale.NanosecondsPerTick();
  const double passed = static_cast<double>(SteadyClock().Now() - from);
  EXPECT_NEAR(ticked / passed, 1, 0.2);
}

TEST(Trace, AnEmptyTraceIsAFileToo) {
  const Trace trace;
  EXPECT_THAT(Json(trace), HasSubstr("\"traceEvents\":["));
}

TEST(Trace, TheOuterSpanComesFirstAndHoldsTheInnerOnes) {
  Trace trace;
  const TraceName* outer = trace.Name("outer", "test");
  const TraceName* inner = trace.Name("inner", "test", "x.ctm:7");
  {
    const TraceSpan span(&trace, outer);
    for (int i = 0; i < 3; ++i) const TraceSpan each(&trace, inner);
  }
  const std::vector<WrittenSpan> spans = Spans(Json(trace));
  ASSERT_EQ(spans.size(), 4u);
  EXPECT_EQ(spans[0].name, "outer");
  for (size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(spans[i].name, "inner");
    EXPECT_EQ(spans[i].thread, spans[0].thread);
    EXPECT_GE(spans[i].begin, spans[0].begin);
    EXPECT_LE(spans[i].end, spans[0].end + 1e-6);
    if (i > 1) {
      EXPECT_GE(spans[i].begin, spans[i - 1].end - 1e-6);
    }
  }
  EXPECT_THAT(Json(trace), HasSubstr("\"args\":{\"at\":\"x.ctm:7\"}"));
}

TEST(Trace, EveryThreadHasARowWithItsName) {
  Trace trace;
  const TraceName* name = trace.Name("work");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&trace, name, i] {
      trace.NameThread("reader " + std::to_string(i));
      for (int k = 0; k < 10'000; ++k) const TraceSpan span(&trace, name);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string json = Json(trace);
  for (int i = 0; i < 4; ++i) {
    EXPECT_THAT(json, HasSubstr("\"name\":\"reader " + std::to_string(i) + "\""));
  }
  EXPECT_EQ(trace.size(), 40'000u);
  EXPECT_EQ(trace.dropped(), 0u);
}

TEST(Trace, WhatAThreadMayNotWriteAnyMoreIsCounted) {
  Trace trace(4096);
  const TraceName* name = trace.Name("work");
  for (int i = 0; i < 5000; ++i) trace.Span(name, 1, 2);
  EXPECT_EQ(trace.size(), 4096u);
  EXPECT_EQ(trace.dropped(), 904u);
  EXPECT_THAT(Json(trace), HasSubstr("\"dropped_events\":904"));
}

TEST(Trace, AThreadMayWriteToTwoTracesInTurn) {
  Trace first, second;
  const TraceName *a = first.Name("a"), *b = second.Name("b");
  for (int i = 0; i < 5; ++i) {
    first.Span(a, 1, 2);
    second.Span(b, 1, 2);
  }
  EXPECT_EQ(first.size(), 5u);
  EXPECT_EQ(second.size(), 5u);
  EXPECT_THAT(Json(first), Not(HasSubstr("\"b\"")));
}

TEST(Trace, MayBeWrittenWhileThreadsGoOn) {
  Trace trace;
  const TraceName* name = trace.Name("work");
  std::atomic<bool> stop = false;
  std::thread thread([&] {
    while (!stop) const TraceSpan span(&trace, name);
  });
  while (trace.size() < 1000) std::this_thread::yield();
  EXPECT_GE(Spans(Json(trace)).size(), 1000u);
  stop = true;
  thread.join();
}

TEST(Trace, NamesMayHoldAnything) {
  Trace trace;
  trace.Span(trace.Name("a \"b\" \\ \n c"), 1, 2);
  EXPECT_THAT(Json(trace), HasSubstr(R"("a \"b\" \\ \u000a c")"));
  EXPECT_EQ(trace.Name("x", "y"), trace.Name("x", "y"));
  EXPECT_NE(trace.Name("x", "y"), trace.Name("x", "z"));
}

TEST(MemorySampler, MemoryThatIsTakenShowsInTheTrace) {
  Trace trace;
  {
    const MemorySampler sampler(trace, std::chrono::milliseconds(1));
    while (trace.size() == 0) std::this_thread::yield();
    std::vector<char> large(64 << 20, 1);
    const uint64_t seen = trace.size();
    while (trace.size() < seen + 2) std::this_thread::yield();
    EXPECT_EQ(large[12345], 1);
  }
  const std::string json = Json(trace);
  static const std::regex line(
      R"re("name":"memory \(MB\)","ph":"C"[^{]*\{"value":([0-9.e+]+)\})re");
  std::vector<double> values;
  for (std::sregex_iterator i(json.begin(), json.end(), line), end; i != end; ++i) {
    values.push_back(std::stod((*i)[1]));
  }
  ASSERT_GE(values.size(), 3u);
  EXPECT_GE(*std::max_element(values.begin(), values.end()), values.front() + 60);
}

}  // namespace
}  // namespace catamaran
