// outpace for C++: an std::ostream whose std::endl costs no system call, and yet is seen in time.
//
//     #include <outpace.hpp>
//
//     outpace::cout << "line " << i << std::endl;
//
// By default (`OUTPACE_PROMPT`) a helper thread writes output within 4 ms (into a file 100 ms), and no output is lost at exit;
// before an abort, an uncaught exception or a fault it is drained if outpace_fatal_faults() has been called. So std::endl
// and std::flush need not wait for the kernel, and do not: outpace::cout.drain() does, before something else writes to
// the same place: std::cout, printf, a child process. An object outpace::redirect makes std::cout itself write this
// way.
//
// outpace::tie() ties std::cin to outpace::cout: a question is seen before the program waits for its answer, whatever the
// buffering. Without it a question is seen within 4 ms under OUTPACE_PROMPT, and at the next drain under any other.
//
// It is a complete std::ostream, and the compiler chooses an operator<< as for one. Integers, text and characters
// without flags or width take a fast path; behind a value with your own operator<<, the rest of the statement goes
// through std::ostream. Several threads may use it as they may use std::cout: a text or a number is not torn. A << that
// writes several times (std::put_time, std::error_code, your own operator<<) may be torn, as with std::cout: format it
// into an std::string first, or use std::osyncstream(outpace::cout). C++11 or later.
#ifndef OUTPACE_HPP
#define OUTPACE_HPP

#include "outpace.h"

#include <cstddef>
#include <cstring>
#include <iomanip>
#include <iostream>
#include <locale>
#include <new>
#include <ostream>
#include <streambuf>
#include <string>
#include <type_traits>
#include <unistd.h>
#if __cplusplus >= 201703L
#include <string_view>
#endif

namespace outpace {

/// A stream that is locked, until the end of its scope: for messages of several parts, and for speed. A message ends with
/// outpace_end or with the scope; std::exit in its middle loses it.
class guard {
public:
    explicit guard(const outpace_stream *stream = outpace_stdout()) : out_(outpace_lock(stream, &guard_)) {}
    ~guard() { outpace_unlock(&out_); }
    guard(const guard &) = delete;
    guard &operator=(const guard &) = delete;

    /// For the functions of outpace.h.
    outpace_out *out() { return &out_; }

private:
    outpace_guard guard_;
    outpace_out out_;
};

namespace detail {
/// Another buffer, looked into: its members are for derived classes.
struct input : std::streambuf {
    /// Whether it has a word and what ends that: reading it does not wait. The line break behind the word before it is no word.
    static bool has_word(const std::streambuf *buffer) {
        if (!buffer) return false;
        const char *at = (buffer->*&input::gptr)(), *const end = (buffer->*&input::egptr)();
        while (at != end && is_space(*at)) ++at;
        while (at != end && !is_space(*at)) ++at;
        return at != end;
    }

private:
    static bool is_space(char c) { return c == ' ' || ('\t' <= c && c <= '\r'); }
};
} // namespace detail

/// The std::streambuf of a stream. It has no buffer of its own: the stream has one.
class streambuf : public std::streambuf {
public:
    explicit streambuf(const outpace_stream *stream) : stream_(stream) {}

    const outpace_stream *stream() const { return stream_; }

protected:
    std::streamsize xsputn(const char *bytes, std::streamsize count) override {
        if (count <= 0) return 0;
        return outpace_write(stream_, bytes, static_cast<std::size_t>(count)) ? 0 : count;
    }

    int_type overflow(int_type c) override {
        if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
        const char byte = traits_type::to_char_type(c);
        return outpace_write(stream_, &byte, 1) ? traits_type::eof() : c;
    }

    /// Does nothing, because the stream's buffering says when bytes are written. But a std::cin that is tied to this
    /// stream calls it before a read, and then the stream is flushed if that would wait.
    int sync() override {
        if (!std::cin.tie() || std::cin.tie()->rdbuf() != this || detail::input::has_word(std::cin.rdbuf())) return 0;
        return outpace_flush_before_read(stream_, STDIN_FILENO) ? -1 : 0;
    }

    /// On a descriptor with an offset (a file): drains, then asks for the offset or changes it.
    pos_type seekoff(off_type offset, std::ios_base::seekdir from, std::ios_base::openmode) override {
        const int fd = outpace_fd(stream_);
        if (::lseek(fd, 0, SEEK_CUR) < 0 || outpace_flush(stream_)) return pos_type(off_type(-1));
        return pos_type(::lseek(fd, offset, from == std::ios_base::beg ? SEEK_SET : from == std::ios_base::cur ? SEEK_CUR : SEEK_END));
    }

