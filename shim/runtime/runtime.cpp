// SPDX-License-Identifier: Apache-2.0
#include "shim/runtime/runtime.hpp"

#include "hooks/files/owned_path.hpp"

#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>

namespace anchorhold::runtime {
namespace {

// Refuses a runtime that is not absolute, not an executable file, anchorhold itself, or could be
// replaced by somebody but root (or our euid).
Status check_fit(const std::string& path, Code code)
{
    if (!path.starts_with('/'))
        return fail(code, "runtime " + in_quotes(path) + " is not absolute");
    struct stat file = {};
    if (::stat(path.c_str(), &file) != 0)
        return fail_errno("look at the runtime " + in_quotes(path), errno, code);
    if (!S_ISREG(file.st_mode) || (file.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) == 0)
        return fail(code, "runtime " + in_quotes(path) + " is not an executable file");
    struct stat self = {};
    if (::stat("/proc/self/exe", &self) != 0)
        return fail_errno("look at ourselves", errno, code);
    if (self.st_dev == file.st_dev && self.st_ino == file.st_ino) {
        return fail(code,
                    "runtime " + in_quotes(path) + " is anchorhold itself; name runc or crun");
    }
    return files::check_owned_path(path, "runtime", code);
}

Result<std::string> named(const std::string& path, Code code)
{
    AH_CHECK(check_fit(path, code));
    return path;
}

} // namespace

Result<std::string> first_fit(const std::vector<std::string>& paths)
{
    std::string tried;
    std::optional<Error> unfit;
    for (const std::string& path : paths) {
        Status fit = check_fit(path, Code::delegate_failed);
        if (fit)
            return path;
        if (fit.error().number != ENOENT && !unfit)
            unfit = std::move(fit).error();
        tried += (tried.empty() ? "" : ", ") + path;
    }
    if (unfit)
        return std::unexpected(*std::move(unfit));
    return fail(Code::delegate_failed,
                "no runtime at " + tried + "; install runc or crun, or name one in the policy");
}

Result<std::string> find_runtime(const std::optional<std::string>& option,
                                 const std::optional<std::string>& from_policy)
{
    if (option)
        return named(*option, Code::invalid_request);
    if (from_policy)
        return named(*from_policy, Code::invalid_policy);
    return first_fit({"/usr/sbin/runc", "/usr/bin/runc", "/usr/sbin/crun", "/usr/bin/crun"});
}

std::vector<char*> argument_vector(const std::string& path, const std::vector<std::string>& rest)
{
    std::vector<char*> argv = {const_cast<char*>(path.c_str())};
    for (const std::string& word : rest)
        argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    return argv;
}

Error exec_runtime(const std::string& path, const std::vector<std::string>& rest)
{
    ::execv(path.c_str(), argument_vector(path, rest).data());
    return system_error("run " + in_quotes(path), errno, Code::delegate_failed);
}

} // namespace anchorhold::runtime
