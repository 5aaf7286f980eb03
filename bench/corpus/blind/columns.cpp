// Columns by manipulators, and std::endl; with FIXED a newline, and no ties to C: the remedy.
#include <cstdlib>
#include <iomanip>
#include <iostream>

int main(int count, char **arguments) {
    long lines = count > 1 ? std::atol(arguments[count - 1]) : 20000;
#ifdef FIXED
    std::ios::sync_with_stdio(false);
    std::cin.tie(nullptr);
    static char buffer[1 << 16];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
#define END '\n'
#else
#define END std::endl
#endif
    for (long n = 0; n < lines; n++)
        std::cout << std::setw(8) << n << std::setw(10) << std::fixed << std::setprecision(2) << n / 8.0 << std::hex << std::setw(6)
                  << n % 4096 << std::dec << END;
}
