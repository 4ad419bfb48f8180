// For tests: a library of ops that was built for another interface.

#include <cstdint>

extern "C" uint64_t catamaran_op_library_abi() { return 0x100000000u; }
extern "C" void catamaran_define_ops(void*) {}
