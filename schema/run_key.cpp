// SPDX-License-Identifier: Apache-2.0
#include "schema/run_key.hpp"

#include "schema/sha256.hpp"

#include <algorithm>
#include <array>

namespace anchorhold {
namespace {

constexpr std::size_t key_digits = 12;
constexpr std::size_t longest_id = 255;

bool is_hex_digit(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

} // namespace

Result<ContainerId> ContainerId::parse(std::string_view text)
{
    // crun accepts blanks, colons and any UTF-8, beside runc's [A-Za-z0-9_+.-]. All that matters
    // here is that an id in the place of {id} stays one component of a path.
    if (text.empty() || text.size() > longest_id || text == "." || text == ".." ||
        text.find('/') != std::string_view::npos || text.find('\0') != std::string_view::npos)
        return fail(Code::invalid_request, in_quotes(text) + " is not a container id");
    return ContainerId(std::string(text));
}

RunKey RunKey::of(std::string_view root, const ContainerId& id)
{
    std::string named(root);
    named += '\0';
    named += id.text();
    return RunKey(sha256_hex(named).substr(0, key_digits));
}

Result<RunKey> RunKey::parse(std::string_view text)
{
    if (text.size() != key_digits || !std::ranges::all_of(text, is_hex_digit))
        return fail(Code::invalid_request, in_quotes(text) + " is not the key of a run");
    return RunKey(std::string(text));
}

} // namespace anchorhold
