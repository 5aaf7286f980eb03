// cout hands on to C's stdio, and std::endl flushes; fixed: '\n', and a buffer of its own.
#include <cstdlib>
#include <cstring>
#include <iostream>

int main(int count, char **arguments) {
    const char *mode = std::getenv("MODE");
    const long lines = count > 1 ? std::atol(arguments[1]) : 0;
    static char buffer[1 << 16];
    const bool fixed = mode && !std::strcmp(mode, "fixed");
    if (fixed) {
        std::ios::sync_with_stdio(false);
        std::cout.rdbuf()->pubsetbuf(buffer, sizeof buffer);
    }
    std::ostream &out = std::getenv("STREAM") ? std::cerr : std::cout;
    for (long i = 0; i < lines; i++) {
        out << "line ";
        if (mode && (fixed || !std::strcmp(mode, "newline"))) out << i << '\n';
        else out << i << std::endl;
    }
    return !out.flush();
}
