// SPDX-License-Identifier: Apache-2.0
#include "relay/failure.hpp"

#include <errno.h>
#include <string.h>
#include <unistd.h>

namespace anchorhold::relay {
namespace {

struct OwnWord {
    int number;
    const char* text;
};

// Our words for errors, instead of strerror's. Engines search error texts for "permission denied"
// and "no such file", and then tell their user that the command was missing.
constexpr OwnWord own_words[] = {
    {EACCES, "file permissions forbid it (EACCES)"},
    {EADDRINUSE, "already in use (EADDRINUSE)"},
    {EADDRNOTAVAIL, "the address is not there (EADDRNOTAVAIL)"},
    {EAFNOSUPPORT, "no such protocol here (EAFNOSUPPORT)"},
    {EAGAIN, "a process limit is reached (EAGAIN)"},
    {ELOOP, "too many symbolic links (ELOOP)"},
    {EMFILE, "no descriptor left (EMFILE)"},
    {ENAMETOOLONG, "the name is too long (ENAMETOOLONG)"},
    {ENOENT, "it does not exist (ENOENT)"},
    {ENOMEM, "out of memory (ENOMEM)"},
    {ENOSYS, "this kernel cannot (ENOSYS)"},
    {ENOTDIR, "not a directory (ENOTDIR)"},
    {EPERM, "not allowed (EPERM)"},
};

const char* word_of(int number)
{
    for (const OwnWord& word : own_words) {
        if (word.number == number)
            return word.text;
    }
    return nullptr;
}

} // namespace

void Line::put(char byte)
{
    if (size_ < limit)
        bytes_[size_++] = byte;
}

Line& Line::add(const char* text)
{
    while (*text != '\0')
        put(*text++);
    return *this;
}

Line& Line::add_number(long number)
{
    if (number < 0)
        put('-');
    char digits[24];
    size_t count = 0;
    auto rest =
        number < 0 ? 0UL - static_cast<unsigned long>(number) : static_cast<unsigned long>(number);
    do {
        digits[count++] = static_cast<char>('0' + rest % 10);
        rest /= 10;
    } while (rest != 0);
    while (count > 0)
        put(digits[--count]);
    return *this;
}

Line& Line::add_printable(const char* text)
{
    constexpr size_t shown = 200;
    constexpr char hex[] = "0123456789abcdef";
    for (size_t at = 0; text[at] != '\0'; ++at) {
        if (at == shown)
            return add("...");
        const auto byte = static_cast<unsigned char>(text[at]);
        if (byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\') {
            put(text[at]);
            continue;
        }
        add("\\x");
        put(hex[byte >> 4]);
        put(hex[byte & 15]);
    }
    return *this;
}

Line& Line::add_quoted(const char* text)
{
    return add("\"").add_printable(text).add("\"");
}

void Line::print(int fd)
{
    bytes_[size_] = '\n';
    // Written in one call, so that lines of several processes do not mix. If it fails, there is
    // nobody to tell.
    (void)!write(fd, bytes_, size_ + 1);
    bytes_[size_] = '\0';
}

void describe(const Failure& failure, Line& line)
{
    line.add(failure.doing);
    if (failure.subject != nullptr)
        line.add(" ").add_quoted(failure.subject);
    const char* why = failure.why != nullptr ? failure.why : word_of(failure.number);
    if (why != nullptr) {
        line.add(": ").add(why);
    } else if (failure.number != 0) {
        line.add(": errno ").add_number(failure.number);
    }
}

bool parse_number(const char* text, size_t size, uint64_t most, uint64_t& number)
{
    if (size == 0 || (size > 1 && text[0] == '0'))
        return false;
    uint64_t value = 0;
    for (size_t at = 0; at < size; ++at) {
        if (text[at] < '0' || text[at] > '9')
            return false;
        const auto digit = static_cast<uint64_t>(text[at] - '0');
        if (value > (most - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    number = value;
    return true;
}

} // namespace anchorhold::relay
