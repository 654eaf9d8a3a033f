// SPDX-License-Identifier: Apache-2.0
#include "relay/gate/options.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <unistd.h>

namespace anchorhold::gate {
namespace {

constexpr unsigned first_own = 3; // descriptors below are the standard ones

std::optional<unsigned> option_number(std::string_view text)
{
    unsigned number = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (ec != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return number;
}

struct Parts {
    unsigned number = 0; // of an endpoint
    unsigned value = 0;
};

std::optional<Parts> parts_of(std::string_view word, std::string_view text)
{
    Parts parts;
    if (word == "--endpoint") {
        const std::size_t colon = text.find(':');
        const auto number = option_number(text.substr(0, colon));
        if (colon == std::string_view::npos || !number)
            return std::nullopt;
        parts.number = *number;
        text.remove_prefix(colon + 1);
    }
    const auto value = option_number(text);
    if (!value)
        return std::nullopt;
    parts.value = *value;
    return parts;
}

// Puts a descriptor into its place. Returns false for an unknown word.
bool place_descriptor(std::string_view word, const Parts& parts, Options& options)
{
    UniqueFd fd(static_cast<int>(parts.value));
    if (word == "--rules") {
        options.rules = std::move(fd);
    } else if (word == "--report") {
        options.inherited.report = std::move(fd);
    } else if (word == "--init") {
        options.inherited.init = std::move(fd);
    } else if (word == "--dns") {
        options.inherited.dns = std::move(fd);
    } else if (word == "--capture") {
        options.inherited.captures.push_back(std::move(fd));
    } else if (word == "--endpoint") {
        options.inherited.endpoints.emplace_back(parts.number, std::move(fd));
    } else {
        (void)fd.release();
        return false;
    }
    return true;
}

Status wrong(std::string_view word)
{
    return fail(Code::invalid_request,
                in_quotes(word) + " is no option with a number: anchorhold-hook starts the gate");
}

Status take_option(std::string_view word, std::string_view text, Options& options)
{
    const auto parts = parts_of(word, text);
    if (!parts)
        return wrong(word);
    if (word == "--user" || word == "--group") {
        if (!options.identity)
            options.identity.emplace();
        (word == "--user" ? options.identity->user : options.identity->group) = parts->value;
        return {};
    }
    if (parts->value < first_own || !place_descriptor(word, *parts, options))
        return wrong(word);
    return {};
}

} // namespace

Result<Options> read_options(std::span<const char* const> words)
{
    Options options;
    for (std::size_t i = 0; i < words.size(); i += 2) {
        if (i + 1 == words.size())
            return std::unexpected(wrong(words[i]).error());
        AH_CHECK(take_option(words[i], words[i + 1], options));
    }
    const Inherited& inherited = options.inherited;
    if (!options.rules || !inherited.report || !inherited.init || !inherited.dns)
        return fail(Code::invalid_request, "--rules, --report, --init and --dns are needed");
    if (options.identity && (options.identity->user == 0 || options.identity->group == 0))
        return fail(Code::invalid_request, "--user and --group come together, and are not root");
    return options;
}

Status close_others(const Options& options)
{
    std::vector<unsigned> kept;
    const auto keep = [&kept](const UniqueFd& fd) {
        kept.push_back(static_cast<unsigned>(fd.get()));
    };
    keep(options.rules);
    keep(options.inherited.report);
    keep(options.inherited.init);
    keep(options.inherited.dns);
    std::ranges::for_each(options.inherited.captures, keep);
    for (const auto& [number, fd] : options.inherited.endpoints)
        keep(fd);
    std::ranges::sort(kept);
    unsigned next = first_own;
    for (const unsigned fd : kept) {
        if (fd > next && ::close_range(next, fd - 1, 0) != 0)
            return fail_errno("close other descriptors", errno);
        next = fd + 1;
    }
    if (::close_range(next, ~0U, 0) != 0)
        return fail_errno("close other descriptors", errno);
    return {};
}

} // namespace anchorhold::gate
