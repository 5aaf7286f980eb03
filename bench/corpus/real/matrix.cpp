// The product of two matrices, printed element by element as each is known, with std::flush; with FIXED without, and a large buffer.
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <vector>

int main(int count, char **arguments) {
    long elements = 2 * (count > 1 ? std::atol(arguments[count - 1]) : 20000);
    const int size = 300;
#ifdef FIXED
    std::ios::sync_with_stdio(false);
    static char buffer[1 << 16];
    std::cout.rdbuf()->pubsetbuf(buffer, sizeof buffer);
#endif
    std::vector<double> a(size * size), b(size * size);
    for (int i = 0; i < size * size; i++) {
        a[i] = i % 17 - 8;
        b[i] = i % 23 * 0.5;
    }
    std::cout << std::fixed << std::setprecision(1);
    for (long n = 0; n < elements; n++) {
        long row = n / size % size, column = n % size;
        double sum = 0;
        for (int k = 0; k < size; k++) sum += a[row * size + k] * b[k * size + column];
        std::cout << std::setw(9) << sum;
        if (column == size - 1) std::cout << '\n';
#ifndef FIXED
        std::cout << std::flush;
#endif
    }
    std::cout << '\n';
}
