// SPDX-License-Identifier: Apache-2.0
#include "shim/verbs/handed_file.hpp"

#include "schema/unique_fd.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace anchorhold::verbs {
namespace {

constexpr std::size_t most_bytes = std::size_t{16} * 1024 * 1024;

Result<std::string> read_to_its_end(const UniqueFd& file, const std::string& doing)
{
    if (!file)
        return fail_errno(doing, errno, Code::invalid_request);
    std::string text;
    std::array<char, 4096> part = {};
    for (;;) {
        const ssize_t got = ::read(file.get(), part.data(), part.size());
        if (got < 0)
            return fail_errno(doing, errno, Code::invalid_request);
        if (got == 0)
            return text;
        text.append(part.data(), static_cast<std::size_t>(got));
        if (text.size() > most_bytes)
            return fail_errno(doing, EFBIG, Code::invalid_request);
    }
}

} // namespace

Result<std::string> read_handed(const std::string& path, std::string_view what)
{
    const std::string doing = "read " + std::string(what) + " " + in_quotes(path);
    return read_to_its_end(UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY)), doing);
}

Result<std::string> read_standard_input(std::string_view what)
{
    return read_to_its_end(UniqueFd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)),
                           "read " + std::string(what) + " on standard input");
}

Result<std::string> hand_over(const std::string& text, unsigned handed)
{
    const UniqueFd memory(::memfd_create("anchorhold", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!memory)
        return fail_errno("make a file in memory", errno);
    if (::write(memory.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
        ::lseek(memory.get(), 0, SEEK_SET) != 0 ||
        ::fcntl(memory.get(), F_ADD_SEALS,
                F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
        return fail_errno("write a file in memory", errno);
    const int lasting = ::fcntl(memory.get(), F_DUPFD, static_cast<int>(handed) + 3);
    if (lasting < 0)
        return fail_errno("keep a file in memory", errno);
    return "/proc/self/fd/" + std::to_string(lasting);
}

} // namespace anchorhold::verbs