    pos_type seekpos(pos_type place, std::ios_base::openmode mode) override { return seekoff(place, std::ios_base::beg, mode); }

private:
    const outpace_stream *stream_;
};

namespace detail {
/// Constructed before the std::ostream that uses it.
struct holder {
    explicit holder(const outpace_stream *stream) : buffer_(stream) {}
    streambuf buffer_;
};
} // namespace detail

/// An std::ostream on a stream.
///
/// It has no member operator<<, and those below take only the types that they name, unconverted: for other types the
/// compiler chooses as for an std::ostream.
class ostream : private detail::holder, public std::ostream {
public:
    explicit ostream(const outpace_stream *stream) : detail::holder(stream), std::ostream(&buffer_) {
        register_callback(note_locale, locale_word_);
        note_locale(imbue_event, *this, locale_word_);
    }

    const outpace_stream *stream() const { return buffer_.stream(); }

    /// Returns once the kernel has accepted everything written before the call; badbit if it has not.
    ostream &drain() {
        if (outpace_flush(stream())) setstate(std::ios_base::badbit);
        return *this;
    }

    /// Does not wait for the kernel: drain() does.
    ostream &flush() {
        if (!is_own()) std::ostream::flush();
        return *this;
    }

    /// Whether a value may go to write_plain: no flag, width or locale changes its text, and the stream has not failed.
    bool is_plain() {
        return flags() == (std::ios_base::skipws | std::ios_base::dec) && width() == 0 && is_own() && good() && !tie() &&
               has_plain_locale();
    }

    /// Writes to the stream, past the buffer and its flags.
    ostream &write_plain(const char *bytes, std::size_t length) {
        if (outpace_write(stream(), bytes, length)) setstate(std::ios_base::badbit);
        return *this;
    }

    /// As std::endl, without waiting for the kernel.
    ostream &end_line() {
        if (is_own() && good() && !tie() && has_plain_locale()) return write_plain("\n", 1);
        std::endl(static_cast<std::ostream &>(*this));
        return *this;
    }

private:
    /// Whether it writes to its stream: a program may have given it another rdbuf.
    bool is_own() const { return rdbuf() == &buffer_; }

    enum { UNKNOWN, PLAIN, OTHER };

    /// Whether numbers look as in C. The answer is kept beside the locale: copyfmt copies both or neither, and inserting
    /// changes neither, so several threads may insert at the same time.
    bool has_plain_locale() {
        const long known = iword(locale_word_);
        return known == UNKNOWN ? getloc() == std::locale::classic() : known == PLAIN;
    }

    static void note_locale(std::ios_base::event event, std::ios_base &base, int word) {
        // Erased before copyfmt, too: libc++ leaves a word as it was if the other stream has none.
        const bool erased = event == std::ios_base::erase_event;
        base.iword(word) = erased ? UNKNOWN : base.getloc() == std::locale::classic() ? PLAIN : OTHER;
    }

    static int locale_word() {
        static const int word = std::ios_base::xalloc();
        return word;
    }

