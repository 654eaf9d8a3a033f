// SPDX-License-Identifier: Apache-2.0
#include "schema/import/import.hpp"
#include "hooks/files/whole_file.hpp"
#include "schema/unique_fd.hpp"
#include "shim/tools/tool_list.hpp"

#include <cerrno>
#include <fcntl.h>

namespace anchorhold::tools {
namespace {

constexpr std::size_t most_rules_text = std::size_t{1024} * 1024; // bytes

} // namespace

// Prints a policy made from FILE. A symbolic link is followed, because the file belongs to whoever
// calls; /dev/stdin is such a link.
Result<int> tool_import(const Session& /*session*/, const ToolCall& call, ToolOutput& output)
{
    const std::string& path = call.operands[0];
    const std::string named = printable(path);
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file)
        return fail_errno("open " + named, errno, Code::invalid_request);
    AH_TRY(std::string text, files::read_all(file.get(), most_rules_text, named));
    AH_TRY(const imports::Imported imported, imports::import_policy(call.from, std::move(text)),
           named);
    output.text = imported.policy;
    for (const std::string& line : imported.losses)
        output.remarks += "not kept: " + printable(line, 1000) + "\n";
    return 0;
}

} // namespace anchorhold::tools
