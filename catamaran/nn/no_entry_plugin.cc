// For tests: a shared library that is no library of ops.

extern "C" int unrelated() { return 1; }
