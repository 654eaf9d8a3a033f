// SPDX-License-Identifier: Apache-2.0
// The tools about policies as files: `policy check` and `import`.
#include "schema/policy.hpp"
#include "hooks/files/whole_file.hpp"
#include "schema/import/import.hpp"
#include "schema/unique_fd.hpp"
#include "shim/policy_files.hpp"
#include "shim/tools/tool_list.hpp"

#include <cerrno>
#include <fcntl.h>

namespace anchorhold::tools {
namespace {

constexpr std::size_t most_text = std::size_t{1024} * 1024; // bytes

// Returns one file as the policy that it is, or as a drop-in where it lies in a folder of those. A
// link is followed and the owner is not judged: it need not be installed yet.
Result<PolicyFiles> read_one(const std::string& path)
{
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file)
        return fail_errno("open " + printable(path), errno, Code::invalid_policy);
    AH_TRY(std::string text, files::read_all(file.get(), most_text, printable(path)));
    PolicyFile one{path, std::move(text)};
    PolicyFiles files;
    const std::string folder =
        path.substr(0, path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    if (folder == "policy.d" || folder.ends_with("/policy.d")) {
        files.drop_ins.push_back(std::move(one));
    } else {
        files.policy = std::move(one);
    }
    return files;
}

// Returns a fault with what to do about it. A sentence with "expected" or ";" says that by itself.
std::string with_remedy(const Error& fault)
{
    const std::string& what = fault.what;
    const bool told = what.contains("expected") || what.contains(';');
    return what + (told ? "" : "; anchorhold-policy.json(5) says what may stand there");
}

std::string fine(const Policy& policy, const PolicyFiles& files)
{
    std::string text = files.policy ? files.policy->path : std::string();
    for (const PolicyFile& file : files.drop_ins)
        text += (text.empty() ? "" : ", ") + file.path;
    return (text.empty() ? "no policy is installed, so every container is severed"
                         : printable(text, 2000) + ": nothing is wrong") +
           "; profiles: " + policy.known_profiles() + "\n";
}

} // namespace

Result<int> tool_policy(const Session& session, const ToolCall& call, ToolOutput& output)
{
    if (call.operands[0] != "check")
        return fail(Code::invalid_request, in_quotes(call.operands[0]) + " is not check");
    const auto files =
        call.operands.size() > 1
            ? read_one(call.operands[1])
            : read_policy_files(session.policy_path,
                                session.own.policy ? WithoutPolicy::refused : WithoutPolicy::fine);
    if (!files) {
        output.text = printable(files.error().what, 2000) + "\n";
        return 1;
    }
    for (const Error& fault : policy_faults(*files))
        output.text += printable(with_remedy(fault), 2000) + "\n";
    if (!output.text.empty())
        return 1;
    AH_TRY(const Policy policy, merge_policy(*files));
    output.text = fine(policy, *files);
    return 0;
}

// Prints a policy made from FILE. A symbolic link is followed, because the file belongs to whoever
// calls; /dev/stdin is such a link.
Result<int> tool_import(const Session& /*session*/, const ToolCall& call, ToolOutput& output)
{
    const std::string& path = call.operands[0];
    const std::string named = printable(path);
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file)
        return fail_errno("open " + named, errno, Code::invalid_request);
    AH_TRY(std::string text, files::read_all(file.get(), most_text, named));
    AH_TRY(const imports::Imported imported, imports::import_policy(call.from, std::move(text)),
           named);
    output.text = imported.policy;
    for (const std::string& line : imported.losses)
        output.remarks += "not kept: " + printable(line, 1000) + "\n";
    return 0;
}

} // namespace anchorhold::tools
