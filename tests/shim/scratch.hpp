// SPDX-License-Identifier: Apache-2.0
// A directory of the test's own, and sockets in it. It is removed with the test.
#pragma once

#include "schema/unique_fd.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

namespace anchorhold {

class Scratch {
public:
    Scratch()
    {
        std::string name = "/tmp/anchorhold-unit-XXXXXX";
        path_ = ::mkdtemp(name.data());
        ::chmod(path_.c_str(), 0755);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch() { std::filesystem::remove_all(path_); }

    const std::string& path() const { return path_; }
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }
    std::string folder(const std::string& name, mode_t mode = 0711) const
    {
        std::filesystem::create_directories(*this / name);
        ::chmod((*this / name).c_str(), mode);
        return *this / name;
    }
    std::string file(const std::string& name, mode_t mode = 0644) const
    {
        std::ofstream(*this / name) << "text";
        ::chmod((*this / name).c_str(), mode);
        return *this / name;
    }

private:
    std::string path_;
};

enum class Serves : bool { no, yes };

// Makes a Unix socket at `path`. One that does not serve is only bound.
inline UniqueFd unix_socket(const std::string& path, Serves serves = Serves::yes,
                            mode_t mode = 0666)
{
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::chmod(path.c_str(), mode) != 0 || (serves == Serves::yes && ::listen(fd.get(), 64) != 0))
        return {};
    return fd;
}

} // namespace anchorhold
