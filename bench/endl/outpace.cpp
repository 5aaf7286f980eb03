// endl/outpace-endl: each line ends with std::endl, on the stream of include/outpace.hpp.
#include "rung.h"

#include "outpace.hpp"

int main(int argc, char **argv) {
    auto messages = rung_messages(argc, argv);
    rung_begin();
    for (unsigned long long i = 0; i < messages; i++) outpace::cout << i << std::endl;
    rung_called();
    if (!outpace::cout.drain()) return rung_failed(errno);
    return rung_end();
}
