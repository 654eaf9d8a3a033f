// SPDX-License-Identifier: Apache-2.0
#include "relay/names.hpp"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace anchorhold::relay {
namespace {

using rules::NameEntry;
using rules::NamesHeader;

void add_one(uint32_t& count)
{
    if (count != UINT32_MAX)
        ++count;
}

} // namespace

void NameCounts::open(int fd)
{
    struct stat file = {};
    if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) ||
        file.st_size != static_cast<off_t>(rules::names_table_size))
        return;
    void* mapped =
        mmap(nullptr, rules::names_table_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    if (mapped == MAP_FAILED)
        return;
    table_ = static_cast<uint8_t*>(mapped);
    memcpy(table_, rules::names_magic, sizeof rules::names_magic);
}

// Returns the counts of the name, which is added if there is room.
uint32_t* NameCounts::counts_of(const AskedName& question)
{
    auto* const header = reinterpret_cast<NamesHeader*>(table_);
    uint8_t* const entries = table_ + sizeof(NamesHeader);
    for (size_t at = 0; at < used_;) {
        auto* const entry = reinterpret_cast<NameEntry*>(entries + at);
        if (entry->size == question.size &&
            memcmp(entries + at + sizeof(NameEntry), question.name, question.size) == 0)
            return entry->asked;
        at += rules::entry_size(entry->size);
    }
    const size_t size = rules::entry_size(question.size);
    if (names_ == rules::most_listed ||
        used_ + size > rules::names_table_size - sizeof(NamesHeader))
        return header->unlisted;
    auto* const entry = reinterpret_cast<NameEntry*>(entries + used_);
    entry->size = question.size;
    memcpy(entries + used_ + sizeof(NameEntry), question.name, question.size);
    used_ += size;
    ++names_;
    // A reader must not see the entry before its name.
    __atomic_store_n(&header->used, static_cast<uint32_t>(used_), __ATOMIC_RELEASE);
    return entry->asked;
}

void NameCounts::count(const AskedName& question)
{
    if (table_ != nullptr && question.size > 0)
        add_one(counts_of(question)[static_cast<size_t>(question.type)]);
}

} // namespace anchorhold::relay
