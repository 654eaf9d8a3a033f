// SPDX-License-Identifier: Apache-2.0
#include "shim/policy_files.hpp"

#include "hooks/files/owned_path.hpp"
#include "hooks/files/whole_file.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace anchorhold {
namespace {

constexpr std::size_t most_policy = std::size_t{1024} * 1024;

// Returns the name by which what was judged is opened, whatever lies at its path by now.
std::string same_as(const UniqueFd& judged)
{
    return "/proc/self/fd/" + std::to_string(judged.get());
}

// Reads a file through the descriptor by which it was judged.
Result<PolicyFile> read_judged(const UniqueFd& judged, const std::string& path)
{
    const UniqueFd file(
        ::open(same_as(judged).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file)
        return fail_errno("open " + path, errno, Code::invalid_policy);
    auto text = files::read_all(file.get(), most_policy, path);
    if (!text) {
        text.error().code = Code::invalid_policy;
        return std::unexpected(std::move(text).error());
    }
    return PolicyFile{path, *std::move(text)};
}

Result<std::vector<std::string>> names_in(const UniqueFd& folder, const std::string& path)
{
    namespace fs = std::filesystem;
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator entry(same_as(folder), error), end; !error && entry != end;
         entry.increment(error)) {
        const std::string name = entry->path().filename();
        if (name.ends_with(".json") && !name.starts_with('.'))
            names.push_back(name);
    }
    if (error)
        return fail_errno("list " + path, error.value(), Code::invalid_policy);
    std::ranges::sort(names);
    return names;
}

Result<std::vector<PolicyFile>> read_drop_ins(const std::string& folder)
{
    std::vector<PolicyFile> found;
    if (::access(folder.c_str(), F_OK) != 0 && errno == ENOENT)
        return found;
    AH_TRY(const UniqueFd judged, files::open_owned_path(folder, "policy", Code::invalid_policy));
    AH_TRY(const std::vector<std::string> names, names_in(judged, folder));
    for (const std::string& name : names) {
        const std::string path = folder + "/" + name;
        AH_TRY(const UniqueFd file, files::open_owned_path(path, "policy", Code::invalid_policy));
        AH_TRY(PolicyFile one, read_judged(file, path));
        found.push_back(std::move(one));
    }
    return found;
}

} // namespace

std::string drop_in_folder(const std::string& policy_path)
{
    return policy_path.substr(0, policy_path.rfind('/') + 1) + "policy.d";
}

Result<PolicyFiles> read_policy_files(const std::string& path, WithoutPolicy without)
{
    PolicyFiles files;
    const auto judged = files::open_owned_path(path, "policy", Code::invalid_policy);
    if (judged) {
        AH_TRY(files.policy, read_judged(*judged, path));
    } else if (judged.error().number != ENOENT) {
        return std::unexpected(judged.error());
    } else if (without == WithoutPolicy::refused) {
        return fail(Code::invalid_policy, "no policy at " + in_quotes(path));
    }
    AH_TRY(files.drop_ins, read_drop_ins(drop_in_folder(path)));
    return files;
}

} // namespace anchorhold
