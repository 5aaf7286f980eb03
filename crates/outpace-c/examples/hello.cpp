#include <outpace.hpp>

int main() {
    for (int i = 0; i < 1000000; i++) outpace::cout << "line " << i << std::endl;
}
