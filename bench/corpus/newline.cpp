// '\n': lines on a terminal, blocks elsewhere.
#include <cstdlib>
#include <iostream>

int main(int count, char **arguments) {
    long lines = count > 1 ? std::atol(arguments[1]) : 20000;
    for (long n = 0; n < lines; n++)
        std::cout << "line " << n << '\n';
}
