// endl/newline: each line ends with a newline character alone.
#include "rung.h"

#include <iostream>

int main(int argc, char **argv) {
    auto messages = rung_messages(argc, argv);
    rung_begin();
    for (unsigned long long i = 0; i < messages; i++) std::cout << i << '\n';
    rung_called();
    std::cout.flush();
    fflush(stdout);
    return rung_end();
}