    const int locale_word_ = locale_word();
};

namespace detail {
template <typename T, typename... Types> struct is_one_of : std::false_type {};
template <typename T, typename First, typename... Rest>
struct is_one_of<T, First, Rest...> : std::conditional<std::is_same<T, First>::value, std::true_type, is_one_of<T, Rest...>>::type {};

template <typename T> using is_character = is_one_of<T, char, signed char, unsigned char>;
template <typename T>
using is_integer =
    is_one_of<T, short, int, long, long long, unsigned short, unsigned, unsigned long, unsigned long long>;
template <typename T> using is_pointer_to_text = is_one_of<T, const char *, char *>;
/// Types that std::ostream prints; the statement then goes on with the outpace::ostream.
template <typename T>
using is_passed_on =
    is_one_of<T, bool, float, double, long double, decltype(std::setw(0)), decltype(std::setprecision(0)), decltype(std::setfill(' ')),
              decltype(std::setbase(0)), decltype(std::setiosflags(std::ios_base::fmtflags())), decltype(std::resetiosflags(std::ios_base::fmtflags()))
#if __cplusplus >= 201703L
              ,
              std::nullptr_t
#endif
              >;
template <typename T>
using is_text = is_one_of<T, std::string
#if __cplusplus >= 201703L
                          ,
                          std::string_view
#endif
                          >;
template <bool condition> using output_if = typename std::enable_if<condition, ostream &>::type;

inline char *put_integer(char *to, long long n) { return outpace_put_int_(to, n); }
inline char *put_integer(char *to, unsigned long long n) { return outpace_put_uint_(to, n); }
} // namespace detail

// By value, as std::ostream's: for bit fields, packed fields and static const members.
template <typename T> detail::output_if<detail::is_character<T>::value> operator<<(ostream &out, T c) {
    const char byte = static_cast<char>(c);
    if (out.is_plain()) return out.write_plain(&byte, 1);
    static_cast<std::ostream &>(out) << c;
    return out;
}
template <typename T> detail::output_if<detail::is_integer<T>::value> operator<<(ostream &out, T n) {
    if (out.is_plain()) {
        using widest = typename std::conditional<std::is_signed<T>::value, long long, unsigned long long>::type;
        char digits[32];
        return out.write_plain(digits, static_cast<std::size_t>(detail::put_integer(digits, static_cast<widest>(n)) - digits));
    }
    static_cast<std::ostream &>(out) << n;
    return out;
}
template <typename T> detail::output_if<detail::is_pointer_to_text<T>::value> operator<<(ostream &out, T text) {
    if (text && out.is_plain()) return out.write_plain(text, std::strlen(text));
    static_cast<std::ostream &>(out) << text;
    return out;
}
template <typename T> detail::output_if<detail::is_text<T>::value> operator<<(ostream &out, const T &text) {
    if (out.is_plain()) return out.write_plain(text.data(), text.size());
    static_cast<std::ostream &>(out) << text;
    return out;
}
template <typename T> detail::output_if<detail::is_passed_on<T>::value> operator<<(ostream &out, T value) {
    static_cast<std::ostream &>(out) << value;
    return out;
}

/// std::endl and std::flush.
inline ostream &operator<<(ostream &out, std::ostream &(*manipulator)(std::ostream &)) {
    using function = std::ostream &(*)(std::ostream &);
    if (manipulator == static_cast<function>(std::endl)) return out.end_line();
    if (manipulator == static_cast<function>(std::flush)) return out.flush();
    manipulator(out);
    return out;
}
/// std::hex and the like.
inline ostream &operator<<(ostream &out, std::ios_base &(*manipulator)(std::ios_base &)) {
    manipulator(out);
    return out;
}
inline ostream &operator<<(ostream &out, std::ios &(*manipulator)(std::ios &)) {
    manipulator(out);
    return out;
}

namespace detail {
/// Storage for a standard stream: its address is known before any code of the program runs.
template <int descriptor> struct standard {
    union place {
        char empty;
        ostream stream;
        constexpr place() : empty() {}
        ~place() {}
    };
    static place is;
};
template <int descriptor> typename standard<descriptor>::place standard<descriptor>::is;
} // namespace detail

/// Standard output and standard error. Never destroyed, so that other objects' destructors may still print.
inline ostream &standard_output() {
    static ostream &stream = *new (&detail::standard<1>::is) ostream(outpace_stdout());
    return stream;
}
inline ostream &standard_error() {
    static ostream &stream = *new (&detail::standard<2>::is) ostream(outpace_stderr());
    return stream;
}
// As std::cout, usable from the first static object behind an #include of this file on, whichever file's code it runs.
#if __cplusplus >= 201703L
inline ostream &cout = detail::standard<1>::is.stream;
inline ostream &cerr = detail::standard<2>::is.stream;
#endif
namespace {
#if __cplusplus < 201703L
ostream &cout = detail::standard<1>::is.stream;
ostream &cerr = detail::standard<2>::is.stream;
#endif
const struct initialized {
    initialized() {
        standard_output();
        standard_error();
    }
} initialized_;
} // namespace

/// Makes std::cin flush outpace::cout before it waits for input.
inline void tie() { std::cin.tie(&standard_output()); }

/// Makes std::cout write this way until the end of the object's scope, without a change to what prints. Call
/// std::ios::sync_with_stdio(false) before it: libstdc++'s gives std::cout another buffer, which ends it early. Of several such objects
/// the last one ends first. std::cout has badbit behind it if output was not written.
class redirect {
public:
    redirect() : buffer_(outpace_stdout()), before_((std::cout.flush(), exchange(&buffer_))) {
        // Otherwise each std::endl of std::cout would check whether std::cin has to wait.
        if (std::cin.tie() == &std::cout) tie();
    }
    ~redirect() {
        if (std::cin.tie() == &standard_output()) std::cin.tie(tied_);
        // Before std::cout's own output from here on.
        const bool failed = outpace_flush(outpace_stdout()) != 0;
        // Leaves a buffer that the program has set since (std::ios::sync_with_stdio(false) does): the earlier one may be gone.
        if (std::cout.rdbuf() == &buffer_) exchange(before_, failed ? std::ios_base::badbit : std::ios_base::goodbit);
    }
    redirect(const redirect &) = delete;
    redirect &operator=(const redirect &) = delete;

private:
    /// std::cout stays failed if it was, or does so now: rdbuf alone would forget it.
    static std::streambuf *exchange(std::streambuf *buffer, std::ios_base::iostate failed = std::ios_base::goodbit) {
        const std::ios_base::iostate state = std::cout.rdstate() | failed;
        std::streambuf *const before = std::cout.rdbuf(buffer);
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
        try {
            std::cout.setstate(state);
        } catch (...) {
            // Of std::cout.exceptions(): the state is set, and a destructor cannot throw.
        }
#else
        std::cout.setstate(state);
#endif
        return before;
    }

    streambuf buffer_;
    std::streambuf *before_;
    std::ostream *tied_ = std::cin.tie();
};

} // namespace outpace
#endif
