// A static object prints by another file's code, before that file's own static objects are there, and again at exit.
// Compiled twice, as this file and (ELSEWHERE) as the other.
#include "outpace.hpp"

void print(const char *text);

#ifdef ELSEWHERE
void print(const char *text) { outpace::cout << text << ' ' << 1 << std::endl; }
#else
namespace {
const struct early {
    early() { print("early"); }
    ~early() { print("late"); }
} early_;
} // namespace

int main() { print("main"); }
#endif
