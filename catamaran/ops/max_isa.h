// ops/max_isa.h
//
// The best instruction set that our own code and oneDNN may use, by hand or because the processor
// cannot do what it announces: on some virtual machines CPUID and XCR0 have AMX, and its first
// instruction is illegal. So AMX is tried in a child process before oneDNN may use it.

#pragma once

#include <optional>
#include <string>

#include "catamaran/base/cpu.h"

namespace catamaran {

enum class Amx {
  kAbsent,  // not announced by the processor, or not by the operating system
  kWorks,
  kFaults,  // announced, and its instructions end the process
};

// How to find out; tests have others.
struct AmxProbe {
  bool (*announced)();
  void (*use)();  // in a child process: returns if AMX works
};
AmxProbe ThisProcessor();
Amx TryAmx(const AmxProbe& probe = ThisProcessor());

// Whether a child process that does nothing but call `use` comes to its end.
bool SurvivesInChild(void (*use)());

// Caps our own code (DetectIsa) and oneDNN. To be called at start, once; throws an Error if oneDNN
// has been used already, since it chooses once. Nothing: as far as the processor goes.
void LimitIsa(std::optional<Isa> max);

// What oneDNN's instruction set was capped by, apart from LimitIsa, for the log: AMX that faults.
// Empty where nothing is wrong. Tries AMX if nobody has.
std::string IsaProblem();

// Called before oneDNN chooses. Does nothing after the first time.
void SettleIsa();

}  // namespace catamaran
