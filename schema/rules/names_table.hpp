// SPDX-License-Identifier: Apache-2.0
// The table in which the relay counts the names that it refused, as it lies in a file of the run's
// folder. The shim makes the file at its full size, and the relay maps it. Whoever reads it trusts
// nothing in it: it was written with the container's own rights. C headers only, because the relay
// uses this file too. Numbers are in the order of this machine's bytes.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace anchorhold::rules {

// A client asks for A and AAAA at once, and some for HTTPS besides. So questions are counted by
// type, and the largest of the three counts is the number of tries.
enum class QuestionType : uint8_t { a, aaaa, other };
constexpr size_t question_types = 3;

constexpr size_t names_table_size = 16384;
constexpr char names_magic[8] = {'A', 'H', 'N', 'A', 'M', 'E', 'S', '1'};
constexpr unsigned most_listed = 256;
constexpr size_t longest_listed = 253; // of 255 octets in a question (RFC 1035 3.1), with dots

// The begin of the table. Entries follow one another in the rest.
struct NamesHeader {
    char magic[8];                     // zeros until somebody counts
    uint32_t used;                     // bytes of entries
    uint32_t unlisted[question_types]; // questions for names that found no room
};
// An entry: this, the name's bytes, and zeros up to a multiple of four.
struct NameEntry {
    uint32_t asked[question_types];
    uint32_t size; // of the name
};
constexpr size_t entry_size(size_t name)
{
    return sizeof(NameEntry) + (name + 3) / 4 * 4;
}

// Returns the byte that stands for `byte` in a listed name: letters are small, and what no rule can
// name is a question mark.
constexpr char listed_byte(uint8_t byte)
{
    if (byte >= 'A' && byte <= 'Z')
        return static_cast<char>(byte - 'A' + 'a');
    const bool plain =
        (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '-' || byte == '_';
    return plain ? static_cast<char>(byte) : '?';
}

} // namespace anchorhold::rules
