// Results on one stream with std::endl, progress on the other; with FIXED what a line needs no flush for.
#include <cstdlib>
#include <iostream>

int main(int count, char **arguments) {
    long lines = count > 1 ? std::atol(arguments[1]) : 20000;
#ifdef FIXED
    std::ios::sync_with_stdio(false);
    std::cin.tie(nullptr);
#endif
    for (long n = 0; n < lines; n++) {
#ifdef FIXED
        std::cout << n << ',' << n * n % 977 << ',' << n % 13 << '\n';
#else
        std::cout << n << ',' << n * n % 977 << ',' << n % 13 << std::endl;
#endif
        if (n % 1000 == 999)
            std::cerr << n + 1 << " done\n";
    }
}
