#include "cli/main.h"

int main(int argc, char** argv) { return catamaran::cli::Main(argc, argv); }
