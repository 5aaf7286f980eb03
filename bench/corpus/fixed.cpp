// The remedy: '\n', and no synchronization with C.
#include <cstdlib>
#include <iostream>

int main(int count, char **arguments) {
    long lines = count > 1 ? std::atol(arguments[1]) : 20000;
    std::ios::sync_with_stdio(false);
    for (long n = 0; n < lines; n++)
        std::cout << "line " << n << '\n';
}
