// What a C++ program does with include/outpace.hpp. Prints; check.sh compares with what `reference` prints by std::cout.
#include "outpace.hpp"

#include <cstdio>
#include <cstdlib>
#include <iomanip>
#include <ctime>
#include <sstream>
#include <system_error>
#include <thread>
#include <vector>

namespace {

struct point {
    int x, y;
};
std::ostream &operator<<(std::ostream &out, const point &p) { return out << '(' << p.x << ", " << p.y << ')'; }

/// Of a type of std's: the header cannot see it.
std::ostream &operator<<(std::ostream &out, const std::vector<int> &numbers) {
    for (int number : numbers) out << number << ' ';
    return out;
}

enum unscoped { one = 1 };

/// Two operators: the one for what is not const is chosen for what is not const.
struct counter {
    int shown;
};
std::ostream &operator<<(std::ostream &out, counter &c) { return out << "shown " << ++c.shown << " times "; }
std::ostream &operator<<(std::ostream &out, const counter &c) { return out << "const " << c.shown << ' '; }

/// An operator for any stream.
struct any_stream {
    int n;
};
template <typename Out> Out &operator<<(Out &out, const any_stream &a) {
    out << "any " << a.n << ' ';
    return out;
}

/// Types that are something printable, too, but have their own operator.
enum colour { red };
std::ostream &operator<<(std::ostream &out, colour) { return out << "red "; }
struct derived : std::string {
    derived() : std::string("not this") {}
};
std::ostream &operator<<(std::ostream &out, const derived &) { return out << "derived "; }
struct converts {
    operator bool() const { return true; }
    operator double() const { return 1.5; }
    operator const char *() const { return "not this"; }
    operator std::string() const { return "nor this"; }
};
std::ostream &operator<<(std::ostream &out, const converts &) { return out << "converts "; }

/// Types that are printed as what they convert to.
struct as_integer {
    operator int() const { return 42; }
};
struct as_text {
    operator const char *() const { return "as text "; }
};

/// A reference to its members would have to link, or to be aligned.
struct members {
    static const int constant = 5;
    static const char letter = 'l';
    unsigned bits : 3;
    int negative : 5;
};
struct __attribute__((packed)) packed {
    char c;
    int n;
};

struct grouped : std::numpunct<char> {
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
};

/// Each way to print, on either stream.
template <typename Out> void everything(Out &out) {
    for (long i = 0; i < 1000; i++) out << i * i * i * i * i << ' ' << -i << std::endl;
    out << 'c' << "literal" << std::string("string") << static_cast<const char *>("pointer") << '\n';
    out << short(-3) << 3u << 4ul << 5ll << 18446744073709551615ull << -9223372036854775807ll - 1 << std::endl;
    out << static_cast<signed char>('s') << static_cast<unsigned char>('u') << true << one << 1.5 << 2.5f << 1e300 << std::endl;
    out << std::hex << 255 << std::showbase << 255 << std::dec << std::noshowbase << 255 << std::showpos << 5 << std::noshowpos << '\n';
    out << std::setw(8) << 42 << std::setw(6) << "ab" << std::left << std::setw(5) << 'x' << std::right << '|' << std::flush;
    out << std::setfill('0') << std::setw(4) << 7 << std::setfill(' ') << std::setprecision(3) << 3.14159 << std::boolalpha << false;
    out << std::noboolalpha << point{1, 2} << std::ends << std::endl;
    out.width(5);
    out << 12 << 12 << '\n';
    out.put('p').write("write", 5);
    out << '\n';
    std::locale before = out.imbue(std::locale(std::locale::classic(), new grouped));
    out << 1234567 << std::endl;
    out.imbue(before);
    out << 1234567 << std::endl;
    std::string view("view");
#if __cplusplus >= 201703L
    out << std::string_view(view) << nullptr << '\n';
#else
    out << view << '\n';
#endif
    char array[] = "array";
    char *text = array;
    out << array << text << std::endl;
    out << static_cast<const void *>(nullptr) << '\n';
    out << 1 << std::vector<int>{2, 3} << 4 << std::setw(3) << 5 << std::endl;
    // Another buffer, as tests do that look at what is printed.
    std::ostringstream caught;
    std::streambuf *own = out.rdbuf(caught.rdbuf());
    out << 1 << 'c' << "caught" << std::endl;
    out.rdbuf(own);
    out << '[' << caught.str() << ']' << std::endl;
    counter c = {0};
    const counter fixed = {7};
    out << c << c << fixed << counter{8} << any_stream{9} << red << derived() << converts() << as_integer() << as_text() << '\n';
    members m = {5, -3};
    packed p = {'p', 7};
    out << members::constant << members::letter << m.bits << m.negative << p.c << p.n << std::vector<bool>{true}[0] << std::endl;
    out.operator<<('a') << '\n';
    std::tm day = {};
    day.tm_year = 126;
    day.tm_mday = 1;
    out << std::put_time(&day, "%Y-%m-%d ") << std::make_error_code(std::errc::invalid_argument) << ' ' << 5 << std::endl;
    std::istringstream from("from a buffer");
    out << from.rdbuf() << std::endl;
    // The locale that numbers have is the stream's, whichever way it comes there, and whatever buffer it has then.
    const std::locale dots(std::locale::classic(), new grouped);
    std::ios format(nullptr), usual(nullptr);
    usual.copyfmt(out);
    format.imbue(dots);
    out.copyfmt(format);
    out << 1234567 << ' ' << std::showpos << 1234567 << std::noshowpos << std::endl;
    out.copyfmt(usual);
    out << 1234567 << ' ';
    own = out.rdbuf(caught.rdbuf());
    out.imbue(dots);
    out.rdbuf(own);
    out << 1234567 << ' ';
    usual.copyfmt(out);
    out.imbue(std::locale::classic());
    out << 1234567 << ' ';
    usual.imbue(std::locale::classic());
    out.copyfmt(usual);
    out << 1234567 << ' ';
    out.imbue(dots);
    out << 1234567 << ' ' << -1234567ll << std::endl;
    out.copyfmt(usual);
    std::ostream &plain = out;
    plain << "as an std::ostream " << 1 << std::endl;
}

} // namespace

