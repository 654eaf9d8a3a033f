// SPDX-License-Identifier: Apache-2.0
#include "shim/prepare/wildcards.hpp"

#include "hooks/files/whole_file.hpp"
#include "schema/rules/public_suffix.hpp"

namespace anchorhold::prepare {
namespace {

constexpr const char* suffix_list = "/usr/share/publicsuffix/public_suffix_list.dat";
constexpr std::size_t most_read = std::size_t{4} << 20;

} // namespace

Status check_wildcards(const std::vector<rules::AllowRule>& rules)
{
    if (!rules::needs_suffixes(rules))
        return {};
    AH_TRY(const auto list, files::read_file(suffix_list, most_read), "read the public suffixes");
    return rules::check_suffixes(rules, list.value_or(""));
}

} // namespace anchorhold::prepare
