// std::unitbuf: a write after each <<; with LARGE none of that: the remedy.
#include <cstdlib>
#include <iostream>

int main(int count, char **arguments) {
    long lines = (count > 1 ? std::atol(arguments[1]) : 20000) / 3;
#ifdef LARGE
    std::ios::sync_with_stdio(false);
    std::cin.tie(nullptr);
#else
    std::cout << std::unitbuf;
#endif
    for (long n = 0; n < lines; n++) std::cout << n << ' ' << n * 0.37 << '\n';
}