static int run(const std::string &mode) {
    if (mode == "reference") {
        everything(std::cout);
        std::cout << "behind it" << std::endl;
    } else if (mode == "outpace") {
        everything(outpace::cout);
        outpace::cout << "behind it" << std::endl;
    } else if (mode == "redirect") {
        {
            outpace::redirect redirect;
            everything(std::cout);
        }
        std::cout << "behind it" << std::endl;
    } else if (mode == "unsynchronized") {
        {
            outpace::redirect redirect;
            std::ios::sync_with_stdio(false);
            std::cout << "inside\n";
        }
        std::cout << "behind it\n";
    } else if (mode == "mixed") {
        // Order, as the header says how.
        for (int i = 0; i < 100; i++) {
            outpace::cout << i << " outpace" << std::endl;
            outpace::cout.drain();
            std::cout << i << " std::cout" << std::endl;
            std::printf("%d printf\n", i);
            std::fflush(stdout);
        }
    } else if (mode == "threads") {
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; t++)
            threads.emplace_back([] {
                for (int i = 0; i < 10000; i++)
                    if (i % 2)
                        outpace::cout << "a whole message\n";
                    else
                        outpace_printf(outpace_stdout(), "a whole %s\n", "message");
            });
        for (auto &thread : threads) thread.join();
    } else if (mode == "tell") {
        std::ostream &out = outpace::cout;
        out << "12345" << out.tellp() << ' ';
        out << out.tellp() << std::endl;
        out.seekp(-3, std::ios_base::end);
        out << "back";
        out.seekp(1);
        out << out.tellp() << out.good() << std::flush;
    } else if (mode == "ask-by-redirect") {
        outpace::redirect redirect;
        int answer;
        for (int i = 0; i < 3; i++) {
            std::cout << "question " << i << "? ";
            std::cin >> answer;
            std::cout << answer << std::endl;
        }
    } else if (mode == "ask-by-redirect, unsynchronized" || mode == "ask, unsynchronized") {
        // std::cin has a buffer then, in which the line break behind each answer stays.
        std::ios::sync_with_stdio(false);
        return run(mode.substr(0, mode.find(',')));
    } else if (mode == "abort") {
        outpace_fatal_faults();
        outpace::cout << "seen" << std::endl;
        std::abort();
    } else if (mode == "closed") {
        // As std::cout: what is written to a descriptor that is closed has failed.
        outpace::cerr << "nor this" << std::endl;
        outpace::cout << "no reader takes it" << std::endl;
        return outpace::cout.drain().bad() && outpace::cerr.good() ? 0 : 1;
    } else if (mode == "ask") {
        outpace::tie();
        int answer;
        for (int i = 0; i < 3; i++) {
            outpace::cout << "question " << i << "? ";
            std::cin >> answer;
            outpace::cout << answer << std::endl;
        }
    } else if (mode == "failed-by-redirect") {
        {
            outpace::redirect redirect;
            std::cout << "no reader takes it" << std::endl;
        }
        return std::cout.bad() ? 0 : 1;
    } else if (mode == "failed") {
        outpace_buffering block = {OUTPACE_BLOCK, 0, 0, 0, nullptr, 0};
        outpace_set_buffering(outpace_stdout(), &block);
        outpace::cout << "no reader takes it" << std::endl;
        outpace::cout.drain();
        bool bad = outpace::cout.bad();
        outpace_clear_error(outpace_stdout());
        return bad ? 0 : 1;
    } else {
        return 2;
    }
    return 0;
}

int main(int argc, char **argv) { return run(argc > 1 ? argv[1] : ""); }
