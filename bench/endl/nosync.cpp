// endl/newline-nosync: each line ends with a newline character alone, without sync_with_stdio.
#include "rung.h"

#include <iostream>

int main(int argc, char **argv) {
    auto messages = rung_messages(argc, argv);
    std::ios::sync_with_stdio(false);
    rung_begin();
    for (unsigned long long i = 0; i < messages; i++) std::cout << i << '\n';
    rung_called();
    if (!std::cout.flush()) return rung_failed(errno);
    return rung_end();
}
